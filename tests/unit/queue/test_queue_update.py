from typing import TYPE_CHECKING

import pytest

from moorage.framework.events import Action, Resource, on
from moorage.queue import Place, QueuedEntity, SchedulingQueue
from moorage.queue.moves import NODE_ADD

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Gate, Hints, World

OWN_GATES = {"Gate": [on(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)]}


def found(queue: SchedulingQueue, name: str) -> tuple[Place, QueuedEntity]:
    here = queue.find(f"default/{name}")
    assert here is not None
    return here


def test_an_active_pod_is_replaced_in_place_and_reordered(world: "World") -> None:
    queue = world.queue()
    for name in ("a", "b"):
        queue.add(world.pod(name))
        world.time += 1
    new = world.pod("b", priority=7)
    queue.update(world.pod("b"), new)
    assert found(queue, "b")[1].timestamp == 1001.0
    popped = queue.pop()
    assert popped is not None
    assert popped.pod is new


@pytest.mark.parametrize("plugins", [["Fit"], []], ids=["rejected", "broken"])
def test_a_pod_in_backoff_is_replaced_and_stays(world: "World", plugins: list[str]) -> None:
    queue = world.queue()
    world.rejected(queue, "a", plugins=plugins)
    queue.move_on_event(NODE_ADD)
    new = world.pod("a", labels={"x": "y"})
    queue.update(world.pod("a"), new)
    place, queued = found(queue, "a")
    assert place is Place.BACKOFF
    assert queued.pod is new
    assert queue.next_deadline() == 1002.0


@pytest.mark.parametrize(
    ("registered", "woken"),
    [
        (Action.UPDATE_POD_TOLERATION, True),
        (Action.UPDATE_POD_LABEL, True),
        (Action.UPDATE_POD_SCALE_DOWN, False),
        (Action.DELETE, False),
    ],
)
def test_an_update_of_a_waiting_pod_wakes_it_only_through_hints(
    world: "World", registered: Action, woken: bool
) -> None:
    queue = world.queue({"Fit": [on(Resource.POD, registered)]})
    world.rejected(queue, "a")
    new = world.pod("a", tolerations=1, labels={"x": "y"})
    queue.update(world.pod("a"), new)
    place, queued = found(queue, "a")
    assert place is (Place.BACKOFF if woken else Place.UNSCHEDULABLE)
    assert queued.pod is new


def test_the_update_of_one_pod_asks_nobody_about_the_others(world: "World", hints: "Hints") -> None:
    queue = world.queue({"Fit": [on(Resource.POD, Action.UPDATE_POD_LABEL, hints)]})
    world.rejected(queue, "a", "b")
    old, new = world.pod("a"), world.pod("a", labels={"x": "y"})
    queue.update(old, new)
    assert hints.asked == [("a", old.pod, new.pod)]


def test_sub_events_are_asked_in_order_until_one_moves_the_pod(world: "World", hints: "Hints") -> None:
    labels, tolerations = type(hints)("a"), type(hints)("a")
    queue = world.queue(
        {
            "Fit": [
                on(Resource.POD, Action.UPDATE_POD_TOLERATION, tolerations),
                on(Resource.POD, Action.UPDATE_POD_LABEL, labels),
            ]
        }
    )
    world.rejected(queue, "a")
    queue.update(world.pod("a"), world.pod("a", labels={"x": "y"}, tolerations=1))
    assert len(labels.asked) == 1
    assert tolerations.asked == []


def test_a_gated_pod_gets_in_when_its_last_gate_goes(world: "World", gate: "Gate") -> None:
    queue = world.queue(OWN_GATES, [("Gate", gate.pre_enqueue)])
    gate.names = {"a"}
    both, one, none = world.pod("a", gates=["x", "y"]), world.pod("a", gates=["x"]), world.pod("a")
    queue.add(both)
    queue.update(both, one)
    assert len(gate.asked) == 1
    place, queued = found(queue, "a")
    assert place is Place.GATED
    assert queued.pod is one
    world.time = 1060.0
    gate.names = set()
    queue.update(one, none)
    place, queued = found(queue, "a")
    assert place is Place.ACTIVE
    assert queued.initial_attempt_timestamp == 1060.0
    assert queued.timestamp == 1000.0


