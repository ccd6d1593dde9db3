"""What a plugin counts for the metrics of the process."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class PluginCounter:
    """A counter of a plugin's own. `values` go by label values and are read when somebody asks."""

    name: str
    text: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], int]


class Observations:
    """How a quantity is distributed."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        #: How many fell into each bucket, not cumulated; the last is for what exceeds every bound.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


@dataclass(frozen=True, slots=True)
class PluginHistogram:
    """A distribution of a plugin's own, by the upper bounds of its buckets."""

    name: str
    text: str
    bounds: tuple[float, ...]
    seen: Observations


def histogram(name: str, text: str, bounds: tuple[float, ...]) -> PluginHistogram:
    """A distribution of which nothing has been seen."""
    return PluginHistogram(name, text, bounds, Observations(bounds))


@runtime_checkable
class Counting(Protocol):
    """A plugin that counts something."""

    def counters(self) -> Sequence[PluginCounter]:
        """Its counters. The profile is added as a label."""


@runtime_checkable
class Measuring(Protocol):
    """A plugin that measures something."""

    def histograms(self) -> Sequence[PluginHistogram]:
        """Its distributions. The profile is added as a label."""
