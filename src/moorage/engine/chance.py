"""Chance as plugins draw it: within a cycle it comes from the attempt's own seed, and leaves no trace behind."""

from random import Random
from typing import Any


class CycleRandom(Random):
    """A random source that a cycle borrows: the draws within depend on the cycle's seed alone, those outside do not
    notice. So a decision that is only asked for changes nothing, and one taken again draws the same.
    """

    _pending: int | None = None
    _outside: tuple[Any, ...] | None = None

    def enter(self, seed: int) -> None:
        """A cycle begins. Costs nothing as long as nobody draws."""
        self._pending = seed

    def leave(self) -> None:
        """The cycle is over."""
        self._pending = None
        if self._outside is not None:
            self.setstate(self._outside)
            self._outside = None

    def random(self) -> float:
        """The next number in [0, 1)."""
        self._settle()
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """The next k bits."""
        self._settle()
        return super().getrandbits(k)

    def _settle(self) -> None:
        if self._pending is not None:
            seed, self._pending = self._pending, None
            self._outside = self.getstate()
            self.seed(seed)