def test_an_update_in_flight_is_remembered_for_the_return(world: "World") -> None:
    queue = world.queue({"Fit": [on(Resource.POD, Action.UPDATE_POD_TOLERATION)]})
    queue.add(world.pod("a"))
    queued = queue.pop()
    assert queued is not None
    new = world.pod("a", tolerations=1)
    queue.update(world.pod("a"), new)
    assert queue.pods() == []
    assert queue.return_unschedulable(queued, ["Fit"], pod=new) is Place.BACKOFF


def test_an_unknown_pod_is_added(world: "World") -> None:
    queue = world.queue()
    queue.update(world.pod("a"), world.pod("a", labels={"x": "y"}))
    assert found(queue, "a")[0] is Place.ACTIVE


def test_a_new_pod_of_the_same_name_takes_the_place_of_the_old_one(world: "World") -> None:
    queue = world.queue()
    world.rejected(queue, "a")
    queue.add(world.pod("a", uid="new"))
    assert [(place, queued.pod.uid) for place, queued in queue.pods()] == [(Place.ACTIVE, "new")]


class TestDelete:
    def test_a_pod_is_removed_from_wherever_it_is(self, world: "World", gate: "Gate") -> None:
        queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
        gate.names = {"gated"}
        world.rejected(queue, "backing-off")
        queue.move_on_event(NODE_ADD)
        queue.add(world.pod("active"))
        queue.add(world.pod("gated"))
        for name in ("active", "backing-off", "gated"):
            queue.delete(world.pod(name))
        world.rejected(queue, "waiting")
        queue.delete(world.pod("waiting"))
        assert queue.pods() == []
        assert queue.pop() is None
        assert queue.move_on_event(NODE_ADD) == 0

    def test_a_late_notice_does_not_remove_the_pod_that_came_after(self, world: "World") -> None:
        queue = world.queue()
        queue.add(world.pod("a", uid="new"))
        queue.delete(world.pod("a", uid="old"))
        assert found(queue, "a")[1].pod.uid == "new"

    def test_an_unknown_pod_is_no_trouble(self, world: "World") -> None:
        world.queue().delete(world.pod("a"))


class TestActivate:
    def test_waiting_pods_become_active_at_once(self, world: "World") -> None:
        queue = world.queue()
        world.rejected(queue, "a", "b", "c")
        queue.move_on_event(NODE_ADD, only=lambda pod: pod.name == "a")
        queue.activate([world.pod("a"), world.pod("b"), world.pod("unknown")])
        assert {queued.pod.name: place for place, queued in queue.pods()} == {
            "a": Place.ACTIVE,
            "b": Place.ACTIVE,
            "c": Place.UNSCHEDULABLE,
        }

    def test_gates_are_asked_unless_the_pod_comes_from_backoff(self, world: "World", gate: "Gate") -> None:
        queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
        world.rejected(queue, "a", "b")
        queue.move_on_event(NODE_ADD, only=lambda pod: pod.name == "a")
        gate.names = {"a", "b"}
        queue.activate([world.pod("a"), world.pod("b")])
        assert found(queue, "a")[0] is Place.ACTIVE
        assert found(queue, "b")[0] is Place.GATED

    def test_a_pod_in_flight_is_tried_again_and_no_other(self, world: "World") -> None:
        queue = world.queue()
        for name in ("a", "b"):
            queue.add(world.pod(name))
        a, b = queue.pop(), queue.pop()
        assert a is not None
        assert b is not None
        queue.activate([world.pod("a")])
        assert queue.return_unschedulable(a, ["Fit"]) is Place.BACKOFF
        assert queue.return_unschedulable(b, ["Fit"]) is Place.UNSCHEDULABLE


class TestPopSpecific:
    def test_a_pod_is_taken_from_wherever_it_waits(self, world: "World") -> None:
        queue = world.queue()
        world.rejected(queue, "backing-off")
        queue.move_on_event(NODE_ADD)
        world.rejected(queue, "waiting")
        queue.add(world.pod("active"))
        for name in ("active", "waiting", "backing-off"):
            queued = queue.pop_specific(world.pod(name))
            assert queued is not None
            assert queued.pod.name == name
        assert len(queue.in_flight()) == 3
        assert queue.pods() == []

    def test_gated_pods_pods_in_flight_and_strangers_stay_out(self, world: "World", gate: "Gate") -> None:
        queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
        gate.names = {"gated"}
        queue.add(world.pod("gated"))
        queue.add(world.pod("flying"))
        queue.pop()
        for name in ("gated", "flying", "stranger"):
            assert queue.pop_specific(world.pod(name)) is None
        assert found(queue, "gated")[0] is Place.GATED
        assert len(queue.in_flight()) == 1
