"""Counters and histograms that cost next to nothing to count; a scrape pays for the rest.

A scheduler counts a dozen things a pod, thousands of times a second, on one thread. So no locks and no label objects:
a counter is a dict, a histogram a list of numbers for each set of label values.
"""

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Sequence

from moorage.framework.measuring import Observations


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """The upper bounds of `count` buckets, each `factor` times the one before."""
    return tuple(start * factor**index for index in range(count))


class Counter:
    """Counts by label values, given in the order of `labels`."""

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.text = text
        self.labels = tuple(labels)
        self.values: Tally[tuple[str, ...]] = Tally()

    def inc(self, *labels: str) -> None:
        """Count one more."""
        self.values[labels] += 1


class Histogram:
    """Distributions by label values, given in the order of `labels`."""

    def __init__(self, name: str, text: str, bounds: tuple[float, ...], labels: Sequence[str] = ()) -> None:
        self.name = name
        self.text = text
        self.bounds = bounds
        self.labels = tuple(labels)
        self.values: dict[tuple[str, ...], Observations] = {}
        if not labels:
            self.values[()] = Observations(bounds)

    def of(self, *labels: str) -> Observations:
        """What was observed under these values."""
        observations = self.values.get(labels)
        if observations is None:
            observations = self.values[labels] = Observations(self.bounds)
        return observations

    def sum_up(self) -> None:
        """Count what has been put down of any of these."""
        for observations in self.values.values():
            observations.sum_up()

    def observe(self, value: float, *labels: str) -> None:
        """Count one observation."""
        observations = self.values.get(labels)
        if observations is None:
            observations = self.values[labels] = Observations(self.bounds)
        # Observations.add, without the call: this is done several times a pod.
        observations.counts[bisect_left(self.bounds, value)] += 1
        observations.total += value
