"""The pods that are being scheduled, and what happened meanwhile.

A pod that comes back rejected must not sleep through an event that arrived while it was being looked at. So events
are recorded as long as any pod is in flight, and replayed for each pod that returns.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from itertools import islice
from typing import Final

from moorage.columns import PodInfo
from moorage.queue.moves import POD_POPPED, ObjectEvent, event_label

#: A pod can be in flight for minutes (Permit): beyond this many events the oldest are dropped, and pods that would
#: have wanted them are taken to have been woken.
MAX_EVENTS: Final = 10_000


class InFlightPods:
    """Pods between pop and done, in order of departure, each with the place in the log where its events begin."""

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._max_events = max_events
        self._departures: OrderedDict[str, tuple[int, PodInfo]] = OrderedDict()
        self._events: deque[ObjectEvent] = deque()
        #: How many events have left the log, ever: the number of the first one in it.
        self._first = 0

    def __len__(self) -> int:
        return len(self._departures)

    def __contains__(self, uid: str) -> bool:
        return uid in self._departures

    def depart(self, pod: PodInfo) -> None:
        """The pod is being scheduled from now on."""
        self._departures[pod.uid] = (self._first + len(self._events), pod)

    def record(self, happened: ObjectEvent) -> None:
        """Remember an event for the pods that are in flight; there is nothing to remember when none is."""
        if not self._departures:
            return
        self._events.append(happened)
        if len(self._events) > self._max_events:
            self._events.popleft()
            self._first += 1

    def events_since_departure(self, uid: str) -> Iterator[ObjectEvent] | None:
        """What happened while the pod was in flight. None if that is not known in full."""
        departure = self._departures.get(uid)
        if departure is None or departure[0] < self._first:
            return None
        return islice(self._events, departure[0] - self._first, None)

    def done(self, uid: str) -> None:
        """The pod is bound, gone or back in the queue. Events that nobody else waits for are dropped."""
        if self._departures.pop(uid, None) is None:
            return
        if not self._departures:
            self._first += len(self._events)
            self._events.clear()
            return
        oldest, _ = next(iter(self._departures.values()))
        while self._first < oldest:
            self._events.popleft()
            self._first += 1

    def pods(self) -> list[PodInfo]:
        """The pods in flight, in order of departure."""
        return [pod for _, pod in self._departures.values()]

    def counts(self) -> Counter[str]:
        """The recorded events by label, and the pods in flight under PodPopped."""
        counts = Counter(event_label(happened.event) for happened in self._events)
        counts[POD_POPPED] = len(self._departures)
        return counts
