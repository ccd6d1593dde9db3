"""A profile as it was configured, its plugins made: those of one scheduler name at each extension point, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.framework.handle import Handle


@dataclass(frozen=True, slots=True)
class Named:
    """A plugin under the name it is configured by."""

    name: str
    plugin: Any


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One scheduler name with its plugins. Whoever runs a point takes its list from here."""

    scheduler_name: str
    plugins: Mapping[str, Any]
    #: The names of the plugins at each point, in running order, and what those at Score weigh.
    points: Mapping[str, Sequence[str]]
    weights: Mapping[str, int]
    handle: Handle
    percentage_of_nodes_to_score: int = 0
    #: What those weigh that score places for groups.
    placement_weights: Mapping[str, int] = field(default_factory=dict)

    def at(self, point: str) -> list[Named]:
        """The plugins at an extension point, in running order."""
        named = [Named(name, self.plugins[name]) for name in self.points.get(point, ())]
        return [one for one in named if point not in getattr(one.plugin, "nominal_points", ())]
