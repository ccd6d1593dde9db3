"""How long to wait before the next try."""

import random

_SHARED_RNG = random.Random()


class Backoff:
    """Delays that double from `base` to `cap` seconds, each drawn between half and the whole of its step.

    The spread keeps many clients from coming back in step after an outage.
    """

    def __init__(self, base: float, cap: float, *, rng: random.Random | None = None) -> None:
        self._base = base
        self._cap = cap
        self._step = base
        self._rng = rng or _SHARED_RNG

    def next(self, at_least: float | None = None) -> float:
        """The delay before the next try; `at_least` is what the server asked for (Retry-After)."""
        delay = self._step * self._rng.uniform(0.5, 1.0)
        self._step = min(self._step * 2, self._cap)
        return delay if at_least is None else max(delay, at_least)

    def reset(self) -> None:
        """Things work again: start from `base` the next time."""
        self._step = self._base
