"""How many attempts one extender is asked about at once: as many as it answers in time.

kube-scheduler asks one question at a time, and extenders are written for that: some serve one caller after the other,
and whoever comes last waits for all. Asked as much as we like they would answer late, then not at all, about pods that
nobody waits for any more. So this begins with a few, adds one for each answer that shows that there is room for more,
and takes half away when one does not come in time while others do.
"""

import logging
import math
from dataclasses import dataclass
from typing import Final

logger = logging.getLogger(__name__)

FIRST: Final = 8
"""Attempts at once to begin with."""

QUICK: Final = 0.25
"""An answer is quick that takes no more than this part of the time it is given."""

ALIKE: Final = 1.5
"""One that took no more than so many times what the quickest took did not wait for others."""

NEARLY: Final = 0.95
"""What breaks after this part of its time has broken for that."""

PROBATION: Final = 60.0
"""Seconds after which more is tried again than went well; twice as many after each time it does not."""

_LONGEST_PROBATION: Final = 16 * PROBATION


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is out: since when, beside how many others, whether as the last, and after how many answers."""

    at: float
    beside: int
    is_last: bool
    answered: int


class Pace:
    """What one extender is up to. `patience` is the time it has for an answer, in seconds."""

    def __init__(self, name: str, most: int, patience: float) -> None:
        self._name = name
        self._most = self._ceiling = most
        self._patience = patience
        #: How many may be out at once.
        self.size = min(FIRST, most)
        self._quickest = math.inf
        self._answered = 0
        self._slowed_at = self._retry_at = -math.inf
        self._probation = PROBATION

    def ask(self, now: float, beside: int) -> Asked:
        """A question goes out, while so many others are."""
        return Asked(now, beside, beside + 1 >= self.size, self._answered)

    def hear(self, asked: Asked, now: float, *, is_broken: bool) -> None:
        """It has ended. What breaks before its time says nothing about the pace."""
        seconds = now - asked.at
        if not is_broken:
            self._came(asked, seconds, now)
        elif seconds >= NEARLY * self._patience:
            self._missed(asked, now)

    def _came(self, asked: Asked, seconds: float, now: float) -> None:
        self._answered += 1
        self._quickest = seconds if self.size == 1 else min(self._quickest, seconds)
        did_not_wait = seconds <= QUICK * self._patience or (asked.beside and seconds <= ALIKE * self._quickest)
        if asked.is_last and (did_not_wait or self.size == 1):
            if self._ceiling < self._most and now >= self._retry_at:
                self._ceiling, self._retry_at = min(self._ceiling * 2, self._most), now + self._probation
            self.size = min(self.size + 1, self._ceiling)

    def _missed(self, asked: Asked, now: float) -> None:
        """No answer in time. If others were answered meanwhile it was one too many; else nobody is there to answer."""
        others = self._answered - asked.answered
        if not others:
            return
        half = self.size // 2 if asked.at >= self._slowed_at else self.size  # once for all that were out then
        size = max(min(half, others), 1)
        if size < self.size:
            logger.info("extender %s: %d pods are asked about at once, not %d", self._name, size, self.size)
            self.size = self._ceiling = size
            self._slowed_at, self._retry_at = now, now + self._probation
            self._probation = min(self._probation * 2, _LONGEST_PROBATION)
