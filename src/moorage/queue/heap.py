"""A priority queue of pods with lookup, removal and update by key."""

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from moorage.queue.record import QueuedPod

#: (order, arrival, serial, pod). Serials are unique, so that pods themselves are never compared.
_Entry = tuple[Any, int, int, QueuedPod]

#: Dead entries below this number are not worth the sweep.
_SWEEP = 64


class PodHeap:
    """Pods by `order`, smaller first; pods of equal order leave in the order they came.

    kube-scheduler leaves equals to chance, but its clock hardly ever makes any; a virtual clock makes many.
    A removed pod's entry stays in the heap, dead, until it surfaces or dead entries outnumber the living.
    """

    def __init__(self, order: Callable[[QueuedPod], Any]) -> None:
        self._order = order
        self._heap: list[_Entry] = []
        self._entries: dict[str, _Entry] = {}
        self._serials = count()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[QueuedPod]:
        """The pods in the order they would be popped."""
        return (entry[3] for entry in sorted(self._entries.values()))

    def get(self, key: str) -> QueuedPod | None:
        """The pod under a key (`namespace/name`)."""
        entry = self._entries.get(key)
        return entry[3] if entry else None

    def push(self, queued: QueuedPod) -> None:
        """Add a pod that is not here."""
        assert queued.key not in self._entries, f"{queued.key} is queued twice"
        serial = next(self._serials)
        self._insert((self._order(queued), serial, serial, queued))

    def update(self, queued: QueuedPod) -> None:
        """Put a pod of this heap where it now belongs, after it was changed in place."""
        old_order, arrival, _, _ = self._entries[queued.key]
        order = self._order(queued)
        if order == old_order:
            return
        self.remove(queued.key)
        self._insert((order, arrival, next(self._serials), queued))

    def remove(self, key: str) -> QueuedPod | None:
        """Take a pod out, wherever it stands. None if it is not here."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        if len(self._heap) > 2 * len(self._entries) + _SWEEP:
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)
        return entry[3]

    def peek(self) -> QueuedPod | None:
        """The first pod, without taking it."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heap[0]
            if entries.get(entry[3].key) is entry:
                return entry[3]
            heapq.heappop(heap)
        return None

    def pop(self) -> QueuedPod | None:
        """Take the first pod. None when there is none."""
        first = self.peek()
        if first is not None:
            heapq.heappop(self._heap)
            del self._entries[first.key]
        return first

    def _insert(self, entry: _Entry) -> None:
        heapq.heappush(self._heap, entry)
        self._entries[entry[3].key] = entry
