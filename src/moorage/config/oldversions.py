"""Configurations of earlier versions, v1alpha1 to v1beta3, turned into today's, with notes on what changed.

v1alpha1 has one profile's fields at the top and may name a Policy (file or ConfigMap), which the caller reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moorage.config.fields import ConfigErrors, Fault, shown
from moorage.config.load import parse_config
from moorage.config.oldplugins import ProfileConversion
from moorage.config.policy import Conversion, convert_policy
from moorage.config.types import API_VERSION, KIND, OLD_VERSIONS, POLICY, old_version
from moorage.errors import InputError
from moorage.values import yaml

POLICY_KEY: Final = "policy.cfg"
_UP_TO_BETA1 = ("v1alpha1", "v1alpha2", "v1beta1")
_UP_TO_BETA2 = (*_UP_TO_BETA1, "v1beta2")
_PROFILE_FIELDS = ("schedulerName", "plugins", "pluginConfig")
_REMOVED_FIELDS: Final[Mapping[str, str]] = {
    "healthzBindAddress": "health is served by --secure-port",
    "metricsBindAddress": "metrics are served by --secure-port",
    "failureDomains": "it had no effect",
    "featureGates": "feature gates are flags",
    "topologySpreadConstraints": "defaultConstraints of PodTopologySpread took its place",
}
_PROVIDERS: Final[Mapping[str, str]] = {
    "": "",
    "DefaultProvider": "",
    "ClusterAutoscalerProvider": "MostAllocated",
}


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A configuration's policy stands in a file."""

    path: str


@dataclass(frozen=True, slots=True)
class PolicyConfigMap:
    """A configuration's policy stands in a ConfigMap, under `policy.cfg`."""

    namespace: str
    name: str


def read_document(text: str | bytes, *, source: str = "") -> Mapping[str, Any]:
    """An old file's document; a Policy, too. Raises ConfigErrors."""
    try:
        document = yaml.load(text)
    except InputError as error:
        raise ConfigErrors([Fault("", error.problem, "decode")], source=source) from None
    if not isinstance(document, Mapping):
        raise ConfigErrors(
            [Fault("", f"expected a {KIND} or a {POLICY}, got {shown(document)}", "decode")], source=source
        )
    return document


def named_policy(document: Mapping[str, Any], *, source: str = "") -> PolicyFile | PolicyConfigMap | None:
    """Where a v1alpha1 configuration says its policy is; None if it has none. Raises ConfigErrors."""
    policy = _at(document, "algorithmSource", "policy")
    if policy is None:
        return None
    file, config_map = _at(policy, "file"), _at(policy, "configMap")
    if file is not None and config_map is None and _text(file, "path"):
        return PolicyFile(_text(file, "path"))
    if config_map is not None and file is None and _text(config_map, "name"):
        return PolicyConfigMap(_text(config_map, "namespace") or "kube-system", _text(config_map, "name"))
    problem = "expected a file with its path, or a configMap with namespace and name"
    raise ConfigErrors([Fault("algorithmSource.policy", problem, "decode")], source=source)


def convert_document(
    document: Mapping[str, Any],
    *,
    source: str = "",
    policy: str | bytes | None = None,
    policy_source: str = "",
) -> Conversion:
    """Convert a configuration of any version. `policy` is the text of the policy that goes with it, if one does.

    Raises ConfigErrors where the file is none, or wrong.
    """
    version = old_version(document)
    if version == POLICY:
        return convert_policy(yaml.dump(dict(document)), source=source)
    if not version:
        _refuse_unknown(document, source)
        parse_config(document, source=source)
        return Conversion(dict(document), ("the file is in today's form already",))
    converter = _Converter(document, version)
    if policy is not None:
        converter.take_policy(convert_policy(policy, source=policy_source))
    converter.convert()
    if converter.faults:
        raise ConfigErrors(converter.faults, source=source)
    return _checked(converter.document, converter.notes, source)


def _refuse_unknown(document: Mapping[str, Any], source: str) -> None:
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind != KIND:
        problem = f'expected "{POLICY}" or "{KIND}", got {shown(kind)}'
        raise ConfigErrors([Fault("kind", problem, "decode")], source=source)
    if version != API_VERSION:
        known = ", ".join(f'"{name}"' for name in (*OLD_VERSIONS, API_VERSION))
        raise ConfigErrors(
            [Fault("apiVersion", f"expected one of {known}, got {shown(version)}", "decode")], source=source
        )


def _checked(document: dict[str, Any], notes: list[str], source: str) -> Conversion:
    """What does not hold as a configuration is refused; what may only lack a plugin of the user's own is a note."""
    try:
        parse_config(document, source=f"{source} (converted)" if source else "")
    except ConfigErrors as refused:
        if refused.stage != "build":
            raise
        notes += (f"{fault} (with --plugin, a plugin of your own is known)" for fault in refused.faults)
    return Conversion(document, tuple(notes))


