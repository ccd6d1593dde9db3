"""Which pods count where: assumed, confirmed, forgotten, changed."""

from typing import TYPE_CHECKING

import pytest

from moorage.cluster import find_faults
from moorage.testing import a_node, a_pod

if TYPE_CHECKING:
    from tests.unit.cluster.conftest import Fed

SMALL = a_pod("small").requests(cpu="1")


def cpu_taken(fed: "Fed", node: str) -> int:
    info = fed.snapshot.nodes.get(node)
    assert info is not None
    taken = info.requested.get("cpu", 0)
    assert taken == fed.snapshot.nodes.requested("cpu")[info.row]
    return taken


@pytest.fixture(autouse=True)
def two_nodes(fed: "Fed") -> None:
    fed.nodes.added(a_node("a").allocatable(cpu="4").build())
    fed.nodes.added(a_node("b").allocatable(cpu="4").build())


def test_an_assumed_pod_counts_at_once(fed: "Fed") -> None:
    pod = fed.snapshot.info(SMALL.build())
    bound = fed.cluster.assume(pod, "a")
    assert bound.spec.node_name == "a"
    assert fed.cluster.is_assumed(pod.uid)
    assert cpu_taken(fed, "a") == 1000


def test_a_forgotten_pod_counts_no_more(fed: "Fed") -> None:
    pod = fed.snapshot.info(SMALL.build())
    fed.cluster.assume(pod, "a")
    assert fed.cluster.forget(pod.uid)
    assert cpu_taken(fed, "a") == 0
    assert not fed.cluster.forget(pod.uid)


def test_a_confirmed_pod_counts_once(fed: "Fed") -> None:
    fed.cluster.assume(fed.snapshot.info(SMALL.build()), "a")
    fed.cluster.set_assigned(SMALL.on("a").build())
    assert not fed.cluster.is_assumed(SMALL.build().metadata.uid)
    assert cpu_taken(fed, "a") == 1000
    assert fed.cluster.sizes == {"assumed_pods": 0, "pods": 1, "nodes": 2}


def test_a_confirmed_pod_cannot_be_forgotten(fed: "Fed") -> None:
    uid = SMALL.build().metadata.uid
    fed.cluster.assume(fed.snapshot.info(SMALL.build()), "a")
    fed.cluster.set_assigned(SMALL.on("a").build())
    assert not fed.cluster.forget(uid)
    assert cpu_taken(fed, "a") == 1000


def test_a_pod_that_somebody_else_bound_elsewhere_counts_there(fed: "Fed") -> None:
    fed.cluster.assume(fed.snapshot.info(SMALL.build()), "a")
    fed.cluster.set_assigned(SMALL.on("b").build())
    assert cpu_taken(fed, "a") == 0
    assert cpu_taken(fed, "b") == 1000


def test_an_update_of_the_status_alone_changes_no_count(fed: "Fed") -> None:
    fed.cluster.set_assigned(SMALL.on("a").build())
    changes = fed.snapshot.nodes.pod_changes.position
    newer = SMALL.on("a").status(phase="Running").build()
    fed.cluster.set_assigned(newer)
    assert fed.snapshot.nodes.pod_changes.position == changes
    counted = fed.cluster.counted(newer.metadata.uid)
    assert counted is not None
    assert counted.pod is newer
    assert next(iter(fed.snapshot.nodes.infos[0].pods.values())).pod is newer


def test_a_change_of_labels_is_counted(fed: "Fed") -> None:
    fed.cluster.set_assigned(SMALL.on("a").labels(app="old").build())
    fed.cluster.set_assigned(SMALL.on("a").labels(app="new").build())
    (pod,) = fed.snapshot.nodes.infos[0].pods.values()
    assert pod.label_group.labels == {"app": "new"}
    assert pod.label_group.rows == {0: 1}


def test_a_resize_in_place_is_counted(fed: "Fed") -> None:
    fed.cluster.set_assigned(SMALL.on("a").build())
    fed.cluster.set_assigned(a_pod("small").requests(cpu="3").on("a").build())
    assert cpu_taken(fed, "a") == 3000


def test_a_pod_that_is_gone_counts_no_more(fed: "Fed") -> None:
    fed.cluster.set_assigned(SMALL.on("a").build())
    assert fed.cluster.remove_assigned(SMALL.build().metadata.uid) is not None
    assert cpu_taken(fed, "a") == 0
    assert fed.cluster.remove_assigned(SMALL.build().metadata.uid) is None


def test_faults_are_found(fed: "Fed") -> None:
    node, pod = a_node("a").build(), SMALL.on("a").build()
    fed.nodes.deleted(a_node("b").build())
    assert find_faults(fed.cluster, [node], []) == []
    assert find_faults(fed.cluster, [], []) == ["node a is held and does not exist"]
    assert find_faults(fed.cluster, [node], [pod]) == ["pod default/small on a is not counted"]
    fed.cluster.set_assigned(pod)
    assert find_faults(fed.cluster, [node], [pod]) == []
    assert find_faults(fed.cluster, [node], []) == ["pod default/small is counted on a and does not exist there"]
    fed.snapshot.nodes.infos[0].requested["cpu"] = 7
    (fault,) = find_faults(fed.cluster, [node], [pod])
    assert fault == "node a: pods request 1000 of cpu, held are (7, 1000)"
