"""VolumeRestrictions: shared disks, exclusive claims, dry runs, hints."""

from typing import Any

import pytest
from tests.unit.plugins.volumes.volume_builders import Cluster, claim, hint, node, of_claim, pod

from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, Hint, Resource
from moorage.framework.status import SKIP, unresolvable
from moorage.plugins.volumes import VolumeRestrictions
from moorage.plugins.volumes.volume_restrictions import CLAIM_IN_USE, DISK_CONFLICT


def gce(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"iscsi": {"iqn": iqn, "readOnly": read_only}}


def rbd(*monitors: str, image: str = "i", pool: str = "p", read_only: bool = False) -> dict[str, Any]:
    return {"rbd": {"monitors": list(monitors), "image": image, "pool": pool, "readOnly": read_only}}


def exclusive(name: str) -> Any:
    return claim(name, modes=["ReadWriteOncePod"])


@pytest.mark.parametrize(
    ("wanted", "held", "conflicts"),
    [
        (gce("a"), gce("a"), True),
        (gce("a"), gce("b"), False),
        (gce("a", read_only=True), gce("a"), True),
        (gce("a", read_only=True), gce("a", read_only=True), False),
        (ebs("a"), ebs("a"), True),
        (ebs("a", read_only=True), ebs("a", read_only=True), True),
        (ebs("a"), ebs("b"), False),
        (ebs("a"), gce("a"), False),
        (iscsi("q"), iscsi("q"), True),
        (iscsi("q", read_only=True), iscsi("q", read_only=True), False),
        (iscsi("q"), iscsi("r"), False),
        (rbd("m1", "m2"), rbd("m2", "m3"), True),
        (rbd("m1"), rbd("m2"), False),
        (rbd("m1"), rbd("m1", image="j"), False),
        (rbd("m1"), rbd("m1", pool="q"), False),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
        (rbd("m1", read_only=True), rbd("m1"), True),
    ],
)
def test_a_disk_in_use_keeps_the_pod_off_that_node_alone(
    wanted: dict[str, Any], held: dict[str, Any], conflicts: bool
) -> None:
    cluster = Cluster(node("a"), node("b"), pod("there", held, on="a"))
    plugin = VolumeRestrictions(None, cluster.handle)

    assert cluster.run(plugin, pod("new", wanted)) == {"a": DISK_CONFLICT if conflicts else None, "b": None}


def test_nothing_to_do_without_disks_and_without_claims_in_use() -> None:
    cluster = Cluster(node("a"), exclusive("free"), claim("shared"), pod("there", of_claim("shared"), on="a"))
    plugin = VolumeRestrictions(None, cluster.handle)

    assert cluster.run(plugin, pod()) is SKIP
    assert cluster.run(plugin, pod("p", {"emptyDir": {}})) is SKIP
    assert cluster.run(plugin, pod("p", of_claim("free"), of_claim("shared"))) is SKIP


def test_a_missing_claim_ends_the_search() -> None:
    cluster = Cluster(node("a"))

    answer = cluster.run(VolumeRestrictions(None, cluster.handle), pod("p", of_claim("gone")))

    assert answer == unresolvable('persistentvolumeclaim "gone" not found')


def test_an_exclusive_claim_in_use_anywhere_keeps_the_pod_off_every_node() -> None:
    cluster = Cluster(node("a"), node("b"), exclusive("only"), pod("there", of_claim("only"), on="b"))
    plugin = VolumeRestrictions(None, cluster.handle)

    assert cluster.run(plugin, pod("new", of_claim("only"))) == {"a": CLAIM_IN_USE, "b": CLAIM_IN_USE}


def test_the_same_claim_name_in_another_namespace_is_another_claim() -> None:
    there = pod("there", of_claim("only"), on="a", namespace="elsewhere")
    cluster = Cluster(node("a"), exclusive("only"), there)

    assert cluster.run(VolumeRestrictions(None, cluster.handle), pod("new", of_claim("only"))) is SKIP


def test_the_disk_conflict_is_reported_before_the_claim_in_use() -> None:
    there = pod("there", of_claim("only"), ebs("x"), on="a")
    cluster = Cluster(node("a"), node("b"), exclusive("only"), there)
    plugin = VolumeRestrictions(None, cluster.handle)

    verdicts = cluster.run(plugin, pod("new", ebs("x"), of_claim("only")))

    assert verdicts == {"a": DISK_CONFLICT, "b": CLAIM_IN_USE}


def test_dry_runs_count_pods_that_leave_and_come_without_touching_the_cycle() -> None:
    there = pod("there", of_claim("only"), on="a")
    cluster = Cluster(node("a"), exclusive("only"), there)
    plugin = VolumeRestrictions(None, cluster.handle)
    state, info, place = CycleState(), cluster.info(pod("new", of_claim("only"))), cluster.snapshot.nodes[0]
    assert plugin.pre_filter(state, info, cluster.snapshot.nodes) is None

    dry = state.clone()
    plugin.remove_pod(dry, info, cluster.info(there), place)
    assert plugin.filter(dry, info, place) is None
    plugin.add_pod(dry, info, cluster.info(there), place)
    assert plugin.filter(dry, info, place) == CLAIM_IN_USE
    plugin.remove_pod(dry, info, cluster.info(there), place)

    assert plugin.filter(state, info, place) == CLAIM_IN_USE


def test_hints_queue_for_what_the_pod_waits_for() -> None:
    cluster = Cluster()
    plugin = VolumeRestrictions(None, cluster.handle)
    waiting = cluster.info(pod("waiting", of_claim("c"), gce("d")))

    def after_deletion(*volumes: dict[str, Any], namespace: str = "ns") -> Hint | None:
        deleted = pod("other", *volumes, namespace=namespace)
        return hint(plugin, waiting, Resource.ASSIGNED_POD, Action.DELETE, before=deleted)

    assert after_deletion(of_claim("c")) is Hint.QUEUE
    assert after_deletion(gce("d")) is Hint.QUEUE
    assert after_deletion(of_claim("c"), namespace="elsewhere") is Hint.SKIP
    assert after_deletion(gce("e"), of_claim("e")) is Hint.SKIP
    assert hint(plugin, waiting, Resource.NODE, Action.ADD) is Hint.QUEUE
    assert hint(plugin, waiting, Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, after=claim("c")) is Hint.QUEUE
    assert hint(plugin, waiting, Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, after=claim("e")) is Hint.SKIP
    assert hint(plugin, waiting, Resource.PERSISTENT_VOLUME_CLAIM, Action.UPDATE, after=claim("c")) is None
