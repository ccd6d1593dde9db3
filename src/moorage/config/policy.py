"""An old Policy file turned into a KubeSchedulerConfiguration, with notes on what has no equivalent any more."""

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.config import policytypes as old
from moorage.config.decode import UNKNOWN_FIELD, decode_section
from moorage.config.fields import ConfigErrors, Fault, shown
from moorage.config.load import parse_config
from moorage.config.points import EXTENSION_POINTS, IN_TREE_POINTS
from moorage.config.types import API_VERSION, DEFAULT_SCHEDULER_NAME, KIND, POLICY, Extender
from moorage.errors import InputError
from moorage.values import yaml
from moorage.values.duration import Duration

_POLICY_VERSIONS = ("v1", API_VERSION)
_FILTERING = frozenset({"preFilter", "filter", "reserve", "preBind"})
_SCORING = frozenset({"preScore", "score"})
_MAX_INT32 = 2**31 - 1
_MAX_OLD_WEIGHT = (2**63 - 1) // 10
_SHORTEST_LIKELY_TIMEOUT = 1_000_000


class Conversion(msgspec.Struct, frozen=True):
    """The new form, ready to be written, and what a person should know about it."""

    document: dict[str, Any]
    notes: tuple[str, ...]


def convert_policy(text: str | bytes, *, source: str = "") -> Conversion:
    """Convert a Policy file, JSON or YAML. Raises ConfigErrors where it is no such file or a wrong one."""
    try:
        document = yaml.load(text)
    except InputError as error:
        raise ConfigErrors([Fault("", error.problem, "decode")], source=source) from None
    faults: list[Fault] = []
    _check_type_meta(document, faults)
    policy = None if faults else decode_section(document, old.Policy, faults, fold_case=True)
    # Policy files were not read strictly: many have fields that meant nothing, like an extender's apiVersion.
    unknown = [fault for fault in faults if fault.problem.startswith(UNKNOWN_FIELD)]
    if policy is None or len(faults) > len(unknown):
        raise ConfigErrors(faults, source=source)
    converter = _Converter()
    converter.notes += (f"{fault.path} is not a field of a {POLICY} and is left out" for fault in unknown)
    converter.convert(policy)
    if converter.faults:
        raise ConfigErrors(converter.faults, source=source)
    conversion = Conversion(converter.document(), tuple(converter.notes))
    parse_config(conversion.document, source=f"{source} (converted)" if source else "")
    return conversion


def _check_type_meta(document: Any, faults: list[Fault]) -> None:
    if not isinstance(document, Mapping):
        faults.append(Fault("", f"expected a {POLICY}, got {shown(document)}", "decode"))
        return
    if document.get("kind") != POLICY:
        problem = f'expected "{POLICY}", got {shown(document.get("kind"))}'
        faults.append(Fault("kind", problem, "decode"))
    if document.get("apiVersion") not in _POLICY_VERSIONS:
        problem = f'expected "{_POLICY_VERSIONS[0]}", got {shown(document.get("apiVersion"))}'
        faults.append(Fault("apiVersion", problem, "decode"))


