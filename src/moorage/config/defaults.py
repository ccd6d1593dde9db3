"""What a file leaves out: default names, the default plugins merged with the user's, default arguments.

Where Kubernetes takes a zero ("", 0, 0s) for "not given", so do we.
"""

from typing import Any, TypeVar

import msgspec

from moorage.config import gates as gate
from moorage.config.args import (
    ARGS_TYPES,
    DEFAULT_RESOURCES,
    DynamicResourcesArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from moorage.config.gates import Features
from moorage.config.points import EXTENSION_POINTS
from moorage.config.types import (
    DEFAULT_SCHEDULER_NAME,
    KubeSchedulerConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
    ProfileSection,
)
from moorage.values.duration import Duration

ALL = "*"
_FILTER_TIMEOUT = Duration.of_seconds(10)
_BINDING_TIMEOUT = Duration.of_seconds(600)
_ELECTION_ZEROS = (
    "lease_duration",
    "renew_deadline",
    "retry_period",
    "resource_lock",
    "resource_name",
    "resource_namespace",
)
_FIRST_FILTERS = ("NodeName", "NodeUnschedulable")
_CAPACITY_SHAPE = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))

S = TypeVar("S", bound=msgspec.Struct)


def with_defaults(written: KubeSchedulerConfiguration, features: Features) -> KubeSchedulerConfiguration:
    """The configuration with every gap filled: kube-scheduler's view of the file."""
    profiles = written.profiles or (ProfileSection(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = written.enable_contention_profiling
    return msgspec.structs.replace(
        written,
        profiles=tuple(_profile(profile, features) for profile in profiles),
        leader_election=_zeros_filled(written.leader_election, *_ELECTION_ZEROS),
        client_connection=_zeros_filled(written.client_connection, "content_type", "qps", "burst"),
        enable_contention_profiling=written.enable_profiling if contention is None else contention,
        extenders=tuple(_zeros_filled(extender, "http_timeout") for extender in written.extenders),
    )


def default_plugins(features: Features) -> Plugins:
    """The plugins that run where the user says nothing, all through multiPoint."""
    enabled = [
        Plugin("SchedulingGates"),
        Plugin("PrioritySort"),
        *map(Plugin, _FIRST_FILTERS if gate.NODE_NAME_PRE_FILTER in features else reversed(_FIRST_FILTERS)),
        Plugin("TaintToleration", 3),
        Plugin("NodeAffinity", 2),
        Plugin("NodePorts"),
        Plugin("NodeResourcesFit", 1),
        Plugin("VolumeRestrictions"),
        Plugin("NodeVolumeLimits"),
        Plugin("VolumeBinding"),
        Plugin("VolumeZone"),
        Plugin("PodTopologySpread", 2),
        Plugin("InterPodAffinity", 2),
    ]
    if gate.DYNAMIC_RESOURCE_ALLOCATION in features:
        # Before preemption: better to free an idle claim than to evict a pod.
        enabled.append(Plugin("DynamicResources", 2))
    enabled += [
        Plugin("DefaultPreemption"),
        Plugin("NodeResourcesBalancedAllocation", 1),
        Plugin("ImageLocality", 1),
        Plugin("DefaultBinder"),
    ]
    if gate.NODE_DECLARED_FEATURES in features:
        enabled.append(Plugin("NodeDeclaredFeatures"))
    if gate.GANG_SCHEDULING in features or (gate.GENERIC_WORKLOAD in features and gate.QUEUED_POD_GROUPS in features):
        enabled.append(Plugin("GangScheduling"))
    if gate.TOPOLOGY_AWARE_WORKLOAD_SCHEDULING in features:
        enabled += [Plugin("TopologyPlacementGenerator"), Plugin("PodGroupPodsCount", 1)]
    return Plugins(multi_point=PluginSet(tuple(enabled)))


def merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """The user's set over the default one.

    A default that the user lists again keeps its place but is the user's; the user's other plugins follow. The
    disabled names are kept: expansion needs them.
    """
    disabled = tuple(Plugin(plugin.name) for plugin in (*custom.disabled, *default.disabled))
    off = {plugin.name for plugin in disabled}
    # Of a name listed twice the last replaces the default; the first is appended and refused at expansion.
    position_of = {plugin.name: position for position, plugin in enumerate(custom.enabled)}
    enabled: list[Plugin] = []
    replacing: set[int] = set()
    if ALL not in off:
        for plugin in default.enabled:
            if plugin.name in off:
                continue
            position = position_of.get(plugin.name)
            if position is None:
                enabled.append(plugin)
            else:
                enabled.append(custom.enabled[position])
                replacing.add(position)
    enabled += (plugin for position, plugin in enumerate(custom.enabled) if position not in replacing)
    return PluginSet(tuple(enabled), disabled)


def _profile(profile: ProfileSection, features: Features) -> ProfileSection:
    default = default_plugins(features)
    fields = {
        field.name: merge_plugin_set(getattr(default, field.name), getattr(profile.plugins, field.name))
        for field in msgspec.structs.fields(Plugins)
    }
    plugins = Plugins(**fields)
    configs = [
        PluginConfig(config.name, _args(config.args, features)) if config.name in ARGS_TYPES else config
        for config in profile.plugin_config
    ]
    configured = {config.name for config in configs}
    missing = (enabled_names(plugins) & ARGS_TYPES.keys()) - configured
    configs += (PluginConfig(name, _args(ARGS_TYPES[name](), features)) for name in sorted(missing))
    return msgspec.structs.replace(
        profile,
        scheduler_name=profile.scheduler_name or "",
        plugins=plugins,
        plugin_config=tuple(configs),
    )


def enabled_names(plugins: Plugins) -> set[str]:
    """Every plugin enabled somewhere."""
    points = (*EXTENSION_POINTS, "multiPoint")
    return {plugin.name for point in points for plugin in plugins.at(point).enabled}


def _args(args: Any, features: Features) -> Any:
    match args:
        case NodeResourcesFitArgs():
            strategy = args.scoring_strategy
            resources = _weighted(strategy.resources)
            return msgspec.structs.replace(
                args, scoring_strategy=msgspec.structs.replace(strategy, resources=resources)
            )
        case NodeResourcesBalancedAllocationArgs():
            return NodeResourcesBalancedAllocationArgs(_weighted(args.resources))
        case PodTopologySpreadArgs():
            return _zeros_filled(args, "defaulting_type")
        case VolumeBindingArgs() if gate.STORAGE_CAPACITY_SCORING in features and not args.shape:
            return msgspec.structs.replace(args, shape=_CAPACITY_SHAPE)
        case DynamicResourcesArgs():
            return _dynamic_resources(args, features)
    return args


def _dynamic_resources(args: DynamicResourcesArgs, features: Features) -> DynamicResourcesArgs:
    filter_timeout = args.filter_timeout
    if filter_timeout is None and gate.DRA_SCHEDULER_FILTER_TIMEOUT in features:
        filter_timeout = _FILTER_TIMEOUT
    binding_timeout = args.binding_timeout
    if binding_timeout is None and features.enabled >= gate.BINDING_TIMEOUT_GATES:
        binding_timeout = _BINDING_TIMEOUT
    return DynamicResourcesArgs(filter_timeout, binding_timeout)


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(ResourceSpec(item.name, item.weight or 1) for item in resources) or DEFAULT_RESOURCES


def _zeros_filled(section: S, *fields: str) -> S:
    """The section with its default wherever one of these fields holds a zero."""
    default = type(section)()
    return msgspec.structs.replace(
        section, **{field: getattr(section, field) or getattr(default, field) for field in fields}
    )
