"""What a plugin counts for the metrics of the process."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from moorage.errors import InputError
from moorage.framework.answers import broken, place_of

Kind = TypeVar("Kind")

_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class PluginCounter:
    """A counter of a plugin's own. `values` go by label values and are read when somebody asks."""

    name: str
    text: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], int]


class Observations:
    """How a quantity is distributed."""

    __slots__ = ("_bounds", "counts", "put_down", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        #: What has been observed and is not summed up yet: to put it down costs a fraction of `add`.
        self.put_down: list[float] = []
        #: How many fell into each bucket, not cumulated; the last is for what exceeds every bound.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def sum_up(self) -> None:
        """Count what has been put down."""
        for value in self.put_down:
            self.counts[bisect_left(self._bounds, value)] += 1
        self.total += sum(self.put_down)
        self.put_down.clear()


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


def counters_of(name: str, plugin: Any) -> tuple[PluginCounter, ...]:
    """What a plugin counts. Raises InputError that names the plugin and the line where it does not say that rightly."""
    return _said(name, plugin.counters, PluginCounter) if isinstance(plugin, Counting) else ()


def histograms_of(name: str, plugin: Any) -> tuple[PluginHistogram, ...]:
    """What it measures, in the same way."""
    return _said(name, plugin.histograms, PluginHistogram) if isinstance(plugin, Measuring) else ()


def read_counter(counter: PluginCounter) -> dict[tuple[str, ...], float]:
    """What was counted, by the values of its labels. Raises TypeError where a plugin put in something else."""
    found: dict[tuple[str, ...], float] = {}
    for labels, value in dict(counter.values).items():
        if not isinstance(labels, tuple) or len(labels) != len(counter.labels) or not _are_texts(labels):
            raise TypeError(f"{counter.name} counts by {labels!r}: expected a tuple of {len(counter.labels)} texts")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{counter.name} counts {value!r} by {labels!r}: expected a number")
        found[labels] = float(value)
    return found


def _are_texts(labels: tuple[Any, ...]) -> bool:
    return all(isinstance(label, str) for label in labels)


def _said(name: str, method: Callable[[], Any], kind: type[Kind]) -> tuple[Kind, ...]:
    try:
        answer = method()
        said = tuple(answer) if isinstance(answer, Iterable) else (answer,)
    except BaseException as problem:
        error = broken(name, method.__name__, problem)
        raise InputError(str(error), where=f"plugin {name}") from problem
    for one in said:
        if isinstance(one, PluginCounter | PluginHistogram) and not _NAME.fullmatch(one.name):
            fault = (
                f"{method.__name__} answered the name {one.name!r}: expected letters, digits and _{place_of(method)}"
            )
            raise InputError(fault, where=f"plugin {name}")
        if not isinstance(one, kind):
            fault = f"{method.__name__} answered {one!r}: expected a list of {kind.__name__}{place_of(method)}"
            raise InputError(fault, where=f"plugin {name}")
    return said
