"""Events for people: what happened to an object, as events.k8s.io/v1 objects.

Recording never waits and never fails: an event goes into a bounded queue and is written when the lanes have time for
it. The same event again becomes a series with a count, written less and less often; an object that causes many
different ones is cut short. What does not fit is dropped and counted: events are best effort in all of Kubernetes.
"""

import asyncio
import logging
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from moorage.errors import ApiError
from moorage.kube.errors import NotFound
from moorage.kube.gate import Lane, TokenBucket
from moorage.kube.lanes import Lanes
from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH
from moorage.objects import KubeObject, ObjectReference
from moorage.values.time import format_micro_time

logger = logging.getLogger(__name__)

_EVENTS = resource_of("Event")

NORMAL, WARNING = "Normal", "Warning"
NOTE_LIMIT = 1024
"""Characters of a note that the API server takes."""

SERIES_LIFETIME = 360.0
"""Seconds of silence after which the same event begins a new series."""
FIRST_REFRESH, LAST_REFRESH = 5.0, 600.0
"""Seconds between two writes of one series' count, doubling."""
TICK = 1.0

MOST_REMEMBERED = 4096
"""How many series, and how many objects, are kept in mind."""

OBJECT_BURST, OBJECT_REFILL = 25, 1 / 300
"""How many different events one object may cause at once, and how many a second after that."""

NEWCOMERS, NEWCOMERS_REFILL = 1000, 50.0
"""How many events may begin a series at once, and how many a second after that, while more of them repeat than can be
kept in mind: each pushes out one that is still told, and would begin anew the next time."""

_Kept = TypeVar("_Kept")
_Value = TypeVar("_Value")
_Key = tuple[ObjectReference, ObjectReference | None, str, str, str, str]


@dataclass(slots=True)
class _Series:
    """One event that may repeat."""

    name: str
    namespace: str
    body: dict[str, Any]
    count: int
    seen_at: float
    last_observed: str
    write_at: float
    refresh: float = FIRST_REFRESH


def reference_to(item: KubeObject) -> ObjectReference:
    """What an event says of the object it is about."""
    meta = item.metadata
    return ObjectReference(
        api_version=item.API_VERSION,
        kind=item.KIND,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )


