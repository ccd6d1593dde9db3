"""One attempt after the other: who is tried, what a failure means, when time helps."""

from typing import Any

import pytest
from tests.unit.attempt.conftest import START, Rig, plugin, rig_with

from moorage.attempt.scripted import PatchStatus
from moorage.errors import ApiError
from moorage.framework import Nomination, PostFilterAnswer, error, unschedulable
from moorage.framework.status import Code, Status
from moorage.testing import a_node, a_pod

NODE = a_node("a").allocatable(cpu="2", pods="10")
WEB = a_pod("web").requests(cpu="1")
BIG = a_pod("big").requests(cpu="3")


def test_a_rejected_pod_sleeps_until_something_helps(rig: Rig) -> None:
    rig.node(NODE)
    rig.pod(BIG)
    rig.advance(60)
    assert rig.condition("big")[1].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert rig.core.queue.scheduling_cycle == 1
    rig.node(a_node("b").allocatable(cpu="4", pods="10"))
    rig.settle()
    assert rig.nodes_of() == {"big": "b"}


def test_a_rejected_pod_is_tried_again_after_five_minutes_whatever_happened(rig: Rig) -> None:
    rig.node(NODE)
    rig.pod(BIG)
    rig.advance(299)
    assert rig.core.queue.scheduling_cycle == 1
    rig.advance(60)
    assert rig.core.queue.scheduling_cycle == 2


def test_time_is_driven_by_what_the_queue_waits_for(rig: Rig) -> None:
    assert rig.core.attempts.next_tick is None
    rig.pod(WEB)
    rig.world.time.advance(0.25)
    rig.settle()
    # No nodes: retried after a second, which ends with the second after it.
    assert rig.core.attempts.next_tick == START + 2
    rig.node(NODE)
    rig.advance(1.5)
    assert rig.nodes_of() == {"web": ""}
    rig.advance(0.5)
    assert rig.nodes_of() == {"web": "a"}


def test_a_pod_that_is_being_deleted_is_not_tried(rig: Rig) -> None:
    rig.node(NODE)
    rig.pod(WEB.metadata(deletion_timestamp="2026-01-01T00:00:00Z"))
    rig.settle()
    assert rig.nodes_of() == {"web": ""}
    assert [event.note for event in rig.world.events] == ["skip schedule deleting pod: default/web"]
    assert rig.leftovers() == {}


def test_a_pod_that_is_gone_when_its_attempt_fails_is_only_told_of(rig: Rig) -> None:
    rig.node(NODE)
    rig.pod(BIG)
    rig._deliver()
    rig.vanish("big")
    queued = rig.core.queue.pop()
    assert queued is not None
    rig._deliver()
    rig.core.attempts.attempt(queued, queued.pod)
    rig.settle()
    assert rig.events() == [("big", "FailedScheduling")]
    assert rig.asked(PatchStatus) == []
    assert rig.place("big") == ""
    assert rig.leftovers() == {}


def test_a_pod_that_changed_while_it_was_tried_comes_back_as_it_is(rig: Rig) -> None:
    rig.node(NODE)
    rig.pod(BIG)
    rig._deliver()
    queued = rig.core.queue.pop()
    assert queued is not None
    rig.change("big", labels={"new": "label"})
    rig._deliver()
    rig.core.attempts.attempt(queued, queued.pod)
    found = rig.core.queue.find("default/big")
    assert found is not None
    assert found[1].pod.labels == {"new": "label"}
    rig.settle()
    assert rig.leftovers() == {}


def test_a_bug_in_a_decision_fails_that_attempt_alone(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.node(NODE)
    decide = rig.core.engine.decide

    def sometimes(pod: Any, answers: Any) -> Any:
        if pod.name == "web":
            raise KeyError("a bug")
        return decide(pod, answers)

    monkeypatch.setattr(rig.core.engine, "decide", sometimes)
    rig.pod(WEB)
    rig.pod(a_pod("other").requests(cpu="1"))
    rig.settle()
    assert rig.nodes_of() == {"other": "a", "web": ""}
    assert rig.condition("web") == ("SchedulerError", "KeyError: 'a bug'")
    assert rig.place("web") == "backoff"


@pytest.mark.parametrize(
    ("reserve", "reason", "place"),
    [
        (lambda *_: unschedulable("taken"), "Unschedulable", "unschedulable"),
        (lambda *_: Status(Code.PENDING, ("soon",)), "Unschedulable", "unschedulable"),
        (lambda *_: error("broken"), "SchedulerError", "backoff"),
        (lambda *_: 7, "SchedulerError", "backoff"),
        (lambda *_: 1 / 0, "SchedulerError", "backoff"),
    ],
)
def test_a_pod_that_reserve_refuses_counts_nowhere(reserve: Any, reason: str, place: str) -> None:
    rig = rig_with(plugin(reserve=reserve, unreserve=lambda *_: None))
    rig.node(NODE)
    rig.pod(WEB.requests(cpu="2"))
    rig.settle()
    assert rig.condition("web")[0] == reason
    assert rig.place("web") == place
    assert rig.leftovers() == {}
    assert rig.core.cluster.sizes["pods"] == 0


@pytest.mark.parametrize(
    ("answer", "promised"),
    [
        (PostFilterAnswer(None, Nomination("a")), "a"),
        (PostFilterAnswer(unschedulable("no"), Nomination("")), ""),
        (PostFilterAnswer(unschedulable("no")), "b"),
    ],
)
def test_what_post_filter_promises_is_written(answer: PostFilterAnswer, promised: str) -> None:
    """None leaves the promise that was there."""
    post_filter = {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}
    rig = Rig([plugin(post_filter=lambda *_: answer)], profiles=[{"plugins": {"postFilter": post_filter}}])
    rig.node(NODE)
    rig.pod(BIG.nominated_to("b"))
    rig.settle()
    assert rig.pods["big"].status.nominated_node_name == promised
    nominations = rig.core.cluster.snapshot.nominations
    assert [pod.name for pod in nominations.on(promised)] == (["big"] if promised else [])


def test_room_that_post_filter_could_not_make_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def refused() -> None:
        raise ApiError("the claim has changed", code=409, reason="Conflict")

    answer = PostFilterAnswer(unschedulable("no"), None, refused)
    post_filter = {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}
    rig = Rig([plugin(post_filter=lambda *_: answer)], profiles=[{"plugins": {"postFilter": post_filter}}])
    rig.node(NODE)
    rig.pod(BIG)
    rig.settle()
    assert "no room was made: the claim has changed" in caplog.text
    assert rig.place("big") == "unschedulable"
    assert rig.leftovers() == {}


def test_a_long_message_is_cut_for_the_event_alone() -> None:
    rig = rig_with(plugin(permit=lambda *_: unschedulable("x" * 2000)))
    rig.node(NODE)
    rig.pod(WEB)
    rig.settle()
    (event,) = rig.world.events
    assert len(event.note.encode()) == 1024
    assert event.note.endswith(" ...")
    assert len(rig.condition("web")[1]) > 2000


def test_plugins_activate_pods_and_wake_the_loop() -> None:
    rig = rig_with(plugin(permit=lambda *_: unschedulable("no")))
    rig.node(NODE)
    uid = rig.pod(WEB)
    rig.settle()
    wakes, cycles = rig.wakes, rig.core.queue.scheduling_cycle
    pending = rig.core.cluster.pending(uid)
    assert pending is not None
    rig.core.profiles["default-scheduler"].plugins["Mine"].handle.host.activate([pending])
    assert rig.wakes == wakes + 1
    rig.settle()
    assert rig.core.queue.scheduling_cycle == cycles + 1
