"""What became of plugins between v1alpha1 and v1: those renamed, merged into others, or gone, in one profile."""

from collections.abc import Mapping
from typing import Any, Final

from moorage.config.fields import Fault, child, shown
from moorage.config.types import API_VERSION

#: Plugins that no version of v1 has, and what to know about each.
REMOVED: Final[Mapping[str, str]] = {
    "ServiceAffinity": "was removed and has no equivalent: InterPodAffinity is the nearest",
    "NodePreferAvoidPods": "was removed and has no equivalent",
    "SelectorSpread": "was removed: PodTopologySpread's System defaults spread the pods of services now",
    "DefaultPodTopologySpread": "was removed: PodTopologySpread's System defaults spread the pods of services now",
    "NodeResourceLimits": "was removed and has no equivalent",
    "EBSLimits": "was removed: NodeVolumeLimits counts these volumes, as CSI volumes",
    "GCEPDLimits": "was removed: NodeVolumeLimits counts these volumes, as CSI volumes",
    "AzureDiskLimits": "was removed: NodeVolumeLimits counts these volumes, as CSI volumes",
    "CinderLimits": "was removed: NodeVolumeLimits counts these volumes, as CSI volumes",
}
#: Plugins that became a scoring strategy of NodeResourcesFit.
STRATEGIES: Final[Mapping[str, str]] = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
_LABEL = "NodeLabel"
_FIT = "NodeResourcesFit"
_AFFINITY = "NodeAffinity"
_DEFAULT_RESOURCES = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})


