"""Which pods an event may help: asked of the plugins that hold them, at once or bit by bit.

A busy cluster makes events faster than twenty thousand waiting pods can be asked about. So an event is put down with a
number, and the asking may be done in slices, pods of high priority first. A pod is asked about the events that came
while it waited here, in their order, until one of them wakes it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from moorage.columns import PodInfo
from moorage.queue.hints import HintBook, Requeue
from moorage.queue.moves import ObjectEvent
from moorage.queue.record import QueuedEntity
from moorage.queue.unschedulable import AlikePods, Holder, UnschedulablePods

#: Says that time is up.
Stop = Callable[[], bool]

#: Events put down beyond which the oldest are forgotten: whoever they may have helped is taken to have been helped.
MOST_PUT_DOWN: Final = 20_000

#: Pods woken between two looks at the clock.
_WAKES_A_LOOK: Final = 32


class _PutDown(NamedTuple):
    """An event to be asked about."""

    number: int
    happened: ObjectEvent
    holders: frozenset[Holder]
    only: Callable[[PodInfo], bool] | None


def never() -> bool:
    """For `stop`: there is all the time it takes."""
    return False


class Asking:
    """Puts events down and asks. `wake` takes a pod out of `waiting`: it is told which event woke it, and how."""

    def __init__(
        self,
        waiting: UnschedulablePods,
        hints: HintBook,
        wake: Callable[[QueuedEntity, ObjectEvent, Requeue], bool],
        most: int = MOST_PUT_DOWN,
    ) -> None:
        self._waiting = waiting
        self._hints = hints
        self._wake = wake
        self._most = most
        #: The number of the last event.
        self.number = 0
        #: The number of the last event that was forgotten unasked.
        self._forgotten = 0
        self._events: list[_PutDown] = []
        #: priority -> plugins that hold pods of it and were not asked about every event
        self._behind: dict[int, dict[Holder, None]] = {}
        self._woken = 0

    @property
    def highest(self) -> int | None:
        """The highest priority of a pod that may have an event not asked about; None where there is none."""
        return max(self._behind, default=None)

    def put_down(
        self, happened: ObjectEvent, holders: tuple[Holder, ...], only: Callable[[PodInfo], bool] | None
    ) -> None:
        """An event that concerns these plugins."""
        self.number += 1
        if not len(self._waiting):
            return
        concerned = [(holder, priorities) for holder in holders if (priorities := self._waiting.priorities(holder))]
        if not concerned:
            return
        self._events.append(_PutDown(self.number, happened, frozenset(holders), only))
        if len(self._events) > self._most:
            half = self._most // 2
            self._forgotten = self._events[half].number
            del self._events[: half + 1]
        for holder, priorities in concerned:
            for priority in priorities:
                self._behind.setdefault(priority, {})[holder] = None

    def ask(self, stop: Stop = never, *, above: int | None = None) -> int:
        """Ask, pods of the highest priority first, until `stop` says so; answers how many were woken.

        With `above`, only pods of a higher priority than that.
        """
        before = self._woken
        while (priority := self.highest) is not None and (above is None or priority > above):
            holder = self._take_behind(priority)
            if not self._ask_plugin(holder, priority, stop):
                self._behind.setdefault(priority, {})[holder] = None
                break
        if not self._behind:
            self._events.clear()
            self._forgotten = 0
        return self._woken - before

    def settle(self, queued: QueuedEntity, after: int = 0) -> bool:
        """Ask about this pod alone, and every event since it came, of those after a number. Whether that woke it."""
        holders = self._waiting.holders(queued.key)
        for event in self._since(max(queued.entered, after)):
            if event.holders.isdisjoint(holders) or (
                event.only is not None and not any(event.only(member.pod) for member in queued.members)
            ):
                continue
            verdict = self._hints.judge(queued, event.happened)
            if verdict is not Requeue.SKIP and self._waiting.get(queued.key) is queued:
                self._wake(queued, event.happened, verdict)
                return True
        return False

    def _take_behind(self, priority: int) -> Holder:
        holders = self._behind[priority]
        holder = next(iter(holders))
        del holders[holder]
        if not holders:
            del self._behind[priority]
        return holder

    def _ask_plugin(self, holder: Holder, priority: int, stop: Stop) -> bool:
        """Whether there was time for all that the plugin holds of this priority."""
        for alike in self._waiting.alike(holder, priority):
            if alike.asked < self.number and not self._ask_about(alike, stop):
                return False
        return True

    def _ask_about(self, alike: AlikePods, stop: Stop) -> bool:
        """Whether there was time for every event."""
        for event in self._since(alike.asked):
            if stop():
                return False
            if alike.holder in event.holders and not self._ask_event(alike, event, stop):
                return False
            alike.asked = event.number
            if not alike.pods:
                break
        alike.asked = self.number
        return True

    def _ask_event(self, alike: AlikePods, event: _PutDown, stop: Stop) -> bool:
        """Whether there was time for every pod."""
        first = next(_concerned(alike, event), None)
        if first is None:
            return True
        verdict = self._verdict(alike, first, event)
        if verdict is Requeue.SKIP:
            return True
        for place, queued in enumerate(list(_concerned(alike, event))):
            if place % _WAKES_A_LOOK == _WAKES_A_LOOK - 1 and stop():
                return False
            # A plugin that is asked may activate other pods, so that they are here no more.
            if alike.pods.get(queued.key) is queued:
                self._woken += self._wake(queued, event.happened, verdict)
        return True

    def _verdict(self, alike: AlikePods, one: QueuedEntity, event: _PutDown) -> Requeue:
        if alike.asked < self._forgotten:
            return Requeue.AFTER_BACKOFF
        if alike.is_single:
            return self._hints.judge(one, event.happened)
        says_queue = self._hints.ask(alike.holder, one.pod, event.happened)
        return Requeue.AFTER_BACKOFF if says_queue else Requeue.SKIP

    def _since(self, number: int) -> Iterator[_PutDown]:
        """The events after that one, as far as they are still known."""
        events = self._events
        for place in range(bisect_right(events, number, key=_number), len(events)):
            yield events[place]


def _number(event: _PutDown) -> int:
    return event.number


def _concerned(alike: AlikePods, event: _PutDown) -> Iterator[QueuedEntity]:
    """The pods that waited here when the event came: the first ones, as they stand in order of arrival."""
    for queued in alike.pods.values():
        if queued.entered >= event.number:
            return
        if event.only is None or any(event.only(member.pod) for member in queued.members):
            yield queued