class EventRecorder:
    """Records events as one reporting controller. Call `record` freely; `run` writes, until cancelled."""

    def __init__(
        self,
        lanes: Lanes,
        *,
        controller: str,
        instance: str = "",
        capacity: int = 2000,
        writers: int = 8,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.dropped = 0
        """Events that were not written for want of room or because their object caused too many."""
        self._lanes = lanes
        self._controller = controller
        self._instance = (instance or f"{controller}-{socket.gethostname()}")[:128]
        self._most_remembered = min(2 * capacity, MOST_REMEMBERED)
        self._writers = writers
        self._clock = clock
        self._queue: asyncio.Queue[_Series] = asyncio.Queue(capacity)
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._repeated: dict[str, _Series] = {}
        self._newcomers = TokenBucket(NEWCOMERS_REFILL, NEWCOMERS, clock=clock)
        self._buckets: OrderedDict[ObjectReference, TokenBucket] = OrderedDict()
        self._stamp = 0

    def record(
        self,
        regarding: ObjectReference,
        *,
        reason: str,
        action: str,
        note: str,
        type: str = NORMAL,  # noqa: A002 - the API's own name for it
        related: ObjectReference | None = None,
        repeats: bool = True,
    ) -> None:
        """Note that something happened to `regarding`. Returns at once.

        What happens once to an object (`repeats` False) begins no series and is not limited for each object.
        """
        note = note if len(note) <= NOTE_LIMIT else note[: NOTE_LIMIT - 3] + "..."
        if not repeats:
            if self._queue.full():
                self.dropped += 1
            else:
                self._queue.put_nowait(self._new_series(regarding, related, type, reason, action, note))
            return
        now = self._clock()
        # The same object later is still the same object.
        subject = replace(regarding, resource_version="") if regarding.resource_version else regarding
        key = subject, related, type, reason, action, note
        series = self._series.get(key)
        if series is not None and now - series.seen_at < SERIES_LIFETIME:
            series.count += 1
            series.seen_at, series.last_observed = now, format_micro_time(time.time())
            self._series.move_to_end(key)
            self._repeated[series.name] = series
            return
        if self._queue.full() or not self._may_begin(now) or self._bucket(subject).take() > 0.0:
            self.dropped += 1
            return
        series = self._new_series(regarding, related, type, reason, action, note)
        for forgotten in self._remember(self._series, key, series):
            # Its count is written no more: where so many repeat, nobody reads each one's.
            self._repeated.pop(forgotten.name, None)
        self._queue.put_nowait(series)

    async def run(self) -> None:
        """Write what is recorded, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._writers):
                group.create_task(self._write_queued())
            group.create_task(self._refresh_series())

    async def drain(self) -> None:
        """Wait until everything recorded so far has been written or given up; put a deadline round it."""
        await self._queue.join()

    def _new_series(
        self,
        regarding: ObjectReference,
        related: ObjectReference | None,
        event_type: str,
        reason: str,
        action: str,
        note: str,
    ) -> _Series:
        # Names are unique by time; two in one instant take the next.
        self._stamp = max(self._stamp + 1, time.time_ns())
        name = f"{regarding.name[:236]}.{self._stamp:x}"
        namespace = regarding.namespace or "default"
        now = format_micro_time(time.time())
        body: dict[str, Any] = {
            "apiVersion": _EVENTS.api_version,
            "kind": _EVENTS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": now,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": regarding,
            "note": note,
            "type": event_type,
        }
        if related is not None:
            body["related"] = related
        at = self._clock()
        return _Series(name, namespace, body, 1, at, now, at + FIRST_REFRESH)

    def _may_begin(self, now: float) -> bool:
        """Whether there is room for one more series, or few enough push others out."""
        if len(self._series) < self._most_remembered:
            return True
        oldest = next(iter(self._series.values()))
        return now - oldest.seen_at >= SERIES_LIFETIME or self._newcomers.take() == 0.0

    def _bucket(self, regarding: ObjectReference) -> TokenBucket:
        bucket = self._buckets.get(regarding)
        if bucket is None:
            bucket = TokenBucket(OBJECT_REFILL, OBJECT_BURST, clock=self._clock)
            self._remember(self._buckets, regarding, bucket)
        return bucket

    def _remember(self, table: OrderedDict[_Kept, _Value], key: _Kept, value: _Value) -> list[_Value]:
        """Keep what was used last; forgetting the rest, which is returned, only costs a few more events."""
        table[key] = value
        table.move_to_end(key)
        return [table.popitem(last=False)[1] for _ in range(len(table) - self._most_remembered)]

    async def _write_queued(self) -> None:
        while True:
            series = await self._queue.get()
            try:
                await self._lanes.create_event(series.namespace, msgspec.json.encode(series.body))
            except ApiError as error:
                logger.info("event %s/%s was not written: %s", series.namespace, series.name, error)
            finally:
                self._queue.task_done()

    async def _refresh_series(self) -> None:
        """Write the counts that have grown, each series less and less often."""
        while True:
            await asyncio.sleep(TICK)
            now = self._clock()
            for series in [series for series in self._repeated.values() if series.write_at <= now]:
                if self._repeated.pop(series.name, None) is None:
                    continue  # forgotten while we were writing others
                series.refresh = min(series.refresh * 2, LAST_REFRESH)
                series.write_at = now + series.refresh
                await self._write_count(series)

    async def _write_count(self, series: _Series) -> None:
        count = {"series": {"count": series.count, "lastObservedTime": series.last_observed}}
        try:
            await self._lanes.patch(
                _EVENTS,
                msgspec.json.encode(count),
                name=series.name,
                namespace=series.namespace,
                subresource="",
                content_type=MERGE_PATCH,
                lane=Lane.EVENT,
            )
        except NotFound:
            # The server forgets events after an hour: make it again, with what has been counted.
            series.body = {**series.body, **count}
            if not self._queue.full():
                self._queue.put_nowait(series)
        except ApiError as error:
            logger.info("the count of event %s/%s was not written: %s", series.namespace, series.name, error)
