"""The pods that wait a little before they are tried again, longer each time.

Back-off is kept to whole seconds of the wall clock: all pods whose back-off ends within one second become ready
together, at the next full second, and so leave in the order of the active queue.
"""

import math
from collections.abc import Callable

from moorage.queue.active import QueueOrder
from moorage.queue.heap import PodHeap
from moorage.queue.record import QueuedEntity

#: From here on a doubled back-off is beyond any configurable maximum.
_MAX_DOUBLINGS = 62


class BackoffQueue:
    """backoffQ: rejected pods, which an idle scheduler may take early, and pods whose cycle broke, which wait."""

    def __init__(
        self,
        order: QueueOrder,
        now: Callable[[], float],
        *,
        initial: float,
        maximum: float,
        by_second: bool = True,
        least: Callable[[QueuedEntity], float] | None = None,
    ) -> None:
        """`least`: what something waits at least. `by_second`: back-off is kept to whole seconds, so that what ends in
        the same one leaves together.
        """
        self._now = now
        self._by_second = by_second
        self._initial = initial
        self._maximum = maximum
        self._least = least
        self._rejected = (
            PodHeap(
                lambda queued: (self.expiry(queued), order.of(queued)),
                lambda queued, problem: (self.expiry(queued), order.last(queued, problem)),
            )
            if by_second
            else PodHeap(self.expiry)
        )
        self._broken = PodHeap(self.expiry)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._broken)

    def __contains__(self, key: str) -> bool:
        return key in self._rejected or key in self._broken

    def get(self, key: str) -> QueuedEntity | None:
        """The pod under a key."""
        return self._rejected.get(key) or self._broken.get(key)

    def push(self, queued: QueuedEntity) -> None:
        """Add a pod that is not here."""
        self._heap_for(queued).push(queued)

    def update(self, queued: QueuedEntity) -> None:
        """Put a pod of this queue where it now belongs."""
        self._heap_for(queued).update(queued)

    def remove(self, key: str) -> QueuedEntity | None:
        """Take a pod out. None if it is not here."""
        return self._rejected.remove(key) or self._broken.remove(key)

    def pop_rejected(self) -> QueuedEntity | None:
        """Take `peek_rejected`."""
        queued = self.peek_rejected()
        if queued is not None:
            self._rejected.remove(queued.key)
            queued.taken_early_at = self._now()
        return queued

    def peek_rejected(self) -> QueuedEntity | None:
        """The rejected pod that an idle scheduler tries next, even if its back-off has not ended: the first by that.

        Nobody is taken so twice at one moment. kube-scheduler's attempts take time, and over virtual time one that
        wakes its own pod by failing would be made for ever.
        """
        first = self._rejected.peek()
        if first is None or first.taken_early_at != (now := self._now()):
            return first
        return next((queued for queued in self._rejected if queued.taken_early_at != now), None)

    def pop_completed(self) -> QueuedEntity | None:
        """Take a pod whose back-off is over: rejected ones first, in the order they may be tried."""
        for heap in (self._rejected, self._broken):
            first = heap.peek()
            if first is not None and not self.is_backing_off(first):
                return heap.pop()
        return None

    @property
    def has_rejected(self) -> bool:
        """Whether an idle scheduler would find a pod here."""
        return self.peek_rejected() is not None

    def next_completion(self) -> float | None:
        """The first full second at which some pod's back-off is over. None when no pod is here."""
        firsts = [first for heap in (self._rejected, self._broken) if (first := heap.peek()) is not None]
        return math.floor(min(self.expiry(first) for first in firsts)) + 1 if firsts else None

    def is_backing_off(self, queued: QueuedEntity) -> bool:
        """Whether the pod must wait; the second in which its back-off ends still counts."""
        return self.expiry(queued) >= self._aligned(self._now())

    def expiry(self, queued: QueuedEntity) -> float:
        """The whole second in which the pod's back-off ends; minus infinity for one that has none."""
        failures = queued.consecutive_errors or queued.unschedulable_count
        if not failures or not self._maximum:
            return -math.inf
        if queued.backoff_expiry is None:
            seconds = self.duration(failures, len(queued.members))
            if self._least is not None:
                seconds = max(seconds, self._least(queued))
            queued.backoff_expiry = self._aligned(queued.timestamp + seconds)
        return queued.backoff_expiry

    def duration(self, failures: int, pods: int = 1) -> float:
        """The back-off after so many failures: doubled each time, up to the maximum, which grows with a group."""
        return min(self._maximum * math.sqrt(pods), self._initial * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))

    def entities(self) -> list[QueuedEntity]:
        """Every pod here: rejected ones, then broken ones, each in order."""
        return [*self._rejected, *self._broken]

    def _aligned(self, moment: float) -> float:
        return math.floor(moment) if self._by_second else moment

    def _heap_for(self, queued: QueuedEntity) -> PodHeap:
        return self._rejected if queued.rejecting_plugins else self._broken