class ProfileConversion:
    """One profile's plugins and arguments on their way to v1; notes and faults go to the lists given."""

    def __init__(self, profile: Mapping[str, Any], path: str, notes: list[str], faults: list[Fault]) -> None:
        self.path = path
        self.notes = notes
        self.faults = faults
        self.rest = {name: value for name, value in profile.items() if name not in ("plugins", "pluginConfig")}
        self.plugins = self._plugin_sets(profile.get("plugins"))
        self.args = self._arguments(profile.get("pluginConfig"))

    def profile(self) -> dict[str, Any]:
        """The profile in today's form."""
        converted = dict(self.rest)
        plugins = {
            point: {side: entries for side, entries in sets.items() if entries}
            for point, sets in self.plugins.items()
            if any(sets.values())
        }
        if plugins:
            converted["plugins"] = plugins
        if self.args:
            converted["pluginConfig"] = [{"name": name, "args": args} for name, args in self.args.items()]
        return converted

    def rename_points(self, names: Mapping[str, str]) -> None:
        """Move what stands at points of old names to those of today."""
        for old, new in names.items():
            sets = self.plugins.pop(old, None)
            if sets is None:
                continue
            self.notes.append(f"{self.path}.plugins.{old} is {new} now")
            there = self.plugins.setdefault(new, {"enabled": [], "disabled": []})
            for side, entries in sets.items():
                known = {entry.get("name") for entry in there[side]}
                there[side] += (entry for entry in entries if entry.get("name") not in known)

    def merge_strategies(self, *, scores_by_default: bool) -> None:
        """Of the plugins that scored resources the heaviest becomes NodeResourcesFit's strategy."""
        score = self.plugins.get("score", {"enabled": [], "disabled": []})
        disabled = {entry.get("name") for entry in score["disabled"]}
        weights = (
            {}
            if not scores_by_default or disabled & {"*", "NodeResourcesLeastAllocated"}
            else {"NodeResourcesLeastAllocated": 1}
        )
        asked = {e["name"]: e.get("weight") or 1 for e in score["enabled"] if e.get("name") in STRATEGIES}
        weights.update(asked)
        arguments = {name: self.args.pop(name) for name in STRATEGIES if name in self.args}
        touched = asked or arguments or disabled & STRATEGIES.keys()
        for sets in self.plugins.values():
            for side, entries in sets.items():
                sets[side] = [entry for entry in entries if entry.get("name") not in STRATEGIES]
        if not touched:
            return
        score = self.plugins.setdefault("score", score)
        if not weights:
            if "*" not in disabled:
                score["disabled"].append({"name": _FIT})
            return
        chosen = max(weights, key=lambda name: (weights[name], name in asked))
        for name in weights:
            if name != chosen:
                problem = f"NodeResourcesFit has one scoring strategy, and {STRATEGIES[chosen]} weighs no less"
                self.notes.append(f"{self.path}: {name} is left out: {problem}")
        score["enabled"].append({"name": _FIT, "weight": weights[chosen]})
        self._set_strategy(chosen, arguments.get(chosen, {}))

    def convert_labels(self) -> None:
        """NodeLabel's wishes as NodeAffinity's addedAffinity."""
        args = self.args.pop(_LABEL, {})
        weight = 0
        enabled = set()
        for point, sets in self.plugins.items():
            for entry in sets["enabled"]:
                if entry.get("name") == _LABEL:
                    enabled.add(point)
                    weight = max(weight, entry.get("weight") or 1 if point == "score" else 0)
            for side, entries in sets.items():
                sets[side] = [entry for entry in entries if entry.get("name") != _LABEL]
        required = _expressions(args.get("presentLabels"), args.get("absentLabels"))
        preferred = _expressions(args.get("presentLabelsPreference"), args.get("absentLabelsPreference"))
        added: dict[str, Any] = {}
        if required and "filter" in enabled:
            terms = {"nodeSelectorTerms": [{"matchExpressions": required}]}
            added["requiredDuringSchedulingIgnoredDuringExecution"] = terms
        if preferred and "score" in enabled:
            added["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": 1, "preference": {"matchExpressions": [expression]}} for expression in preferred
            ]
            self.plugins["score"]["enabled"].append({"name": _AFFINITY, "weight": weight * len(preferred)})
        if added:
            self.args.setdefault(_AFFINITY, {})["addedAffinity"] = added
            self.notes.append(f"{self.path}: {_LABEL}'s labels are asked for through {_AFFINITY}'s addedAffinity now")

    def drop_removed(self) -> None:
        """Leave out what no longer exists, with a note where it was asked for."""
        for name, what in REMOVED.items():
            asked = self.args.pop(name, None) is not None
            for sets in self.plugins.values():
                asked = asked or any(entry.get("name") == name for entry in sets["enabled"])
                for side, entries in sets.items():
                    sets[side] = [entry for entry in entries if entry.get("name") != name]
            if asked:
                self.notes.append(f"{self.path}: {name} {what}")

    def default_constraints(self) -> None:
        """Before v1beta2 constraints of one's own needed no word on where they come from."""
        args = self.args.get("PodTopologySpread")
        if args and args.get("defaultConstraints") and not args.get("defaultingType"):
            args["defaultingType"] = "List"

    def give(self, plugin: str, field: str, value: Any) -> None:
        """An argument that once stood elsewhere; what the file says at its new place holds."""
        self.args.setdefault(plugin, {}).setdefault(field, value)

    def disable(self, point: str, plugin: str) -> None:
        """Take a default plugin away from a point."""
        self.plugins.setdefault(point, {"enabled": [], "disabled": []})["disabled"].append({"name": plugin})

    def _set_strategy(self, chosen: str, arguments: Mapping[str, Any]) -> None:
        strategy: dict[str, Any] = {"type": STRATEGIES[chosen]}
        resources = arguments.get("resources") or list(_DEFAULT_RESOURCES)
        strategy["resources"] = [{"name": one.get("name"), "weight": one.get("weight") or 1} for one in resources]
        if chosen == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": arguments.get("shape") or []}
        self.give(_FIT, "scoringStrategy", strategy)

    def _plugin_sets(self, plugins: Any) -> dict[str, dict[str, list[dict[str, Any]]]]:
        path = child(self.path, "plugins")
        converted: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for point, sets in self._mapping(plugins, path).items():
            at = child(path, point)
            given = self._mapping(sets, at)
            converted[point] = {
                side: self._entries(given.get(side), child(at, side)) for side in ("enabled", "disabled")
            }
        return converted

    def _entries(self, entries: Any, path: str) -> list[dict[str, Any]]:
        if entries is None:
            return []
        if not isinstance(entries, list):
            self.faults.append(Fault(path, f"expected a list, got {shown(entries)}", "decode"))
            return []
        return [dict(self._mapping(entry, f"{path}[{index}]")) for index, entry in enumerate(entries)]

    def _arguments(self, configs: Any) -> dict[str, dict[str, Any]]:
        path = child(self.path, "pluginConfig")
        arguments: dict[str, dict[str, Any]] = {}
        for index, config in enumerate(self._entries(configs, path)):
            args = dict(self._mapping(config.get("args"), f"{path}[{index}].args"))
            if str(args.get("apiVersion", "")).startswith(API_VERSION.partition("/")[0] + "/"):
                args["apiVersion"] = API_VERSION
            arguments[str(config.get("name", ""))] = args
        return arguments

    def _mapping(self, value: Any, path: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.faults.append(Fault(path, f"expected an object, got {shown(value)}", "decode"))
            return {}
        return value


def _expressions(present: Any, absent: Any) -> list[dict[str, Any]]:
    wanted = [{"key": label, "operator": "Exists"} for label in present or ()]
    return wanted + [{"key": label, "operator": "DoesNotExist"} for label in absent or ()]
