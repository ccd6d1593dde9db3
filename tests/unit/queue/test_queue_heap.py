from typing import TYPE_CHECKING, Any

import pytest

from moorage.columns import PodInfo
from moorage.framework.faults import Faults
from moorage.queue.active import ActiveQueue, QueueOrder
from moorage.queue.heap import PodHeap
from moorage.queue.record import QueuedEntity, QueuedPod

if TYPE_CHECKING:
    from tests.unit.queue.conftest import World


def by_priority(queued: QueuedEntity) -> int:
    return -queued.pod.priority


def drain(heap: PodHeap) -> list[str]:
    names = []
    while (queued := heap.pop()) is not None:
        names.append(queued.pod.name)
    return names


def filled(world: "World", **priorities: int) -> PodHeap:
    heap = PodHeap(by_priority)
    for name, priority in priorities.items():
        heap.push(QueuedPod(world.pod(name, priority=priority), 0.0))
    return heap


def test_pods_leave_by_order_and_equals_in_order_of_arrival(world: "World") -> None:
    heap = filled(world, a=1, b=2, c=1, d=2, e=1)
    assert [queued.pod.name for queued in heap] == ["b", "d", "a", "c", "e"]
    assert drain(heap) == ["b", "d", "a", "c", "e"]


def test_a_removed_pod_is_gone_and_can_come_back(world: "World") -> None:
    heap = filled(world, a=3, b=2, c=1)
    removed = heap.remove("default/a")
    assert removed is not None
    assert heap.remove("default/a") is None
    assert "default/a" not in heap
    assert len(heap) == 2
    first = heap.peek()
    assert first is not None
    assert first.pod.name == "b"
    heap.push(removed)
    assert drain(heap) == ["a", "b", "c"]


def test_an_update_moves_a_pod_and_keeps_its_place_among_equals(world: "World") -> None:
    heap = filled(world, a=1, b=1, c=1)
    b = heap.get("default/b")
    assert b is not None
    for priority in (5, 1, 5, 1):  # back and forth: equal entries meet in the heap
        b.pod = world.pod("b", priority=priority)
        heap.update(b)
    assert drain(heap) == ["a", "b", "c"]
    heap = filled(world, a=1, b=1)
    b = heap.get("default/b")
    assert b is not None
    b.pod = world.pod("b", priority=2)
    heap.update(b)
    assert drain(heap) == ["b", "a"]


def test_what_was_removed_and_updated_does_not_pile_up(world: "World") -> None:
    heap = filled(world, a=1)
    a = heap.peek()
    assert a is not None
    for number in range(1000):
        heap.push(QueuedPod(world.pod(f"p{number}"), 0.0))
        heap.remove(f"default/p{number}")
        a.pod = world.pod("a", priority=number)
        heap.update(a)
    assert len(heap._heap) < 100
    assert drain(heap) == ["a"]


class ByLess:
    """Longest waiting first, whatever the priority."""

    def less(self, a: PodInfo, a_timestamp: float, b: PodInfo, b_timestamp: float) -> bool:
        return a_timestamp < b_timestamp


class Both(ByLess):
    """Says two different things."""

    def sort_key(self, pod: PodInfo, timestamp: float) -> str:
        return pod.name


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [(ByLess(), ["c", "b", "d", "a"]), (Both(), ["a", "b", "c", "d"])],
    ids=["less alone", "a key goes before less"],
)
def test_the_queue_sort_plugin_orders(world: "World", plugin: ByLess, expected: list[str]) -> None:
    heap = ActiveQueue(QueueOrder(plugin, Faults()))
    for name, timestamp in (("a", 3.0), ("b", 2.0), ("c", 1.0), ("d", 2.0)):
        heap.push(QueuedPod(world.pod(name), timestamp))
    assert drain(heap) == expected


class Faulty:
    """Gives each pod the key that stands under its name; raises where there is none."""

    def __init__(self, **keys: Any) -> None:
        self.keys = keys

    def sort_key(self, pod: PodInfo, _timestamp: float) -> Any:
        return self.keys[pod.name]


@pytest.mark.parametrize(
    "keys",
    [
        {"a": 2, "b": 1},
        {"a": 2, "b": 1, "c": None, "d": None},
        {"a": 2, "b": 1, "c": "text", "d": {}},
        {"a": (2, 0), "b": (1, 0), "c": (3, "text"), "d": (3, 0)},
    ],
    ids=["no key", "a key that compares with nothing", "keys that do not compare with others", "keys that clash late"],
)
@pytest.mark.parametrize("names", ["abcd", "dcba", "cadb"])
def test_pods_with_faulty_keys_come_last_by_priority_and_time(world: "World", keys: Any, names: str) -> None:
    faults = Faults()
    heap = ActiveQueue(QueueOrder(Faulty(**keys), faults))
    for name in names:
        heap.push(QueuedPod(world.pod(name, priority=1 if name == "d" else 0), 1.0))
    listed = [queued.pod.name for queued in heap]
    order = drain(heap)
    assert order == listed
    assert order[:2] == ["b", "a"]
    clashing = keys.get("d") == (3, 0)
    assert set(order[2:]) == {"c", "d"}
    assert clashing or order[2:] == ["d", "c"]
    [fault] = {(fault.plugin, fault.point) for fault in faults.counts}
    assert fault == ("Faulty", "QueueSort")


def test_removals_and_updates_survive_keys_that_do_not_compare(world: "World") -> None:
    keys: dict[str, Any] = {"a": 2, "b": 1, "c": 3}
    plugin = Faulty(**keys)
    heap = ActiveQueue(QueueOrder(plugin, Faults()))
    pods = {name: QueuedPod(world.pod(name), 1.0) for name in "abc"}
    for queued in pods.values():
        heap.push(queued)
    plugin.keys["b"] = "text"
    heap.update(pods["b"])
    heap.remove("default/a")
    assert drain(heap) == ["c", "b"]


def test_a_less_that_raises_leaves_priority_and_time(world: "World") -> None:
    class Broken:
        def less(self, *_: object) -> bool:
            raise RuntimeError("a bug")

    faults = Faults()
    heap = ActiveQueue(QueueOrder(Broken(), faults))
    for name, priority in (("a", 0), ("b", 5), ("c", 9)):
        heap.push(QueuedPod(world.pod(name, priority=priority), 1.0))
    assert drain(heap) == ["c", "b", "a"]


def test_a_fault_is_told_once_and_counted(world: "World", caplog: pytest.LogCaptureFixture) -> None:
    faults = Faults()
    order = QueueOrder(Faulty(), faults)
    for _ in range(100):
        order.of(QueuedPod(world.pod("a"), 1.0))
    first, again = caplog.messages
    assert first.startswith('running QueueSort plugin "Faulty": KeyError')
    assert "test_queue_heap.py:" in first
    assert "(seen 100 times)" in again
    assert list(faults.counts.values()) == [100]
