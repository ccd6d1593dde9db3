"""The rules for each in-tree plugin's arguments.

Those of NodeResourcesFit are apart: kube-scheduler checks them only when it builds the plugin.
"""

from collections.abc import Callable, Iterator
from typing import Any

from moorage.config import gates as gate
from moorage.config.args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from moorage.config.fields import Fault, duplicate, forbidden, invalid, required, unsupported
from moorage.config.gates import Features
from moorage.objects import NodeSelectorRequirement, NodeSelectorTerm, TopologySpreadConstraint
from moorage.values.duration import Duration
from moorage.values.names import label_key_problems, label_value_problems
from moorage.values.selector import parse_int64

_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_DEFAULTING_TYPES = ("System", "List")
_SPREAD_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_RATIO = "RequestedToCapacityRatio"
_STRATEGIES = ("LeastAllocated", "MostAllocated", _RATIO)
_HIGHEST_SHAPE_SCORE = 10
_SHORTEST_BINDING = Duration.of_seconds(1)


def validate_args(args: Any, path: str, features: Features) -> Iterator[Fault]:
    """The faults of a plugin's arguments; none for those of plugins from elsewhere."""
    match args:
        case DefaultPreemptionArgs():
            yield from _default_preemption(args, path)
        case DynamicResourcesArgs():
            yield from _dynamic_resources(args, path, features)
        case InterPodAffinityArgs():
            yield from _within(f"{path}.hardPodAffinityWeight", args.hard_pod_affinity_weight, 0, 100)
        case NodeAffinityArgs():
            yield from _node_affinity(args, f"{path}.addedAffinity")
        case NodeResourcesBalancedAllocationArgs():
            yield from _balanced_allocation(args, path)
        case PodTopologySpreadArgs():
            yield from _topology_spread(args, path)
        case VolumeBindingArgs():
            yield from _volume_binding(args, path, features)


def validate_fit_args(args: NodeResourcesFitArgs, path: str) -> Iterator[Fault]:
    """The faults of NodeResourcesFit's arguments."""
    for index, name in enumerate(args.ignored_resources):
        yield from _label_key(f"{path}.ignoredResources[{index}]", name)
    for index, group in enumerate(args.ignored_resource_groups):
        group_path = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield invalid(group_path, group, "resource group name can't contain '/'")
        yield from _label_key(group_path, group)
    yield from _scoring_strategy(args.scoring_strategy, f"{path}.scoringStrategy")


def _scoring_strategy(strategy: ScoringStrategy, path: str) -> Iterator[Fault]:
    if strategy.type not in _STRATEGIES:
        yield unsupported(f"{path}.type", strategy.type, _STRATEGIES)
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            problem = f"resource weight of {resource.name} not in valid range (0, 100]"
            yield invalid(f"{path}.resources[{index}].weight", resource.weight, problem)
    ratio = strategy.requested_to_capacity_ratio
    ratio_path = f"{path}.requestedToCapacityRatio"
    if strategy.type == _RATIO and ratio is None:
        yield required(ratio_path, f"must be specified when type is {_RATIO}")
    elif strategy.type != _RATIO and ratio is not None:
        yield forbidden(ratio_path, f"must be nil when type is not {_RATIO}")
    elif ratio is not None:
        yield from _shape(ratio.shape, f"{ratio_path}.shape")


def _shape(shape: tuple[UtilizationShapePoint, ...], path: str) -> Iterator[Fault]:
    if not shape:
        yield required(path, "at least one point must be specified")
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            problem = "values must be sorted in increasing order"
            yield invalid(f"{path}[{index}].utilization", shape[index].utilization, problem)
            break
    for index, point in enumerate(shape):
        yield from _within(f"{path}[{index}].utilization", point.utilization, 0, 100)
        yield from _within(f"{path}[{index}].score", point.score, 0, _HIGHEST_SHAPE_SCORE)


