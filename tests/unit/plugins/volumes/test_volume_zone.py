"""VolumeZone: bound volumes with zone and region labels."""

import pytest
from tests.unit.plugins.volumes.volume_builders import (
    ZONE,
    Cluster,
    claim,
    ephemeral,
    hint,
    node,
    of_claim,
    pod,
    storage_class,
    volume,
)

from moorage.framework.events import Action, Hint, Resource
from moorage.framework.status import SKIP, Status, unresolvable
from moorage.objects import KubeObject
from moorage.plugins.volumes import VolumeZone
from moorage.plugins.volumes.volume_zone import ZONE_CONFLICT

REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


def verdicts(volume_labels: dict[str, str], **node_labels: dict[str, str]) -> Status | dict[str, Status | None]:
    nodes = (node(name, labels) for name, labels in node_labels.items())
    cluster = Cluster(*nodes, claim("c", volume="v", bound=True), volume("v", labels=volume_labels))
    return cluster.run(VolumeZone(None, cluster.handle), pod("p", of_claim("c")))


@pytest.mark.parametrize("zone", [ZONE, BETA_ZONE])
def test_a_placed_node_must_be_in_a_zone_of_the_volume(zone: str) -> None:
    assert verdicts({zone: "z1__z2"}, a={zone: "z1"}, b={zone: "z2"}, c={zone: "z3"}) == {
        "a": None,
        "b": None,
        "c": ZONE_CONFLICT,
    }


def test_a_node_without_any_placement_takes_every_volume() -> None:
    assert verdicts({ZONE: "z1"}, bare={}, regional={REGION: "r1"}) == {"bare": None, "regional": ZONE_CONFLICT}


def test_a_beta_label_of_the_volume_is_met_by_todays_label_of_the_node_but_not_the_other_way_round() -> None:
    assert verdicts({BETA_ZONE: "z1"}, a={ZONE: "z1"}, b={ZONE: "z2"}) == {"a": None, "b": ZONE_CONFLICT}
    assert verdicts({ZONE: "z1"}, a={BETA_ZONE: "z1"}) == {"a": ZONE_CONFLICT}


def test_the_nodes_beta_label_goes_before_todays() -> None:
    assert verdicts({BETA_ZONE: "z1"}, a={BETA_ZONE: "z2", ZONE: "z1"}) == {"a": ZONE_CONFLICT}


def test_zone_and_region_must_both_be_right() -> None:
    labels = {ZONE: "z1", REGION: "r1"}
    assert verdicts(labels, a=labels, b={ZONE: "z1", REGION: "r2"}, c={ZONE: "z1"}) == {
        "a": None,
        "b": ZONE_CONFLICT,
        "c": ZONE_CONFLICT,
    }


def test_a_label_with_an_empty_zone_in_its_list_says_nothing() -> None:
    assert verdicts({ZONE: "z1__"}, a={ZONE: "z2"}) is SKIP


def test_values_are_trimmed() -> None:
    assert verdicts({ZONE: "z1__ z2"}, a={ZONE: "z2"}) == {"a": None}


def test_pods_without_placed_volumes_are_skipped() -> None:
    cluster = Cluster(node("a"), claim("c", volume="v", bound=True), volume("v"), storage_class(), claim("late"))
    plugin = VolumeZone(None, cluster.handle)

    assert cluster.run(plugin, pod()) is SKIP
    assert cluster.run(plugin, pod("p", of_claim("c"))) is SKIP
    assert cluster.run(plugin, pod("p", of_claim("late"))) is SKIP
    assert cluster.run(plugin, pod("p", ephemeral())) is SKIP


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ((), 'persistentvolumeclaim "c" not found'),
        ((claim("c", volume="gone"),), 'persistentvolume "gone" not found'),
        ((claim("c", storage_class=None),), "PersistentVolumeClaim had no pv name and storageClass name"),
        ((claim("c"),), 'storageclass.storage.k8s.io "late" not found'),
        ((claim("c"), storage_class(mode=None)), 'VolumeBindingMode not set for StorageClass "late"'),
        ((claim("c"), storage_class(mode="Immediate")), "PersistentVolume had no name"),
    ],
)
def test_a_claim_whose_place_cannot_be_known_ends_the_search(objects: tuple[KubeObject, ...], reason: str) -> None:
    cluster = Cluster(node("a"), *objects)

    assert cluster.run(VolumeZone(None, cluster.handle), pod("p", of_claim("c"))) == unresolvable(reason)


def test_a_claim_without_a_name_ends_the_search() -> None:
    cluster = Cluster(node("a"))

    answer = cluster.run(VolumeZone(None, cluster.handle), pod("p", of_claim("")))

    assert answer == unresolvable("PersistentVolumeClaim had no name")


def test_hints() -> None:
    cluster = Cluster()
    plugin = VolumeZone(None, cluster.handle)
    waiting = cluster.info(pod("p", of_claim("c")))

    def asked(resource: Resource, action: Action, before: KubeObject | None, after: KubeObject) -> Hint | None:
        return hint(plugin, waiting, resource, action, before, after)

    assert asked(Resource.STORAGE_CLASS, Action.ADD, None, storage_class()) is Hint.QUEUE
    assert asked(Resource.STORAGE_CLASS, Action.ADD, None, storage_class(mode="Immediate")) is Hint.SKIP
    assert asked(Resource.STORAGE_CLASS, Action.UPDATE, storage_class(), storage_class()) is None
    assert asked(Resource.PERSISTENT_VOLUME_CLAIM, Action.UPDATE, claim("c"), claim("c")) is Hint.QUEUE
    assert asked(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, None, claim("other")) is Hint.SKIP
    assert asked(Resource.PERSISTENT_VOLUME, Action.ADD, None, volume("v")) is Hint.QUEUE
    moved = volume("v", labels={ZONE: "z2"})
    assert asked(Resource.PERSISTENT_VOLUME, Action.UPDATE, volume("v", labels={ZONE: "z1"}), moved) is Hint.QUEUE
    assert asked(Resource.PERSISTENT_VOLUME, Action.UPDATE, moved, moved) is Hint.SKIP
    assert asked(Resource.NODE, Action.UPDATE_NODE_LABEL, node("a"), node("a")) is Hint.QUEUE
