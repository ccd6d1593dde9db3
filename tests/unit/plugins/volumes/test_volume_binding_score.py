"""VolumeBinding's score by free storage, and its hints."""

import pytest
from tests.unit.plugins.volumes.volume_builders import (
    HOSTNAME,
    ZONE,
    Cluster,
    capacity,
    claim,
    csi_driver,
    csi_node,
    ephemeral,
    hint,
    node,
    of_claim,
    pod,
    storage_class,
    volume,
)

from moorage.config import UtilizationShapePoint, VolumeBindingArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, Hint, Resource
from moorage.framework.status import INDIFFERENT, SKIP
from moorage.objects import KubeObject, Pod
from moorage.plugins.volumes import VolumeBinding
from moorage.plugins.volumes.binding.scoring import broken_line

FREE_FIRST = VolumeBindingArgs(shape=(UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0)))
FULL_FIRST = VolumeBindingArgs(shape=(UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)))


def scores(args: VolumeBindingArgs, wanted: Pod, *objects: KubeObject) -> dict[str, int]:
    cluster = Cluster(node("a"), node("b"), *objects)
    plugin, state, info = VolumeBinding(args, cluster.handle), CycleState(), cluster.info(wanted)
    nodes = cluster.snapshot.nodes
    plugin.pre_filter(state, info, nodes)
    if plugin.pre_score(state, info, nodes, nodes.rows) is SKIP:
        return {}
    many = plugin.score_nodes(state, info, nodes, nodes.rows).tolist()
    assert many == [plugin.score(state, info, one) for one in nodes]
    return dict(zip([one.name for one in nodes], many, strict=True))


def test_nothing_is_scored_without_a_shape() -> None:
    assert scores(VolumeBindingArgs(), pod("p", of_claim("c")), claim("c"), storage_class()) == {}


def test_every_node_scores_nothing_without_claims_that_wait_for_it() -> None:
    cluster = Cluster(node("a"), node("b"), claim("c", volume="v", bound=True), volume("v"), storage_class())
    for wanted in (pod("p"), pod("p", of_claim("c"))):
        plugin, state, info = VolumeBinding(FREE_FIRST, cluster.handle), CycleState(), cluster.info(wanted)
        nodes = cluster.snapshot.nodes
        plugin.pre_filter(state, info, nodes)
        assert plugin.pre_score(state, info, nodes, nodes.rows) is INDIFFERENT
        assert plugin.score_nodes(state, info, nodes, nodes.rows).tolist() == [0, 0]


def test_existing_volumes_score_by_how_much_of_them_is_asked_for() -> None:
    objects = [
        claim("c", size="5Gi"),
        storage_class(),
        volume("a1", size="10Gi", nodes=["a"]),
        volume("b1", size="20Gi", nodes=["b"]),
    ]
    wanted = pod("p", of_claim("c"))

    assert scores(FULL_FIRST, wanted, *objects) == {"a": 50, "b": 25}
    assert scores(FREE_FIRST, wanted, *objects) == {"a": 50, "b": 75}


def test_classes_count_alike_and_volumes_of_one_class_are_added_up() -> None:
    objects = [
        claim("c", size="1Gi"),
        claim("d", size="2Gi"),
        claim("e", size="1Gi", storage_class="other"),
        storage_class(),
        storage_class("other"),
        volume("v1", size="1Gi"),
        volume("v2", size="5Gi"),
        volume("v3", size="4Gi", storage_class="other"),
    ]
    wanted = pod("p", of_claim("c"), of_claim("d"), of_claim("e"))

    # late: 3 of 6, other: 1 of 4; the mean of 50 and 25 is rounded up.
    assert scores(FULL_FIRST, wanted, *objects) == {"a": 38, "b": 38}


def test_volumes_to_be_made_score_by_the_pool_they_come_from() -> None:
    objects = [
        claim("c", size="1Gi"),
        claim("d", size="1Gi"),
        storage_class(),
        csi_driver(),
        capacity("pool-a", free="4Gi", topology={HOSTNAME: "a"}),
        capacity("pool-b", free="8Gi", topology={HOSTNAME: "b"}),
    ]

    assert scores(FULL_FIRST, pod("p", of_claim("c"), of_claim("d")), *objects) == {"a": 50, "b": 25}


