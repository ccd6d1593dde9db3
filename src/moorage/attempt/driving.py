"""Driving a scheduler over virtual time: attempt after attempt, the jobs between them, then on to the next moment."""

from collections.abc import Callable

from moorage.attempt.core import SchedulerCore
from moorage.attempt.virtual import VirtualTime


class Driver:
    """Drives a core whose world lives on `time`. `deliver` tells the core what has changed in the cluster, and answers
    whether anything had; it is called whenever no job can go on."""

    def __init__(self, core: SchedulerCore, time: VirtualTime, *, deliver: Callable[[], bool] = lambda: False) -> None:
        self._core = core
        self._time = time
        self._deliver = deliver

    def settle(self) -> None:
        """Schedule as long as there is something to try at this moment, each attempt as far as it gets."""
        self._rest()
        while self._core.attempts.run_next():
            self._rest()

    def advance(self, seconds: float) -> None:
        """Let so much time pass: timers, ticks, and what they let go on."""
        end = self._time.now + seconds
        self.settle()
        while (moment := self._next_moment()) is not None and moment <= end:
            self._time.advance(max(0.0, moment - self._time.now))
            tick = self._core.attempts.next_tick
            if tick is not None and tick <= self._time.now:
                self._core.attempts.tick()
            self.settle()
        self._time.advance(end - self._time.now)

    def _rest(self) -> None:
        """Until no job can go on and nothing is left to be told."""
        self._time.run()
        while self._deliver():
            self._time.run()

    def _next_moment(self) -> float | None:
        moments = (self._core.attempts.next_tick, self._time.next_timer)
        return min((moment for moment in moments if moment is not None), default=None)