def _default_preemption(args: DefaultPreemptionArgs, path: str) -> Iterator[Fault]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    yield from _within(f"{path}.minCandidateNodesPercentage", percentage, 0, 100)
    if absolute < 0:
        yield invalid(f"{path}.minCandidateNodesAbsolute", absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
        for name, other in (names, reversed(names)):
            yield invalid(f"{path}.{name}", 0, f"cannot be zero at the same time as {other}")


def _dynamic_resources(args: DynamicResourcesArgs, path: str, features: Features) -> Iterator[Fault]:
    filter_timeout, binding_timeout = args.filter_timeout, args.binding_timeout
    if filter_timeout is not None:
        if gate.DRA_SCHEDULER_FILTER_TIMEOUT not in features:
            problem = f"{gate.DRA_SCHEDULER_FILTER_TIMEOUT} feature gate is disabled"
            yield forbidden(f"{path}.filterTimeout", problem)
        elif filter_timeout < Duration(0):
            yield invalid(f"{path}.filterTimeout", filter_timeout, "must be zero or positive")
    if binding_timeout is not None:
        if not features.enabled >= gate.BINDING_TIMEOUT_GATES:
            problem = f"{' or '.join(sorted(gate.BINDING_TIMEOUT_GATES))} feature gate is disabled"
            yield forbidden(f"{path}.bindingTimeout", problem)
        elif binding_timeout < _SHORTEST_BINDING:
            yield invalid(f"{path}.bindingTimeout", binding_timeout, "must be at least 1 second")


def _balanced_allocation(args: NodeResourcesBalancedAllocationArgs, path: str) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        resource_path = f"{path}.resources[{index}]"
        if resource.name in seen:
            yield duplicate(f"{resource_path}.name", resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            yield invalid(f"{resource_path}.weight", resource.weight, "must be 1")


def _volume_binding(args: VolumeBindingArgs, path: str, features: Features) -> Iterator[Fault]:
    if args.bind_timeout_seconds < 0:
        problem = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, problem)
    if gate.STORAGE_CAPACITY_SCORING in features:
        yield from _shape(args.shape or (), f"{path}.shape")
    elif args.shape is not None:
        problem = f"unexpected field `shape`, remove it or turn on the feature gate {gate.STORAGE_CAPACITY_SCORING}"
        yield invalid(f"{path}.shape", args.shape, problem)


def _topology_spread(args: PodTopologySpreadArgs, path: str) -> Iterator[Fault]:
    type_path = f"{path}.defaultingType"
    if args.defaulting_type not in _DEFAULTING_TYPES:
        yield unsupported(type_path, args.defaulting_type, _DEFAULTING_TYPES)
    elif args.defaulting_type == "System" and args.default_constraints:
        yield invalid(type_path, args.defaulting_type, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        constraint_path = f"{path}.defaultConstraints[{index}]"
        yield from _constraint(constraint, constraint_path)
        identity = (constraint.topology_key, constraint.when_unsatisfiable)
        if identity in seen:
            yield duplicate(constraint_path, f"{{{', '.join(identity)}}}")
        seen.add(identity)


def _constraint(constraint: TopologySpreadConstraint, path: str) -> Iterator[Fault]:
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    if constraint.topology_key:
        yield from _label_key(f"{path}.topologyKey", constraint.topology_key)
    else:
        yield required(f"{path}.topologyKey", "can not be empty")
    action = constraint.when_unsatisfiable
    if not action:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif action not in _SPREAD_ACTIONS:
        yield unsupported(f"{path}.whenUnsatisfiable", action, _SPREAD_ACTIONS)
    if constraint.label_selector is not None:
        problem = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(f"{path}.labelSelector", problem)


def _node_affinity(args: NodeAffinityArgs, path: str) -> Iterator[Fault]:
    affinity = args.added_affinity
    if affinity is None:
        return
    selector = affinity.required_during_scheduling_ignored_during_execution
    if selector is not None:
        terms_path = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(selector.node_selector_terms):
            yield from _term(term, f"{terms_path}[{index}]")
    wishes_path = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, wish in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        # A wish without weight is never looked at; kube-scheduler's path leaves out `preference`.
        if wish.weight:
            yield from _term(wish.preference, f"{wishes_path}[{index}]")


def _term(term: NodeSelectorTerm, path: str) -> Iterator[Fault]:
    for index, requirement in enumerate(term.match_expressions):
        yield from _expression(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.match_fields):
        field_path = f"{path}.matchFields[{index}]"
        if requirement.operator not in _FIELD_OPERATORS:
            yield unsupported(f"{field_path}.operator", requirement.operator, _FIELD_OPERATORS)
        elif len(requirement.values) != 1:
            yield invalid(f"{field_path}.values", requirement.values, "must have one element")


def _expression(requirement: NodeSelectorRequirement, path: str) -> Iterator[Fault]:
    if requirement.operator not in _NODE_OPERATORS:
        yield unsupported(f"{path}.operator", requirement.operator, _NODE_OPERATORS)
        return
    problems = label_key_problems(requirement.key)
    if problems:
        yield invalid(f"{path}.key", requirement.key, "; ".join(problems))
    fits, rule = _VALUE_RULES[requirement.operator]
    values = requirement.values
    if not fits(len(values)):
        yield invalid(f"{path}.values", values, rule)
    for index, value in enumerate(values):
        if requirement.operator in ("Gt", "Lt") and parse_int64(value) is None:
            problem = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield invalid(f"{path}.values[{index}]", value, problem)
        problems = label_value_problems(value)
        if problems:
            yield invalid(f"{path}.values[{index}][{requirement.key}]", value, "; ".join(problems))


_SOME: tuple[Callable[[int], bool], str] = (
    lambda count: count > 0,
    "for 'in', 'notin' operators, values set can't be empty",
)
_NONE: tuple[Callable[[int], bool], str] = (
    lambda count: count == 0,
    "values set must be empty for exists and does not exist",
)
_ONE: tuple[Callable[[int], bool], str] = (
    lambda count: count == 1,
    "for 'Gt', 'Lt' operators, exactly one value is required",
)
_VALUE_RULES = {"In": _SOME, "NotIn": _SOME, "Exists": _NONE, "DoesNotExist": _NONE, "Gt": _ONE, "Lt": _ONE}


def _label_key(path: str, text: str) -> Iterator[Fault]:
    for problem in label_key_problems(text):
        yield invalid(path, text, problem)


def _within(path: str, value: int, low: int, high: int) -> Iterator[Fault]:
    if not low <= value <= high:
        yield invalid(path, value, f"not in valid range [{low}, {high}]")
