import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from moorage.columns import PodInfo
from moorage.framework.events import Action, ClusterEvent, Hint, Resource, on
from moorage.framework.status import Status, unschedulable
from moorage.queue import Place, PreEnqueueFunction, SchedulingQueue
from moorage.queue.moves import ASSIGNED_POD_DELETE, NODE_ADD, UNSCHEDULABLE_TIMEOUT

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Gate, Hints, World


def place(queue: SchedulingQueue, name: str) -> Place | None:
    found = queue.find(f"default/{name}")
    return found[0] if found else None


def test_an_event_wakes_those_whose_plugin_says_so_and_no_other(world: "World", hints: "Hints") -> None:
    queue = world.queue(
        {"Fit": [on(Resource.NODE, Action.ADD, hints)], "Ports": [on(Resource.POD, Action.DELETE, hints)]}
    )
    world.rejected(queue, "a", "b", plugins=["Fit"])
    world.rejected(queue, "c", plugins=["Ports"])
    world.rejected(queue, "d", plugins=["Fit", "Ports"])
    hints.names = {"b", "c", "d"}
    assert queue.move_on_event(NODE_ADD) == 2
    assert [name for name, _, _ in hints.asked] == ["a", "b", "d"]
    places = {queued.pod.name: where for where, queued in queue.pods()}
    assert places == {
        "a": Place.UNSCHEDULABLE,
        "b": Place.BACKOFF,
        "c": Place.UNSCHEDULABLE,
        "d": Place.BACKOFF,
    }


