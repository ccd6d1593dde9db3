"""The store of everything that is neither node nor pod."""

from moorage.columns import ObjectStore
from moorage.objects import Namespace, ObjectMeta, PersistentVolumeClaim, PersistentVolumeClaimSpec, Service


def claim(volume: str = "", version: str = "1", name: str = "c") -> PersistentVolumeClaim:
    meta = ObjectMeta(name=name, namespace="ns", resource_version=version)
    return PersistentVolumeClaim(meta, PersistentVolumeClaimSpec(volume_name=volume))


def by_volume(item: PersistentVolumeClaim) -> str:
    return item.spec.volume_name


def test_objects_by_kind_and_key() -> None:
    store = ObjectStore()
    store.set(claim())
    store.set(Namespace(ObjectMeta(name="ns/c")))
    assert store.get(PersistentVolumeClaim, "ns/c") == claim()
    assert store.get(PersistentVolumeClaim, "c") is None
    assert store.get(Service, "ns/c") is None
    assert list(store.each(Service)) == []


def test_an_assumed_version_counts_until_the_real_one_changes() -> None:
    store = ObjectStore()
    store.set(claim())
    store.assume(claim("assumed"))
    assert store.get(PersistentVolumeClaim, "ns/c") == claim("assumed")
    assert [item.spec.volume_name for item in store.each(PersistentVolumeClaim)] == ["assumed"]
    store.set(claim("echo of the old version"))
    assert store.get(PersistentVolumeClaim, "ns/c") == claim("assumed")
    store.set(claim("written", version="2"))
    assert store.get(PersistentVolumeClaim, "ns/c") == claim("written", version="2")


def test_an_assumption_can_be_dropped() -> None:
    store = ObjectStore()
    store.set(claim())
    store.assume(claim("assumed"))
    store.restore(claim())
    assert store.get(PersistentVolumeClaim, "ns/c") == claim()


def test_a_removed_object_is_gone_with_its_assumption() -> None:
    store = ObjectStore()
    store.set(claim())
    store.assume(claim("assumed"))
    store.remove(claim())
    assert store.get(PersistentVolumeClaim, "ns/c") is None
    store.set(claim())
    assert store.get(PersistentVolumeClaim, "ns/c") == claim()
    store.remove(claim(name="never there"))


def test_the_version_moves_with_every_change_of_the_kind_and_no_other() -> None:
    store = ObjectStore()
    seen = [store.version(PersistentVolumeClaim)]
    for change in (store.set, store.assume, store.restore, store.remove):
        change(claim())
        seen.append(store.version(PersistentVolumeClaim))
    assert len(set(seen)) == len(seen)
    assert store.version(Service) == 0


def test_groups_follow_the_changes() -> None:
    store = ObjectStore()
    store.set(claim("v"))
    groups = store.by(PersistentVolumeClaim, by_volume)
    assert {key: [item.key for item in items] for key, items in groups.items()} == {"v": ["ns/c"]}
    assert store.by(PersistentVolumeClaim, by_volume) is groups
    store.assume(claim("w"))
    assert list(store.by(PersistentVolumeClaim, by_volume)) == ["w"]
