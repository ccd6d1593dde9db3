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
"""Seconds the loop keeps deciding, and again asking hints, before it lets others run."""

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
                self._attempts.tick(_slice())
                tick = self._attempts.next_tick
            decides = self._under_way.writing < MOST_WRITING and self._attempts.has_next
            if decides:
                is_over = _slice()
                while self._attempts.run_next(is_over) and not is_over():
                    pass
            if self._attempts.has_work:
                # Beside deciding, so that neither of them waits for the other.
                self._attempts.work(_slice())
            elif not decides:
                await self._wakening.wait(None if tick is None else tick - self._now())
                continue
            await asyncio.sleep(0)


def _slice() -> Callable[[], bool]:
    """Says when a slice that begins now is over."""
    end = perf_counter() + SLICE
    return lambda: perf_counter() >= end
