"""What pods that come, change and go mean for the cluster and the queue."""

from typing import TYPE_CHECKING

import pytest

from moorage.errors import ObjectError
from moorage.testing import a_node, a_pod

if TYPE_CHECKING:
    from tests.unit.cluster.conftest import Fed

WEB = a_pod("web").requests(cpu="1")


@pytest.fixture(autouse=True)
def one_node(fed: "Fed") -> None:
    fed.nodes.added(a_node("a").build())
    fed.moves.clear()


def test_a_pod_without_a_node_is_queued(fed: "Fed") -> None:
    fed.pods.added(WEB.build())
    assert fed.queued() == ["web"]
    assert fed.moves == []


def test_pods_of_other_schedulers_are_not_queued(fed: "Fed") -> None:
    theirs = WEB.scheduler("theirs")
    fed.pods.added(theirs.build())
    fed.pods.updated(theirs.build(), theirs.labels(app="web").build())
    assert fed.queued() == []
    fed.pods.updated(theirs.build(), theirs.on("a").build())
    assert fed.on_node("a") == ["web"]


def test_pods_that_ended_count_for_nothing(fed: "Fed") -> None:
    fed.pods.added(WEB.on("a").status(phase="Succeeded").build())
    assert fed.on_node("a") == []
    fed.pods.added(WEB.on("a").build())
    fed.pods.updated(WEB.on("a").build(), WEB.on("a").status(phase="Failed").build())
    assert fed.on_node("a") == []
    assert fed.moves == [("AssignedPodAdd", "web"), ("AssignedPodDelete", "web")]


def test_a_pod_that_is_bound_leaves_the_queue_for_its_node(fed: "Fed") -> None:
    fed.pods.added(WEB.build())
    fed.pods.updated(WEB.build(), WEB.on("a").build())
    assert fed.queued() == []
    assert fed.on_node("a") == ["web"]
    assert fed.moves == [("AssignedPodAdd", "web")]


def test_what_an_update_of_an_assigned_pod_means(fed: "Fed") -> None:
    fed.pods.added(WEB.on("a").build())
    fed.moves.clear()
    fed.pods.updated(WEB.on("a").build(), WEB.on("a").labels(app="web").build())
    assert fed.moves == [("AssignedPodUpdatePodLabel", "web")]


def test_a_pod_that_goes_frees_its_node(fed: "Fed") -> None:
    fed.pods.added(WEB.on("a").build())
    fed.moves.clear()
    fed.pods.deleted(WEB.on("a").build())
    assert fed.on_node("a") == []
    assert fed.moves == [("AssignedPodDelete", "web")]


def test_a_queued_pod_that_goes_leaves_the_queue(fed: "Fed") -> None:
    fed.pods.added(WEB.build())
    fed.pods.deleted(WEB.build())
    assert fed.queued() == []
    assert fed.moves == []


def test_a_promise_that_ends_wakes_whom_it_held_back(fed: "Fed") -> None:
    promised = WEB.nominated_to("a").priority(10)
    fed.pods.added(promised.build())
    fed.pods.updated(promised.build(), WEB.priority(10).build())
    assert fed.moves == [("AssignedPodDelete", "web")]
    fed.moves.clear()
    fed.pods.updated(WEB.priority(10).build(), promised.build())
    assert fed.moves == []
    fed.pods.deleted(promised.build())
    assert fed.moves == [("AssignedPodDelete", "web")]


def test_updates_of_an_assumed_pod_do_not_queue_it_again(fed: "Fed") -> None:
    fed.pods.added(WEB.build())
    queued = fed.queue.pop()
    assert queued is not None
    fed.cluster.assume(queued.pod, "a")
    fed.queue.done(queued.pod.uid)
    fed.pods.updated(WEB.build(), WEB.labels(app="web").build())
    assert fed.queued() == []
    assert fed.on_node("a") == ["web"]
    pending = fed.cluster.pending(queued.pod.uid)
    assert pending is not None
    assert pending.labels == {"app": "web"}


@pytest.mark.parametrize("how", ["deleted", "terminating"])
def test_an_assumed_pod_that_is_deleted_frees_its_node_at_once(fed: "Fed", how: str) -> None:
    fed.pods.added(WEB.build())
    pod = fed.snapshot.info(WEB.build())
    fed.cluster.assume(pod, "a")
    if how == "deleted":
        fed.pods.deleted(WEB.build())
    else:
        fed.pods.updated(WEB.build(), WEB.terminating().build())
    assert fed.on_node("a") == []
    assert fed.moves == [("AssignedPodDelete", "web")]


def test_a_deleted_pod_held_at_permit_is_forgotten_by_whoever_holds_it(fed: "Fed") -> None:
    fed.pods.added(WEB.build())
    pod = fed.snapshot.info(WEB.build())
    fed.cluster.assume(pod, "a")
    fed.held.add(pod.uid)
    fed.pods.deleted(WEB.build())
    assert fed.cluster.is_assumed(pod.uid)


@pytest.mark.parametrize("node", ["", "a"])
def test_a_malformed_pod_is_named_and_counted_nowhere(fed: "Fed", node: str) -> None:
    broken = a_pod("broken").requests(cpu="much").on(node)
    with pytest.raises(ObjectError, match="Pod default/broken"):
        fed.pods.added(broken.build())
    assert fed.queued() == []
    assert fed.on_node("a") == []
    fed.pods.deleted(broken.build())
