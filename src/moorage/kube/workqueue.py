"""A queue of keys to work on: each key at most once in it, never worked on twice at once, later after failures."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from moorage.errors import ApiError
from moorage.kube.backoff import Backoff
from moorage.kube.errors import Conflict, StatusError

logger = logging.getLogger(__name__)

FIRST_DELAY, LONGEST_DELAY = 0.05, 60.0
"""Seconds before a key that failed is tried again: at first, and at most."""

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """Keys that want attention. What is added while it is worked on comes again afterwards.

    `name` says in the log whose work failed.
    """

    def __init__(self, name: str, *, first_delay: float = FIRST_DELAY, longest_delay: float = LONGEST_DELAY) -> None:
        self.name = name
        self._delays = first_delay, longest_delay
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._queued: set[K] = set()
        self._active: set[K] = set()
        self._again: set[K] = set()
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._backoffs: dict[K, Backoff] = {}

    def __len__(self) -> int:
        return len(self._queued)

    def add(self, key: K) -> None:
        """Have the key worked on soon."""
        if key in self._active:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Have the key worked on in so many seconds, or sooner if that was asked for before."""
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        earlier = self._later.get(key)
        if earlier is not None:
            if earlier.when() <= when:
                return
            earlier.cancel()
        self._later[key] = loop.call_at(when, self._is_time, key)

    async def run(self, work: Callable[[K], Awaitable[float | None]], *, workers: int) -> None:
        """Work on keys until cancelled. `work` may return after how many seconds it wants to see the key again.

        A key whose work fails is tried again, less and less often; an exception other than ApiError is a bug of that
        work, and is logged with its trace.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(workers):
                    group.create_task(self._work(work), name=f"{self.name} {number}")
        finally:
            for timer in self._later.values():
                timer.cancel()
            self._later.clear()

    async def _work(self, work: Callable[[K], Awaitable[float | None]]) -> None:
        while True:
            key = await self._ready.get()
            self._queued.discard(key)
            self._active.add(key)
            try:
                again_after = await work(key)
            except ApiError as error:
                self._failed(key, error)
            except Exception as error:
                logger.exception("%s: %s: a bug", self.name, key)
                self._failed(key, error)
            else:
                self._backoffs.pop(key, None)
                if again_after is not None:
                    self.add_after(key, again_after)
            finally:
                self._active.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)
            # Work that never waited must not keep everybody else from theirs.
            await asyncio.sleep(0)

    def _failed(self, key: K, error: Exception) -> None:
        if isinstance(error, Conflict):
            # Somebody was faster. What they did is on its way to us.
            logger.debug("%s: %s: %s", self.name, key, error)
        elif isinstance(error, ApiError):
            logger.warning("%s: %s: %s", self.name, key, error)
        backoff = self._backoffs.get(key)
        if backoff is None:
            backoff = self._backoffs[key] = Backoff(*self._delays)
        self.add_after(key, backoff.next(error.retry_after if isinstance(error, StatusError) else None))

    def _is_time(self, key: K) -> None:
        del self._later[key]
        self.add(key)