class _Converter:
    """Gathers the plugins at each point (with weights), their arguments, the notes and the faults."""

    def __init__(self) -> None:
        self.points: dict[str, dict[str, int]] = {}
        self.args: dict[str, dict[str, Any]] = {}
        self.extenders: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.faults: list[Fault] = []

    def convert(self, policy: old.Policy) -> None:
        self.convert_predicates(policy.predicates)
        self.convert_priorities(policy.priorities)
        self.convert_affinity_weight(policy.hard_pod_affinity_symmetric_weight)
        self.extenders = [
            self.extender(extender, f"extenders[{index}]") for index, extender in enumerate(policy.extenders)
        ]
        if policy.always_check_all_predicates:
            self.notes.append(
                "alwaysCheckAllPredicates has no equivalent: filtering a node stops at the first plugin that refuses it"
            )
        self.notes.append("SchedulingGates is enabled, so that pods' schedulingGates, newer than this file, hold")

    def document(self) -> dict[str, Any]:
        """The KubeSchedulerConfiguration."""
        plugins: dict[str, Any] = {
            "multiPoint": {
                "enabled": _entries(("SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder")),
                "disabled": _entries(("*",)),
            }
        }
        for point in EXTENSION_POINTS:
            if point in self.points:
                plugins[point] = {"enabled": _weighted_entries(self.points[point])}
        profile: dict[str, Any] = {"schedulerName": DEFAULT_SCHEDULER_NAME, "plugins": plugins}
        if self.args:
            profile["pluginConfig"] = [{"name": name, "args": args} for name, args in self.args.items()]
        document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
        if self.extenders:
            document["extenders"] = self.extenders
        return document

    def fail(self, path: str, problem: str) -> None:
        self.faults.append(Fault(path, problem))

    def enable(self, plugin: str, points: frozenset[str], weight: int = 0) -> None:
        """Have a plugin run at those of the points it serves; asked for twice, the greater weight holds."""
        for point in EXTENSION_POINTS:
            if point in points & IN_TREE_POINTS[plugin]:
                there = self.points.setdefault(point, {})
                given = weight if point == "score" else 0
                there[plugin] = max(there.get(plugin, 0), given)

    # Predicates

    def convert_predicates(self, predicates: tuple[old.Predicate, ...] | None) -> None:
        wanted = set(old.MANDATORY_PREDICATES)
        if predicates is None:
            wanted.update(old.DEFAULT_PREDICATES)
        for index, predicate in enumerate(predicates or ()):
            name = self.predicate_name(predicate, f"predicates[{index}]")
            if name:
                wanted.add(name)
        for name, plugins in old.PREDICATE_PLUGINS.items():
            if name in wanted:
                for plugin in plugins:
                    self.enable(plugin, _FILTERING)
        cloud = [name for name in old.CLOUD_VOLUME_LIMITS if name in wanted]
        if cloud:
            self.notes.append(f"{', '.join(cloud)}: cloud volumes are counted by NodeVolumeLimits now, as CSI volumes")

    def predicate_name(self, predicate: old.Predicate, path: str) -> str:
        """The predicate's proper name, "" where it has no equivalent."""
        name = old.PREDICATE_ALIASES.get(predicate.name, predicate.name)
        argument = predicate.argument
        if argument is not None and not self.one_of(argument, path):
            return ""
        if argument is not None and argument.labels_presence is not None:
            self.require_labels(argument.labels_presence, predicate.name)
            return old.LABEL_PRESENCE
        if argument is not None or name == old.SERVICE_AFFINITY:
            self.notes.append(f"{path} ({predicate.name}): service affinity was removed and has no equivalent")
            return ""
        if name not in old.PREDICATE_PLUGINS:
            self.fail(f"{path}.name", f"there was no predicate {shown(predicate.name)}")
            return ""
        return name

    def require_labels(self, rule: old.LabelsPresence, name: str) -> None:
        affinity = self.args.setdefault("NodeAffinity", {}).setdefault("addedAffinity", {})
        selector = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
        term = selector.setdefault("nodeSelectorTerms", [{"matchExpressions": []}])[0]
        term["matchExpressions"] += (_presence(label, rule.presence) for label in rule.labels)
        self.notes.append(
            f"{name}: the labels are required through NodeAffinity's addedAffinity now; that plugin also enforces "
            "pods' own nodeSelector and required node affinity"
        )

    # Priorities

    def convert_priorities(self, priorities: tuple[old.Priority, ...] | None) -> None:
        weights: dict[str, int] = {}
        if priorities is None:
            weights.update(old.DEFAULT_PRIORITIES)
        for index, priority in enumerate(priorities or ()):
            path = f"priorities[{index}]"
            name = self.priority_name(priority, path)
            if name:
                weights[name] = max(weights.get(name, 0), self.weight(priority, path))
        self.choose_strategy(weights)
        for name, weight in weights.items():
            plugin = old.PRIORITY_PLUGINS[name]
            if plugin is not None:
                self.enable(plugin, _SCORING, weight)
            else:
                self.notes.append(f"{name} was removed and has no equivalent")
        self.convert_spreading(weights)

    def weight(self, priority: old.Priority, path: str) -> int:
        if not 0 < priority.weight < _MAX_OLD_WEIGHT:
            self.fail(f"{path}.weight", f"expected a weight of 1 or more, got {priority.weight}")
        if priority.weight > _MAX_INT32:
            self.notes.append(f"{path} ({priority.name}): the weight was cut to {_MAX_INT32}, the greatest there is")
        return min(priority.weight, _MAX_INT32)

    def priority_name(self, priority: old.Priority, path: str) -> str:
        """The priority's proper name, "" where it is dealt with here or has no equivalent."""
        name = old.PRIORITY_ALIASES.get(priority.name, priority.name)
        argument = priority.argument
        if argument is None:
            if name == old.RATIO:
                self.fail(f"{path}.argument", "requestedToCapacityRatioArguments are missing")
            elif name not in old.PRIORITY_PLUGINS:
                self.fail(f"{path}.name", f"there was no priority {shown(priority.name)}")
                return ""
            return name
        if not self.one_of(argument, path):
            return ""
        ratio = argument.requested_to_capacity_ratio_arguments
        if ratio is not None:
            self.keep_ratio(ratio)
            return old.RATIO
        weight = self.weight(priority, path)
        if argument.label_preference is not None:
            self.prefer_label(argument.label_preference, priority.name, weight)
        else:
            self.notes.append(f"{path} ({priority.name}): service anti-affinity was removed and has no equivalent")
        return ""

    def keep_ratio(self, ratio: old.RequestedToCapacityRatioArguments) -> None:
        strategy = self.args.setdefault("NodeResourcesFit", {}).setdefault("scoringStrategy", {})
        strategy["type"] = old.RATIO
        if ratio.resources:
            strategy["resources"] = [
                {"name": resource.name, "weight": resource.weight or 1} for resource in ratio.resources
            ]
        points = [{"utilization": point.utilization, "score": point.score} for point in ratio.shape]
        strategy["requestedToCapacityRatio"] = {"shape": points}

    def choose_strategy(self, weights: dict[str, int]) -> None:
        """NodeResourcesFit scores in one way: of several the heaviest stays."""
        asked = [name for name in old.SCORING_STRATEGIES if name in weights]
        if not asked:
            return
        chosen = max(asked, key=lambda name: weights[name])
        for name in asked:
            if name != chosen:
                del weights[name]
                self.notes.append(
                    f"{name} is left out: NodeResourcesFit has one scoring strategy, and {chosen} weighs no less"
                )
        if chosen != old.RATIO:
            self.args.setdefault("NodeResourcesFit", {})["scoringStrategy"] = {
                "type": old.SCORING_STRATEGIES[chosen],
                "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
            }

    def prefer_label(self, wish: old.LabelPreference, name: str, weight: int) -> None:
        affinity = self.args.setdefault("NodeAffinity", {}).setdefault("addedAffinity", {})
        wishes = affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
        preference = {"matchExpressions": [_presence(wish.label, wish.presence)]}
        wishes.append({"weight": 1, "preference": preference})
        # The old score plugin weighed as many times as it had labels.
        self.enable("NodeAffinity", _SCORING, min(weight * len(wishes), _MAX_INT32))
        self.notes.append(
            f"{name}: the label is preferred through NodeAffinity's addedAffinity now, scored together with pods' own "
            "preferred node affinity"
        )

    def convert_spreading(self, weights: Mapping[str, int]) -> None:
        if old.SELECTOR_SPREAD in weights:
            self.args["PodTopologySpread"] = {"defaultingType": "System"}
            self.notes.append(
                f"{old.SELECTOR_SPREAD} was removed: the nearest there is are PodTopologySpread's System defaults"
            )
        elif old.EVEN_PODS_SPREAD in weights:
            self.args["PodTopologySpread"] = {"defaultingType": "List"}

    # The rest

    def convert_affinity_weight(self, weight: int) -> None:
        if not weight:
            return
        if any("InterPodAffinity" in plugins for plugins in self.points.values()):
            self.args["InterPodAffinity"] = {"hardPodAffinityWeight": weight}
        else:
            self.notes.append("hardPodAffinitySymmetricWeight had no effect: nothing here looks at pod affinity")

    def extender(self, extender: old.LegacyExtender, path: str) -> dict[str, Any]:
        fields = {field: getattr(extender, field) for field in extender.__struct_fields__}
        fields["http_timeout"] = Duration(extender.http_timeout or Extender().http_timeout.nanoseconds)
        if 0 < extender.http_timeout < _SHORTEST_LIKELY_TIMEOUT:
            self.notes.append(f"{path}.httpTimeout counted nanoseconds: {extender.http_timeout} is hardly any time")
        converted: dict[str, Any] = msgspec.to_builtins(Extender(**fields), enc_hook=str)
        return converted

    def one_of(self, argument: old.PredicateArgument | old.PriorityArgument, path: str) -> bool:
        given = [field for field in argument.__struct_fields__ if getattr(argument, field) is not None]
        if len(given) != 1:
            self.fail(f"{path}.argument", f"expected exactly one argument, got {len(given)}")
        return len(given) == 1


def _presence(label: str, presence: bool) -> dict[str, str]:
    return {"key": label, "operator": "Exists" if presence else "DoesNotExist"}


def _entries(names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def _weighted_entries(plugins: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} if weight else {"name": name} for name, weight in plugins.items()]
