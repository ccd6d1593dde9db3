"""What a plugin counts for the metrics of the process."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from moorage.errors import InputError
from moorage.framework.answers import broken, place_of

Kind = TypeVar("Kind")


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


def counters_of(name: str, plugin: Any) -> tuple[PluginCounter, ...]:
    """What a plugin counts. Raises InputError that names the plugin and the line where it does not say that rightly."""
    return _said(name, plugin.counters, PluginCounter) if isinstance(plugin, Counting) else ()


def histograms_of(name: str, plugin: Any) -> tuple[PluginHistogram, ...]:
    """What it measures, in the same way."""
    return _said(name, plugin.histograms, PluginHistogram) if isinstance(plugin, Measuring) else ()


def _said(name: str, method: Callable[[], Any], kind: type[Kind]) -> tuple[Kind, ...]:
    try:
        answer = method()
        said = tuple(answer) if isinstance(answer, Iterable) else (answer,)
    except BaseException as problem:
        error = broken(name, method.__name__, problem)
        raise InputError(str(error), where=f"plugin {name}") from problem
    for one in said:
        if not isinstance(one, kind):
            fault = f"{method.__name__} answered {one!r}: expected a list of {kind.__name__}{place_of(method)}"
            raise InputError(fault, where=f"plugin {name}")
    return said
