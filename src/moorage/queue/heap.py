"""A priority queue of pods with lookup, removal and update by key."""

import heapq
from bisect import insort
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from moorage.framework.answers import let_pass
from moorage.queue.record import QueuedEntity

#: (order, arrival, serial, pod). Serials are unique, so that pods themselves are never compared.
_Entry = tuple[Any, int, int, QueuedEntity]

#: Dead entries below this number are not worth the sweep.
_SWEEP = 64


class PodHeap:
    """Pods by `order`, smaller first; pods of equal order leave in the order they came.

    kube-scheduler leaves equals to chance, but its clock hardly ever makes any; a virtual clock makes many.
    A removed pod's entry stays in the heap, dead, until it surfaces or dead entries outnumber the living.

    Orders come of plugins, and may turn out not to compare. Then the fewer, or those that came later, are ordered by
    `last_order` instead, which compares with every order and ranks behind all.
    """

    def __init__(
        self,
        order: Callable[[QueuedEntity], Any],
        last_order: Callable[[QueuedEntity, BaseException], Any] | None = None,
    ) -> None:
        self._order = order
        self._last_order = last_order
        self._heap: list[_Entry] = []
        self._entries: dict[str, _Entry] = {}
        self._serials = count()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[QueuedEntity]:
        """The pods in the order they would be popped."""
        try:
            entries = sorted(self._entries.values())
        except BaseException as problem:
            self._mend(problem)
            entries = self._heap
        return iter([entry[3] for entry in entries])

    def get(self, key: str) -> QueuedEntity | None:
        """The pod under a key (`namespace/name`)."""
        entry = self._entries.get(key)
        return entry[3] if entry else None

    def push(self, queued: QueuedEntity) -> None:
        """Add a pod that is not here."""
        assert queued.key not in self._entries, f"{queued.key} is queued twice"
        serial = next(self._serials)
        self._insert((self._order(queued), serial, serial, queued))

    def update(self, queued: QueuedEntity) -> None:
        """Put a pod of this heap where it now belongs, after it was changed in place."""
        old_order, arrival, _, _ = self._entries[queued.key]
        order = self._order(queued)
        if _is_equal(order, old_order):
            return
        self.remove(queued.key)
        self._insert((order, arrival, next(self._serials), queued))

    def remove(self, key: str) -> QueuedEntity | None:
        """Take a pod out, wherever it stands. None if it is not here."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        if len(self._heap) > 2 * len(self._entries) + _SWEEP:
            self._heap = list(self._entries.values())
            try:
                heapq.heapify(self._heap)
            except BaseException as problem:
                self._mend(problem)
        return entry[3]

    def peek(self) -> QueuedEntity | None:
        """The first pod, without taking it."""
        while self._heap:
            entry = self._heap[0]
            if self._entries.get(entry[3].key) is entry:
                return entry[3]
            try:
                heapq.heappop(self._heap)
            except BaseException as problem:
                self._mend(problem)
        return None

    def pop(self) -> QueuedEntity | None:
        """Take the first pod. None when there is none."""
        first = self.peek()
        if first is not None:
            del self._entries[first.key]
            try:
                heapq.heappop(self._heap)
            except BaseException as problem:
                self._mend(problem)
        return first

    def _insert(self, entry: _Entry) -> None:
        self._entries[entry[3].key] = entry
        try:
            heapq.heappush(self._heap, entry)
        except BaseException as problem:
            self._mend(problem)

    def _mend(self, problem: BaseException) -> None:
        """Two orders did not compare: keep the most that do, in order of arrival, and put the other pods last.

        Leaves the heap sorted.
        """
        if self._last_order is None:
            raise problem
        entries = sorted(self._entries.values(), key=lambda entry: entry[1:3])
        ordered = [(self._order(queued), arrival, serial, queued) for _, arrival, serial, queued in entries]
        good, clashing = _sorted_in(ordered)
        others, fewer = _sorted_in([entry for entry, _ in clashing] + good)
        if len(others) > len(good):
            good, clashing = others, fewer
        for (_, arrival, serial, queued), clash in clashing:
            insort(good, (self._last_order(queued, clash), arrival, serial, queued))
        self._heap = good
        self._entries = {entry[3].key: entry for entry in good}


def _sorted_in(entries: list[_Entry]) -> tuple[list[_Entry], list[tuple[_Entry, BaseException]]]:
    """The entries that compare with those before them, sorted; and the others, each with what comparing raised."""
    good: list[_Entry] = []
    clashing = []
    for entry in entries:
        try:
            insort(good, entry)
        except BaseException as problem:
            clashing.append((entry, problem))
    return good, clashing


def _is_equal(order: Any, other: Any) -> bool:
    try:
        return bool(order == other)
    except BaseException as problem:
        let_pass(problem)
        return False
