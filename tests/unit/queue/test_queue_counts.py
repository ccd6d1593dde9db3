from typing import TYPE_CHECKING

from moorage.queue.moves import NODE_ADD

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Gate, World


def test_pods_are_counted_by_queue_and_reason(world: "World", gate: "Gate") -> None:
    queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
    world.rejected(queue, "a")
    queue.move_on_event(NODE_ADD)
    queue.pop()
    world.rejected(queue, "b", plugins=[])
    world.time = 1002.0
    queue.flush_backoff()
    queue.update(world.pod("c"), world.pod("c"))
    gate.names = {"d"}
    queue.add(world.pod("d"))
    queue.activate([world.pod("d")])
    assert queue.counts.incoming == {
        ("active", "UnscheduledPodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "PopFromBackoffQ"): 1,
        ("backoff", "ScheduleAttemptFailure"): 1,
        ("active", "BackoffComplete"): 1,
        ("active", "TargetPodUpdate"): 1,
        ("unschedulable", "UnscheduledPodAdd"): 1,
        ("unschedulable", "ForceActivate"): 1,
    }


def test_plugins_are_counted_for_the_pods_they_hold(world: "World", gate: "Gate") -> None:
    queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
    profile = "default-scheduler"
    world.rejected(queue, "a", "b", plugins=["Fit", "Ports"])
    gate.names = {"a"}
    queue.activate([world.pod("a")])
    queue.activate([world.pod("a")])  # held by the same gate still
    assert queue.counts.unschedulable == {("Fit", profile): 2, ("Ports", profile): 2, ("Gate", profile): 1}
    queue.delete(world.pod("b"))
    assert queue.counts.unschedulable == {("Fit", profile): 1, ("Ports", profile): 1, ("Gate", profile): 1}
    gate.names = set()
    queue.activate([world.pod("a")])
    queue.pop()
    assert not +queue.counts.unschedulable
