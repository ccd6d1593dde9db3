"""The pace of a live scheduler: attempt after attempt while there is something to try, and turns for others between.

Informers, answers to requests and health checks get their turn after every slice; back-off ends at full seconds.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Final

from moorage.attempt.scheduling import Attempts
from moorage.attempt.underway import UnderWay

SLICE: Final = 0.002
"""Seconds the loop keeps deciding before it lets others run."""

MOST_WRITING: Final = 256
"""Bindings whose request is not answered yet, beyond which no pod is decided: what comes later may be more urgent, and
a decision taken late is taken on what is then known."""


class Wakening:
    """Whether the loop may have something to do."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.wake: Callable[[], None] = self._event.set

    def clear(self) -> None:
        """From now on only what comes counts."""
        self._event.clear()

    async def wait(self, seconds: float | None) -> None:
        """Until woken, or for so many seconds."""
        if seconds is None:
            await self._event.wait()
            return
        timer = asyncio.get_running_loop().call_later(max(seconds, 0.0), self.wake)
        try:
            await self._event.wait()
        finally:
            timer.cancel()


class SchedulingLoop:
    """Runs attempts while the queue has something to give, and ticks when the queue wants it."""

    def __init__(
        self,
        *,
        attempts: Attempts,
        under_way: UnderWay,
        wakening: Wakening,
        now: Callable[[], float],
    ) -> None:
        self._attempts = attempts
        self._under_way = under_way
        self._wakening = wakening
        self._now = now

    def wake(self) -> None:
        """There may be something to do."""
        self._wakening.wake()

    async def run(self) -> None:
        """Schedule until cancelled. A cancellation falls between two attempts, never into one."""
        while True:
            self._wakening.clear()
            tick = self._attempts.next_tick
            if tick is not None and tick <= self._now():
                self._attempts.tick()
                tick = self._attempts.next_tick
            if self._under_way.writing < MOST_WRITING and self._attempts.has_next:
                self._run_slice()
                await asyncio.sleep(0)
            else:
                await self._wakening.wait(None if tick is None else tick - self._now())

    def _run_slice(self) -> None:
        end = perf_counter() + SLICE
        while self._attempts.run_next():
            if perf_counter() >= end:
                return
