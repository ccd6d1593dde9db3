"""What a plugin counts for the metrics of the process."""

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


@runtime_checkable
class Counting(Protocol):
    """A plugin that counts something."""

    def counters(self) -> Sequence[PluginCounter]:
        """Its counters. The profile is added as a label."""
