"""The extension points, and which of them each in-tree plugin serves.

The table lets a configuration be read without loading any plugin. Plugins from elsewhere are added by the caller, who
passes name -> points.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from moorage.config.gates import NODE_NAME_PRE_FILTER, POD_GROUP_POST_FILTER_POINT, Features

#: Every point of a pod's way, in its order, then those of placing a group.
POD_POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
POD_GROUP_POST_FILTER: Final = "podGroupPostFilter"
GROUP_POINTS: Final = (POD_GROUP_POST_FILTER, "placementGenerate", "placementScore")
EXTENSION_POINTS: Final = POD_POINTS + GROUP_POINTS

#: plugin name -> the extension points it serves
PluginPoints = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class KnownPlugins:
    """What reading a configuration needs to know of plugins, all by name."""

    points: PluginPoints
    #: The types that plugins from elsewhere read their arguments into; those of in-tree ones are in `args`.
    args_types: Mapping[str, type] = field(default_factory=dict)
    #: What plugins from elsewhere weigh where the file says nothing; 1 for those not named.
    weights: Mapping[str, int] = field(default_factory=dict)
    #: Why plugins that packages offer could not be loaded.
    broken: Mapping[str, str] = field(default_factory=dict)


#: feature -> the points that in-tree plugins serve besides where it is on.
POINTS_BY_FEATURE: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    NODE_NAME_PRE_FILTER: dict.fromkeys(
        ("NodeName", "NodeUnschedulable", "TaintToleration"), frozenset(("preFilter",))
    ),
    POD_GROUP_POST_FILTER_POINT: dict.fromkeys(
        ("DefaultPreemption", "DynamicResources"), frozenset((POD_GROUP_POST_FILTER,))
    ),
}


def points_with(features: Features, serves: PluginPoints) -> PluginPoints:
    """The points that plugins serve with these features."""
    served = dict(serves)
    for feature, by_plugin in POINTS_BY_FEATURE.items():
        if feature in features:
            for name, points in by_plugin.items():
                served[name] = served.get(name, frozenset()) | points
    return served


def _serving(*points: str) -> frozenset[str]:
    return frozenset(points)


IN_TREE_POINTS: Final[PluginPoints] = {
    "DefaultBinder": _serving("bind"),
    "DefaultPreemption": _serving("postFilter", "preEnqueue"),
    "DynamicResources": _serving("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
    "GangScheduling": _serving("preEnqueue", "permit"),
    "ImageLocality": _serving("score"),
    "InterPodAffinity": _serving("preFilter", "filter", "preScore", "score"),
    "NodeAffinity": _serving("preFilter", "filter", "preScore", "score"),
    "NodeDeclaredFeatures": _serving("preFilter", "filter"),
    "NodeName": _serving("filter"),
    "NodePorts": _serving("preFilter", "filter"),
    "NodeResourcesBalancedAllocation": _serving("preScore", "score"),
    "NodeResourcesFit": _serving("preFilter", "filter", "preScore", "score", "placementScore"),
    "NodeUnschedulable": _serving("filter"),
    "NodeVolumeLimits": _serving("preFilter", "filter"),
    "PodGroupPodsCount": _serving("placementScore"),
    "PodTopologySpread": _serving("preFilter", "filter", "preScore", "score"),
    "PrioritySort": _serving("queueSort"),
    "SchedulingGates": _serving("preEnqueue"),
    "TaintToleration": _serving("filter", "preScore", "score"),
    "TopologyPlacementGenerator": _serving("placementGenerate"),
    "VolumeBinding": _serving("preFilter", "filter", "preScore", "score", "reserve", "preBind"),
    "VolumeRestrictions": _serving("preFilter", "filter"),
    "VolumeZone": _serving("preFilter", "filter"),
}

#: What is known where no plugin was loaded.
IN_TREE: Final = KnownPlugins(IN_TREE_POINTS)