class _Converter:
    """One configuration on its way, with the notes and faults met."""

    def __init__(self, document: Mapping[str, Any], version: str) -> None:
        self.old = document
        self.version = version
        self.notes: list[str] = []
        self.faults: list[Fault] = []
        self.document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
        self.policy: Conversion | None = None

    def take_policy(self, policy: Conversion) -> None:
        self.policy = policy
        self.notes += policy.notes

    def convert(self) -> None:
        moved = {"apiVersion", "kind", "profiles", "algorithmSource", "disablePreemption", "leaderElection"}
        moved |= {"bindTimeoutSeconds", "hardPodAffinitySymmetricWeight", *_REMOVED_FIELDS}
        if self.version == "v1alpha1":
            moved |= set(_PROFILE_FIELDS)
        for name, value in self.old.items():
            if name in _REMOVED_FIELDS:
                self.notes.append(f"{name} is left out: {_REMOVED_FIELDS[name]}")
            elif name not in moved:
                self.document[name] = value
        self._convert_election()
        profiles = [self._profile(profile, path) for profile, path in self._old_profiles()]
        if self.policy is not None:
            profiles = self._with_policy(profiles)
        if any(profiles):
            self.document["profiles"] = profiles
        if self.version in _UP_TO_BETA2 and self.policy is None:
            self.notes.append(
                "default weights are other ones now: TaintToleration 3, NodeAffinity 2, InterPodAffinity 2 (each was 1)"
            )

    def _old_profiles(self) -> list[tuple[Mapping[str, Any], str]]:
        if self.version == "v1alpha1":
            top = {name: self.old[name] for name in _PROFILE_FIELDS if self.old.get(name) is not None}
            return [(top, "")]
        profiles = self.old.get("profiles")
        if profiles is None:
            return [({}, "profiles[0]")]
        if not isinstance(profiles, list) or not all(isinstance(profile, Mapping) for profile in profiles):
            self.faults.append(Fault("profiles", f"expected a list of objects, got {shown(profiles)}", "decode"))
            return []
        return [(profile, f"profiles[{index}]") for index, profile in enumerate(profiles)]

    def _profile(self, profile: Mapping[str, Any], path: str) -> dict[str, Any]:
        if self.policy is not None and profile.get("plugins"):
            problem = "cannot be given together with a policy, which says which plugins run"
            self.faults.append(Fault(f"{path}.plugins" if path else "plugins", problem))
        conversion = ProfileConversion(profile, path or "the profile", self.notes, self.faults)
        if self.version == "v1alpha1":
            conversion.rename_points({"postFilter": "preScore"})
        if self.version in _UP_TO_BETA1:
            conversion.rename_points({"unreserve": "reserve"})
            conversion.merge_strategies(scores_by_default=True)
            conversion.convert_labels()
            conversion.default_constraints()
        conversion.drop_removed()
        self._provider(conversion)
        self._moved_arguments(conversion)
        return conversion.profile()

    def _provider(self, conversion: ProfileConversion) -> None:
        provider = _at(self.old, "algorithmSource", "provider")
        if provider is None or self.policy is not None:
            return
        if provider not in _PROVIDERS:
            self.faults.append(Fault("algorithmSource.provider", f"there was no provider {shown(provider)}"))
        elif _PROVIDERS[provider]:
            resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
            strategy = {"type": _PROVIDERS[provider], "resources": resources}
            conversion.give("NodeResourcesFit", "scoringStrategy", strategy)

    def _moved_arguments(self, conversion: ProfileConversion) -> None:
        if self.old.get("disablePreemption") is True:
            conversion.disable("postFilter", "DefaultPreemption")
        seconds = self.old.get("bindTimeoutSeconds")
        if seconds is not None:
            conversion.give("VolumeBinding", "bindTimeoutSeconds", seconds)
        weight = self.old.get("hardPodAffinitySymmetricWeight")
        if weight is not None:
            conversion.give("InterPodAffinity", "hardPodAffinityWeight", weight)

    def _convert_election(self) -> None:
        old = self.old.get("leaderElection")
        if old is None:
            return
        if not isinstance(old, Mapping):
            self.faults.append(Fault("leaderElection", f"expected an object, got {shown(old)}", "decode"))
            return
        election = dict(old)
        for lock, resource in (("lockObjectName", "resourceName"), ("lockObjectNamespace", "resourceNamespace")):
            value = election.pop(lock, None)
            if value:
                election.setdefault(resource, value)
        if election.get("resourceLock") not in (None, "", "leases"):
            self.notes.append(f"leaderElection.resourceLock is leases now, not {election['resourceLock']}")
            election["resourceLock"] = "leases"
        self.document["leaderElection"] = election

    def _with_policy(self, profiles: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The policy's plugins under the file's name, its arguments beneath the file's own."""
        assert self.policy is not None
        if "extenders" in self.policy.document:
            self.document["extenders"] = self.policy.document["extenders"]
        ruled = self.policy.document["profiles"][0]
        args = {config["name"]: dict(config["args"]) for config in ruled.get("pluginConfig", ())}
        for profile in profiles:
            for config in profile.get("pluginConfig", ()):
                args[config["name"]] = {**args.get(config["name"], {}), **config["args"]}
            if profile.get("schedulerName"):
                ruled = {**ruled, "schedulerName": profile["schedulerName"]}
        if args:
            ruled = {**ruled, "pluginConfig": [{"name": name, "args": value} for name, value in args.items()]}
        return [ruled]


def _at(document: Any, *names: str) -> Any:
    for name in names:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def _text(section: Any, name: str) -> str:
    value = _at(section, name)
    return value if isinstance(value, str) else ""
