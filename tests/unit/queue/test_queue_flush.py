from typing import TYPE_CHECKING

from moorage.queue import Place
from moorage.queue.moves import NODE_ADD

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Gate, World


def test_an_empty_queue_waits_for_events_alone(world: "World") -> None:
    queue = world.queue()
    assert queue.next_deadline() is None
    queue.add(world.pod("a"))
    assert queue.next_deadline() is None


def test_pods_that_waited_five_minutes_are_tried_again(world: "World") -> None:
    queue = world.queue()
    world.time = 1010.0
    [queued] = world.rejected(queue, "a")
    woken_at: list[float] = []
    while not woken_at:
        deadline = queue.next_deadline()
        assert deadline is not None
        world.time = deadline
        if queue.flush_unschedulable():
            woken_at.append(world.time)
    assert woken_at == [1330.0]  # the first tick of 30 s from the start that lies more than 300 s behind
    assert queued.was_flushed
    assert queue.pop() is queued
    queue.return_unschedulable(queued, ["Fit"])
    assert not queued.was_flushed
    assert queued.waiting_since == 1330.0


def test_five_minutes_sharp_are_not_enough(world: "World") -> None:
    queue = world.queue()
    world.rejected(queue, "a")
    world.time = 1300.0
    assert queue.flush_unschedulable() == 0
    assert queue.next_deadline() == 1330.0


def test_between_ticks_nothing_is_flushed(world: "World") -> None:
    queue = world.queue(max_unschedulable=5)
    world.rejected(queue, "a")
    world.time = 1029.9
    assert queue.flush_unschedulable() == 0
    world.time = 1031.0
    assert queue.flush_unschedulable() == 1
    assert queue.pop() is not None
    world.rejected(queue, "b")
    assert queue.next_deadline() == 1060.0


def test_ticks_missed_while_nobody_waited_are_made_up_by_one(world: "World") -> None:
    queue = world.queue()
    world.time = 2000.0
    world.rejected(queue, "a")
    deadline = queue.next_deadline()
    assert deadline is not None
    assert deadline < world.time
    assert queue.flush_unschedulable() == 0
    assert queue.next_deadline() == 2020.0


def test_a_flushed_pod_that_is_still_gated_waits_another_five_minutes(world: "World", gate: "Gate") -> None:
    queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
    gate.names = {"a"}
    queue.add(world.pod("a"))
    asked_at = []
    while world.time < 2000.0:
        world.time += 30.0
        before = len(gate.asked)
        assert queue.flush_unschedulable() == 0
        asked_at += [world.time] * (len(gate.asked) - before)
    assert asked_at == [1330.0, 1660.0, 1990.0]
    found = queue.find("default/a")
    assert found is not None
    assert found[0] is Place.GATED
    assert not found[1].was_flushed


def test_a_flush_counts_for_pods_in_flight_too(world: "World") -> None:
    queue = world.queue()
    world.rejected(queue, "a")
    queue.add(world.pod("b"))
    world.time = 1330.0
    queued = queue.pop()
    assert queued is not None
    queue.flush_unschedulable()
    assert queue.return_unschedulable(queued, ["Other"]) is Place.BACKOFF


def test_the_nearest_deadline_comes_first(world: "World") -> None:
    queue = world.queue()
    world.rejected(queue, "a")
    assert queue.next_deadline() == 1030.0
    queue.move_on_event(NODE_ADD)
    assert queue.next_deadline() == 1002.0