def test_a_pending_plugin_wakes_without_backoff(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    queued = queue.pop()
    assert queued is not None
    assert queue.return_unschedulable(queued, (), ["Fit"]) is Place.UNSCHEDULABLE
    queue.move_on_event(NODE_ADD)
    assert place(queue, "a") is Place.ACTIVE


def test_events_can_be_kept_to_some_pods(world: "World") -> None:
    queue = world.queue({"Fit": [on(Resource.POD, Action.DELETE)]})
    for name, priority in (("low", 1), ("same", 5), ("high", 9)):
        queue.add(world.pod(name, priority=priority))
        queued = queue.pop()
        assert queued is not None
        queue.return_unschedulable(queued, ["Fit"])
    assert queue.move_on_event(ASSIGNED_POD_DELETE, only=lambda pod: pod.priority <= 5) == 2
    assert place(queue, "high") is Place.UNSCHEDULABLE


class TestGates:
    def test_a_gated_pod_does_not_get_in(self, world: "World", gate: "Gate") -> None:
        queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
        gate.names = {"a"}
        queue.add(world.pod("a"))
        queue.add(world.pod("b"))
        assert queue.pending() == {
            Place.ACTIVE: 1,
            Place.BACKOFF: 0,
            Place.UNSCHEDULABLE: 0,
            Place.GATED: 1,
        }
        found = queue.find("default/a")
        assert found is not None
        assert found[1].gating_plugin == "Gate"
        assert found[1].unschedulable_plugins == {"Gate"}
        assert found[1].initial_attempt_timestamp is None

    @pytest.mark.parametrize(
        ("event", "asked", "where"),
        [
            (NODE_ADD, 0, Place.GATED),  # of no concern to the gate
            (ASSIGNED_POD_DELETE, 1, Place.ACTIVE),
            (UNSCHEDULABLE_TIMEOUT, 1, Place.ACTIVE),
        ],
    )
    def test_only_events_of_its_gate_concern_a_gated_pod(
        self, world: "World", gate: "Gate", event: ClusterEvent, asked: int, where: Place
    ) -> None:
        registrations = {"Gate": [on(Resource.POD, Action.DELETE)], "Fit": [on(Resource.NODE, Action.ADD)]}
        queue = world.queue(registrations, [("Gate", gate.pre_enqueue)])
        gate.names = {"a"}
        queue.add(world.pod("a"))
        gate.names = set()
        gate.asked.clear()
        queue.move_on_event(event)
        assert len(gate.asked) == asked
        assert place(queue, "a") is where

    def test_a_rejected_pod_can_become_gated_and_is_woken_through_its_gate(
        self, world: "World", gate: "Gate", hints: "Hints"
    ) -> None:
        """As with preemption: its gate opens on deletions, and then the plugin that rejected the pod decides."""
        never: Hints = type(hints)()
        registrations = {
            "Gate": [on(Resource.POD, Action.DELETE, never)],
            "Fit": [on(Resource.POD, Action.DELETE, hints), on(Resource.NODE, Action.ADD)],
        }
        queue = world.queue(registrations, [("Gate", gate.pre_enqueue)])
        world.rejected(queue, "a")
        gate.names = hints.names = {"a"}
        assert queue.move_on_event(ASSIGNED_POD_DELETE) == 0
        assert place(queue, "a") is Place.GATED
        found = queue.find("default/a")
        assert found is not None
        assert found[1].unschedulable_plugins == {"Fit", "Gate"}
        gate.names = set()
        assert queue.move_on_event(NODE_ADD) == 0
        assert queue.move_on_event(ASSIGNED_POD_DELETE) == 1
        assert place(queue, "a") is Place.BACKOFF
        assert found[1].gating_plugin == ""

    def test_the_gate_that_last_held_is_asked_first_and_the_first_refusal_ends_it(self, world: "World") -> None:
        asked: list[str] = []
        closed = {"second"}

        def gate(name: str) -> PreEnqueueFunction:
            def pre_enqueue(_pod: PodInfo) -> Status | None:
                asked.append(name)
                return unschedulable() if name in closed else None

            return pre_enqueue

        queue = world.queue(pre_enqueue=[(name, gate(name)) for name in ("first", "second", "third")])
        queue.add(world.pod("a"))
        assert asked == ["first", "second"]
        asked.clear()
        queue.activate([world.pod("a")])
        assert asked == ["second"]
        asked.clear()
        closed.clear()
        queue.activate([world.pod("a")])
        assert asked == ["second", "first", "third"]
        assert place(queue, "a") is Place.ACTIVE

    def test_gates_are_asked_on_the_way_into_backoff_and_not_on_the_way_out(self, world: "World", gate: "Gate") -> None:
        queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
        queue.add(world.pod("a"))
        queued = queue.pop()
        assert queued is not None
        queue.return_unschedulable(queued)
        assert gate.asked == ["a", "a"]
        world.time = 1002.0
        queue.flush_backoff()
        assert gate.asked == ["a", "a"]
        assert queue.pop() is queued
        gate.names = {"a"}
        assert queue.return_unschedulable(queued) is Place.GATED

    def test_a_gate_that_breaks_keeps_the_pod_out(self, world: "World", caplog: pytest.LogCaptureFixture) -> None:
        def broken(_pod: PodInfo) -> Status | None:
            raise RuntimeError("a bug")

        queue = world.queue(pre_enqueue=[("Gate", broken)])
        queue.add(world.pod("a"))
        assert place(queue, "a") is Place.GATED
        assert 'running PreEnqueue plugin "Gate": RuntimeError: a bug (at queue/test_queue_events.py:' in caplog.text
        assert "pods are kept out, such as default/a" in caplog.text


def test_a_plugin_may_activate_other_pods_while_it_is_asked(world: "World") -> None:
    def activating(_pod: PodInfo, _old: object, _new: object) -> Hint:
        queue.activate([world.pod("b")])
        return Hint.QUEUE

    queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, activating)]})
    world.rejected(queue, "a", "b")
    queue.move_on_event(NODE_ADD)
    assert [(where, queued.pod.name) for where, queued in queue.pods()] == [(Place.ACTIVE, "b"), (Place.BACKOFF, "a")]


@pytest.mark.parametrize("gated", [False, True])
def test_the_work_of_an_event_does_not_grow_with_the_pods_it_does_not_concern(
    world: "World", gate: "Gate", gated: bool
) -> None:
    def work(others: int) -> int:
        queue = world.queue(
            {"Fit": [on(Resource.NODE, Action.ADD)], "Other": [on(Resource.POD, Action.DELETE)]},
            [("Other", gate.pre_enqueue)],
        )
        for number in range(others):
            if gated:
                gate.names = {f"other-{number}"}
                queue.add(world.pod(f"other-{number}"))
            else:
                world.rejected(queue, f"other-{number}", plugins=["Other"])
        world.rejected(queue, "a", "b")
        queue.move_on_event(ClusterEvent(Resource.NODE, Action.DELETE))  # arranges the hints
        return _calls(lambda: queue.move_on_event(NODE_ADD))

    assert work(10) == work(2000)


def _calls(act: Callable[[], object]) -> int:
    """How many functions, Python's and C's, are called in the course of something."""
    count = 0

    def profile(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # a collection in between would run the callbacks of whatever it collects
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count
