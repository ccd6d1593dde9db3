"""The places in which something waits: active, backing off, or unschedulable, which gated ones are, too."""

from collections.abc import Callable

from moorage.queue.active import ActiveQueue
from moorage.queue.backoff import BackoffQueue
from moorage.queue.gating import Gates
from moorage.queue.hints import Requeue
from moorage.queue.moves import QueueCounts
from moorage.queue.record import Place, QueuedEntity, QueuedGroup, QueuedPod
from moorage.queue.unschedulable import UnschedulablePods


class Places:
    """Moves entities between the places. Each is in one of them at most; in none while it is in flight.

    `last_event` tells the number of the last event: what enters `unschedulable` is concerned by later ones only.
    """

    def __init__(
        self,
        *,
        active: ActiveQueue,
        backoff: BackoffQueue,
        unschedulable: UnschedulablePods,
        gates: Gates,
        counts: QueueCounts,
        now: Callable[[], float],
        last_event: Callable[[], int],
        gates_first: bool = True,
    ) -> None:
        """`gates_first`: gates are asked on the way into back-off, and not on the way from there; else the opposite."""
        self.active = active
        self.backoff = backoff
        self.unschedulable = unschedulable
        self._gates = gates
        self._counts = counts
        self._now = now
        self._last_event = last_event
        self._gates_first = gates_first

    def __contains__(self, key: str) -> bool:
        return key in self.active or key in self.backoff or key in self.unschedulable

    def find(self, key: str) -> tuple[Place, QueuedEntity] | None:
        """Something queued, and where. None for what is in flight, and for what is not known."""
        if (queued := self.active.get(key)) is not None:
            return Place.ACTIVE, queued
        if (queued := self.backoff.get(key)) is not None:
            return Place.BACKOFF, queued
        if (queued := self.unschedulable.get(key)) is not None:
            return _waiting_place(queued), queued
        return None

    def all(self) -> list[tuple[Place, QueuedEntity]]:
        """Everything queued, and where: ready ones in the order they will be popped, then the others."""
        return [
            *((Place.ACTIVE, queued) for queued in self.active),
            *((Place.BACKOFF, queued) for queued in self.backoff.entities()),
            *((_waiting_place(queued), queued) for queued in self.unschedulable),
        ]

    def take(self, key: str) -> tuple[QueuedEntity, Requeue] | None:
        """Take something out, with the verdict that puts it back where it was."""
        if (queued := self.active.remove(key)) is not None:
            return queued, Requeue.IMMEDIATELY
        if (queued := self.backoff.remove(key)) is not None:
            return queued, Requeue.AFTER_BACKOFF
        if (queued := self.unschedulable.remove(key)) is not None:
            return queued, Requeue.SKIP
        return None

    def remove(self, key: str) -> QueuedEntity | None:
        """Take something out for good."""
        taken = self.take(key)
        if taken is None:
            return None
        self._counts.left(taken[0])
        return taken[0]

    def requeue(self, queued: QueuedEntity, verdict: Requeue, label: str) -> Place:
        """Put what is in no queue where the verdict sends it."""
        if verdict is Requeue.SKIP:
            return self._enter_unschedulable(queued, label)
        if verdict is Requeue.AFTER_BACKOFF and self.backoff.is_backing_off(queued):
            return self.admit_backoff(queued, label)
        return self.admit_active(queued, label)

    def admit_active(self, queued: QueuedEntity, label: str) -> Place:
        """Make it ready to be tried, gates permitting."""
        if not self._gates.admit(queued):
            return self._enter_unschedulable(queued, label)
        self.enter_active(queued, label)
        return Place.ACTIVE

    def admit_backoff(self, queued: QueuedEntity, label: str) -> Place:
        """Let it wait until its back-off is over, gates permitting."""
        if self._gates_first and not self._gates.admit(queued):
            return self._enter_unschedulable(queued, label)
        self.backoff.push(queued)
        self._counts.entered(Place.BACKOFF, label)
        return Place.BACKOFF

    def put_back(self, queued: QueuedGroup, joined: QueuedPod, label: str) -> None:
        """Make a group ready again that was, and that a pod has joined, gates permitting."""
        if self._gates.admit_joined(queued, joined):
            self.active.push(queued)
        else:
            self._enter_unschedulable(queued, label)

    def join_gated(self, key: str, joins: QueuedPod, label: str) -> bool:
        """Let a pod join a group that is gated, and goes on to be. False, and nothing done, where it is not."""
        queued = self.unschedulable.get(key)
        if not isinstance(queued, QueuedGroup) or not self._gates.keeps_out(queued):
            return False
        queued.add(joins)
        self._counts.entered(Place.GATED, label)
        return True

    def leave_backoff(self, queued: QueuedEntity, label: str) -> Place:
        """Make ready to be tried what comes from back-off."""
        if not self._gates_first:
            return self.admit_active(queued, label)
        self.enter_active(queued, label)
        return Place.ACTIVE

    def enter_active(self, queued: QueuedEntity, label: str) -> None:
        """Make it ready to be tried: no gate is asked."""
        if queued.initial_attempt_timestamp is None:
            queued.initial_attempt_timestamp = self._now()
        self.active.push(queued)
        self._counts.entered(Place.ACTIVE, label)

    def _enter_unschedulable(self, queued: QueuedEntity, label: str) -> Place:
        self.unschedulable.add(queued, self._last_event())
        place = _waiting_place(queued)
        self._counts.entered(place, label)
        return place


def _waiting_place(queued: QueuedEntity) -> Place:
    return Place.GATED if queued.is_gated else Place.UNSCHEDULABLE
