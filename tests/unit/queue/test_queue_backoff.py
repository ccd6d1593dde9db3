from typing import TYPE_CHECKING

import pytest

from moorage.framework.faults import Faults
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue import Place, QueuedPod, SchedulingQueue
from moorage.queue.active import QueueOrder
from moorage.queue.backoff import BackoffQueue
from moorage.queue.moves import NODE_ADD

if TYPE_CHECKING:
    from tests.unit.queue.conftest import World


def failing(queue: SchedulingQueue, plugins: tuple[str, ...] = ()) -> QueuedPod:
    queued = queue.pop()
    assert queued is not None
    queue.return_unschedulable(queued, plugins)
    return queued


@pytest.mark.parametrize(
    ("initial", "maximum", "durations"),
    [
        (1, 10, [1, 2, 4, 8, 10, 10, 10]),
        (1, 8, [1, 2, 4, 8, 8]),
        (3, 10, [3, 6, 10, 10]),
        (10, 10, [10, 10]),
        (0.5, 1, [0.5, 1, 1]),
    ],
)
def test_backoff_doubles_up_to_the_maximum(
    world: "World", initial: float, maximum: float, durations: list[float]
) -> None:
    order = QueueOrder(PrioritySort(None, None), Faults())  # type: ignore[arg-type]  # it wants neither
    backoff = BackoffQueue(order, world.now, initial=initial, maximum=maximum)
    assert [backoff.duration(failures) for failures in range(1, len(durations) + 1)] == durations
    assert backoff.duration(5000) == maximum


@pytest.mark.parametrize(
    ("failed_at", "errors", "ready_at"),
    [(1000.0, 1, 1002.0), (1000.25, 1, 1002.0), (1000.999, 1, 1002.0), (1000.5, 3, 1005.0), (1000.5, 9, 1011.0)],
)
def test_backoff_ends_at_a_full_second(world: "World", failed_at: float, errors: int, ready_at: float) -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    queued = queue.pop()
    assert queued is not None
    queued.consecutive_errors = errors - 1
    world.time = failed_at
    assert queue.return_unschedulable(queued) is Place.BACKOFF
    assert queue.next_deadline() == ready_at
    world.time = ready_at - 0.001
    assert queue.flush_backoff() == 0
    assert queue.pop() is None
    world.time = ready_at
    assert queue.flush_backoff() == 1
    assert queue.pop() is queued


def test_a_pod_that_keeps_breaking_waits_longer_each_time(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    waits = []
    for _ in range(6):
        failing(queue)
        deadline = queue.next_deadline()
        assert deadline is not None
        waits.append(deadline - world.time)
        world.time = deadline
        assert queue.flush_backoff() == 1
    assert waits == [2, 3, 5, 9, 11, 11]


def test_errors_and_rejections_are_counted_apart(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    seen = []
    for plugins in ((), (), ("Fit",), ("Fit",), (), ("Fit",)):
        queued = failing(queue, plugins)
        seen.append((queued.attempts, queued.unschedulable_count, queued.consecutive_errors))
        queue.activate([queued.pod])
    assert seen == [(1, 0, 1), (2, 0, 2), (3, 1, 0), (4, 2, 0), (5, 2, 1), (6, 3, 0)]


def test_an_error_backs_off_by_errors_even_after_rejections(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    for _ in range(4):
        queued = failing(queue, ("Fit",))
        queue.activate([queued.pod])
    failing(queue)
    assert queue.next_deadline() == 1002.0


def test_pods_of_one_second_leave_in_the_order_of_the_active_queue(world: "World") -> None:
    queue = world.queue()
    for name, priority in (("low", 1), ("high", 9), ("late", 99)):
        queue.add(world.pod(name, priority=priority))
    late, high, low = queue.pop(), queue.pop(), queue.pop()
    assert late is not None
    assert high is not None
    assert low is not None
    world.time = 1000.1
    queue.return_unschedulable(low)
    world.time = 1000.8
    queue.return_unschedulable(high)
    world.time = 1001.2
    queue.return_unschedulable(late)
    world.time = 1002.0
    assert queue.flush_backoff() == 2
    assert [queue.pop(), queue.pop(), queue.pop()] == [high, low, None]


def test_an_idle_scheduler_takes_rejected_pods_early_but_not_broken_ones(world: "World") -> None:
    queue = world.queue()
    [rejected] = world.rejected(queue, "rejected")
    queue.add(world.pod("broken"))
    failing(queue)
    queue.move_on_event(NODE_ADD)
    assert queue.pending()[Place.BACKOFF] == 2
    assert queue.has_ready
    queue.add(world.pod("active", priority=-1))
    active = queue.pop()
    assert active is not None
    assert active.pod.name == "active"
    assert queue.pop() is rejected
    assert not queue.has_ready
    assert queue.pop() is None


def test_nobody_is_taken_early_twice_at_one_moment(world: "World") -> None:
    queue = world.queue()
    restless, other = world.rejected(queue, "restless", "other")
    queue.move_on_event(NODE_ADD)
    assert queue.pop() is restless
    queue.return_unschedulable(restless, ["Fit"])
    queue.move_on_event(NODE_ADD)
    assert queue.pop() is other, "it holds up nobody"
    assert queue.pop() is None
    world.time += 0.001
    assert queue.pop() is restless


def test_rejected_pods_are_taken_early_by_expiry_then_by_priority(world: "World") -> None:
    queue = world.queue()
    for name, priority in (("a", 1), ("b", 5), ("c", 9)):
        queue.add(world.pod(name, priority=priority))
    records = {queued.pod.name: queued for queued in iter(queue.pop, None)}
    records["c"].unschedulable_count = 3
    for queued in records.values():
        queue.return_unschedulable(queued, ["Fit"])
    queue.move_on_event(NODE_ADD)
    assert [queued.pod.name for queued in iter(queue.pop, None)] == ["b", "a", "c"]


def test_a_pod_that_waited_out_its_backoff_elsewhere_is_ready_at_once(world: "World") -> None:
    queue = world.queue()
    world.rejected(queue, "a")
    world.time = 1002.0
    queue.move_on_event(NODE_ADD)
    assert queue.pending()[Place.ACTIVE] == 1


def test_no_maximum_means_no_backoff(world: "World") -> None:
    queue = world.queue(max_backoff=0)
    queue.add(world.pod("a"))
    queued = queue.pop()
    assert queued is not None
    assert queue.return_unschedulable(queued) is Place.ACTIVE