def test_without_any_known_capacity_the_score_is_nothing() -> None:
    assert scores(FREE_FIRST, pod("p", of_claim("c")), claim("c"), storage_class()) == {"a": 0, "b": 0}


def test_more_than_there_is_counts_as_full() -> None:
    objects = [claim("c"), storage_class(), csi_driver(), capacity("1", free="1Mi", largest="1Gi", topology={})]

    assert scores(FULL_FIRST, pod("p", of_claim("c")), *objects) == {"a": 100, "b": 100}


@pytest.mark.parametrize(("at", "score"), [(0, 100), (10, 100), (15, 67), (40, -9), (41, -10), (100, -10)])
def test_a_broken_line_is_level_outside_and_rounds_toward_zero_inside(at: int, score: int) -> None:
    line = broken_line([(10, 100), (25, 1), (41, -10)])

    assert line(at) == score


def test_hints() -> None:
    cluster = Cluster()
    plugin = VolumeBinding(VolumeBindingArgs(), cluster.handle)
    waiting = cluster.info(pod("p", of_claim("c"), ephemeral(), {"csi": {"driver": "csi.example.com"}}))

    def asked(resource: Resource, before: KubeObject | None, after: KubeObject) -> Hint | None:
        return hint(plugin, waiting, resource, Action.ADD if before is None else Action.UPDATE, before, after)

    elsewhere = storage_class(topologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["z"]}]}])
    assert asked(Resource.STORAGE_CLASS, None, storage_class()) is Hint.QUEUE
    assert asked(Resource.STORAGE_CLASS, storage_class(), elsewhere) is Hint.QUEUE
    assert asked(Resource.STORAGE_CLASS, storage_class(), storage_class()) is Hint.SKIP
    for name, answer in (("c", Hint.QUEUE), ("p-v1", Hint.QUEUE), ("other", Hint.SKIP)):
        assert asked(Resource.PERSISTENT_VOLUME_CLAIM, None, claim(name)) is answer
        assert asked(Resource.PERSISTENT_VOLUME_CLAIM, claim(name), claim(name)) is answer
    assert asked(Resource.PERSISTENT_VOLUME, volume("v"), volume("v")) is Hint.QUEUE
    assert asked(Resource.CSI_NODE, None, csi_node("a")) is Hint.QUEUE
    assert asked(Resource.CSI_NODE, csi_node("a"), csi_node("a", migrated="kubernetes.io/cinder")) is Hint.QUEUE
    assert asked(Resource.CSI_NODE, csi_node("a"), csi_node("a", {"d": 1})) is Hint.SKIP
    silent = csi_driver(storage_capacity=False)
    assert asked(Resource.CSI_DRIVER, csi_driver(), silent) is Hint.QUEUE
    assert asked(Resource.CSI_DRIVER, silent, csi_driver()) is Hint.SKIP
    assert asked(Resource.CSI_DRIVER, csi_driver("other"), csi_driver("other", storage_capacity=None)) is Hint.SKIP
    assert asked(Resource.CSI_STORAGE_CAPACITY, None, capacity("1")) is Hint.QUEUE
    assert asked(Resource.CSI_STORAGE_CAPACITY, capacity("1"), capacity("1", free="1Gi")) is Hint.QUEUE
    assert asked(Resource.CSI_STORAGE_CAPACITY, capacity("1", free="1Gi"), capacity("1", free="2Gi")) is Hint.QUEUE
    assert asked(Resource.CSI_STORAGE_CAPACITY, capacity("1", free="1Gi"), capacity("1", free="1Gi")) is Hint.SKIP
    assert asked(Resource.CSI_STORAGE_CAPACITY, capacity("1", free="1Gi"), capacity("1")) is Hint.SKIP
    assert hint(plugin, waiting, Resource.NODE, Action.UPDATE_NODE_LABEL) is Hint.QUEUE
