"""A breaker: what failed several times in a row is left alone for a while, and then tried with one request."""

from collections.abc import Callable
from typing import Final

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0


class Breaker:
    """Opens after `failures` in a row (0: never); each try that fails while it is open doubles the pause."""

    def __init__(self, failures: int, now: Callable[[], float]) -> None:
        self._limit = failures
        self._now = now
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._closed_until = 0.0
        self._trying = False
        #: What went wrong last.
        self.last_problem = ""

    @property
    def is_open(self) -> bool:
        """Whether it stands open: nobody is let through but one who tries."""
        return 0 < self._limit <= self._failures

    @property
    def seconds_left(self) -> float:
        """How long nobody is let through."""
        return max(self._closed_until - self._now(), 0.0) if self.is_open else 0.0

    def admit(self) -> bool:
        """Whether to go on. After True, `succeeded`, `failed` or `abandoned` must follow."""
        if not self.is_open:
            return True
        if self._trying or self.seconds_left > 0:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        """It works."""
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._trying = False

    def failed(self, problem: str) -> None:
        """It does not. What was let through before it opened, and fails after, changes nothing more."""
        was_open, was_trying = self.is_open, self._trying
        self.last_problem = problem
        self._failures += 1
        self._trying = False
        if not self.is_open or (was_open and not was_trying):
            return
        if was_open:
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self._closed_until = self._now() + self._pause

    def abandoned(self) -> None:
        """Nobody waits for the answer any more: nothing was learnt."""
        self._trying = False
