"""A profile ready to run: the plugins of one scheduler name at each extension point, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moorage.framework.handle import Handle
from moorage.framework.lifting import NodeFilter, NodeScore


@dataclass(frozen=True, slots=True)
class Named:
    """A plugin under the name it is configured by."""

    name: str
    plugin: Any


class Profile:
    """One scheduler name with its plugins. Built once; the runners take their lists from it."""

    def __init__(
        self,
        scheduler_name: str,
        plugins: Mapping[str, Any],
        points: Mapping[str, Sequence[str]],
        weights: Mapping[str, int],
        handle: Handle,
        *,
        percentage_of_nodes_to_score: int = 0,
    ) -> None:
        self.scheduler_name = scheduler_name
        self.handle = handle
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.plugins = plugins
        self._points = points
        self.pre_filters = self.at("preFilter")
        self.filters = [NodeFilter(one.name, one.plugin) for one in self.at("filter")]
        self.post_filters = self.at("postFilter")
        self.pre_scores = self.at("preScore")
        self.scores = [NodeScore(one.name, one.plugin, weights[one.name]) for one in self.at("score")]
        self.reserves = self.at("reserve")
        self.permits = self.at("permit")

    def at(self, point: str) -> list[Named]:
        """The plugins at an extension point, in running order."""
        return [Named(name, self.plugins[name]) for name in self._points.get(point, ())]
