"""Versions of Kubernetes and their feature gates: what is on, by default and as the user says.

Everything that differs between versions, or that a gate of kube-scheduler switches, asks a `Features` value by the
name of a gate; nothing asks for a version. The table itself is moorage.config.gatetable.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from moorage.config.gatetable import NEEDS, OWN, TABLE
from moorage.errors import InputError
from moorage.values.requests import RequestRules

#: version -> the release whose decisions it stands for.
RELEASES: Final = {"1.36": "v1.36.4", "1.37": "v1.37.1"}
VERSIONS: Final = tuple(RELEASES)
DEFAULT_VERSION: Final = "1.37"

# The gates that our code asks for.
DYNAMIC_RESOURCE_ALLOCATION: Final = "DynamicResourceAllocation"
NODE_DECLARED_FEATURES: Final = "NodeDeclaredFeatures"
COMPOSITE_POD_GROUP: Final = "CompositePodGroup"
GANG_SCHEDULING: Final = "GangScheduling"
GENERIC_WORKLOAD: Final = "GenericWorkload"
POD_GROUP_PREEMPTION_POLICY: Final = "PodGroupPreemptionPolicy"
WORKLOAD_AWARE_PREEMPTION: Final = "WorkloadAwarePreemption"
TOPOLOGY_AWARE_WORKLOAD_SCHEDULING: Final = "TopologyAwareWorkloadScheduling"
SCHEDULER_ASYNC_PREEMPTION: Final = "SchedulerAsyncPreemption"
SCHEDULER_POP_FROM_BACKOFF_Q: Final = "SchedulerPopFromBackoffQ"
STORAGE_CAPACITY_SCORING: Final = "StorageCapacityScoring"
DRA_SCHEDULER_FILTER_TIMEOUT: Final = "DRASchedulerFilterTimeout"
DRA_DEVICE_BINDING_CONDITIONS: Final = "DRADeviceBindingConditions"
DRA_RESOURCE_CLAIM_DEVICE_STATUS: Final = "DRAResourceClaimDeviceStatus"

TAINT_TOLERATION_COMPARISON_OPERATORS: Final = "TaintTolerationComparisonOperators"
POD_LEVEL_RESOURCES: Final = "PodLevelResources"
IN_PLACE_POD_LEVEL_RESIZE: Final = "InPlacePodLevelResourcesVerticalScaling"
VOLUME_LIMIT_SCALING: Final = "VolumeLimitScaling"

# The differences that Kubernetes has no gate for (gatetable.OWN).
ANY_ANTI_AFFINITY_WAKES: Final = "AnyAntiAffinityWakes"
FIRST_BROKEN_BUDGET_COUNTS: Final = "FirstBrokenBudgetCounts"
IMAGE_VOLUMES_COUNT: Final = "ImageVolumesCount"
NAMESPACE_SELECTORS_UNROLLED: Final = "NamespaceSelectorsUnrolled"
NODE_NAME_PRE_FILTER: Final = "NodeNamePreFilter"
NODE_TAINTS_WAKE_ALL: Final = "NodeTaintsWakeAll"
POD_EVENT_KINDS: Final = "PodEventKinds"
POD_GROUPS_BETA: Final = "PodGroupsBeta"
POD_GROUP_POST_FILTER_POINT: Final = "PodGroupPostFilterPoint"
PREEMPTION_MESSAGE: Final = "PreemptionMessage"
QUEUED_POD_GROUPS: Final = "QueuedPodGroups"
RESIZE_TOTALS: Final = "ResizeTotals"
SILENT_CLAIM_POST_FILTER: Final = "SilentClaimPostFilter"
VICTIM_START_TIME_ONCE: Final = "VictimStartTimeOnce"

#: DynamicResources waits for bindings only where both are on.
BINDING_TIMEOUT_GATES: Final = frozenset((DRA_DEVICE_BINDING_CONDITIONS, DRA_RESOURCE_CLAIM_DEVICE_STATUS))

# These two are no gates of their own: they stand for all of a stage that the user does not name.
_STAGE_OF_ALL: Final = {"AllAlpha": "alpha", "AllBeta": "beta"}
_COMPONENT: Final = "kube"
_OWN: Final = "own"


@dataclass(frozen=True, slots=True)
class GateSpec:
    """A gate in one version."""

    name: str
    stage: str
    default: bool
    locked: bool

    @property
    def is_own(self) -> bool:
        """A difference that Kubernetes has no gate for: nothing for users."""
        return self.stage == _OWN


@dataclass(frozen=True, slots=True)
class Features:
    """What is on: the behaviour of one version of Kubernetes, with the gates the user turned. Made by `features_of`."""

    version: str
    enabled: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.enabled

    @property
    def release(self) -> str:
        """The release of Kubernetes whose decisions these are."""
        return RELEASES[self.version]

    @property
    def request_rules(self) -> RequestRules:
        """How to add up what a pod asks for."""
        return RequestRules(
            pod_level=POD_LEVEL_RESOURCES in self,
            pod_level_resize=IN_PLACE_POD_LEVEL_RESIZE in self,
            resize_totals=RESIZE_TOTALS in self,
            compared_taints=TAINT_TOLERATION_COMPARISON_OPERATORS in self,
        )

    def gates(self) -> Iterator[tuple[GateSpec, bool]]:
        """Every gate that kube-scheduler of this version knows, by name, and whether it is on."""
        for name, spec in _specs(self.version).items():
            if not spec.is_own:
                yield spec, name in self.enabled

    def changed(self) -> dict[str, bool]:
        """The gates that differ from the version's defaults."""
        return {spec.name: on for spec, on in self.gates() if on != spec.default}


def features_of(version: str = DEFAULT_VERSION, gates: Mapping[str, bool] | None = None) -> Features:
    """The features of a version with these gates set.

    Raises InputError for a version or a gate that is not known, one that is locked, and one that lacks another.
    """
    if version not in VERSIONS:
        raise InputError(f'version "{version}" is not known; there are {", ".join(VERSIONS)}')
    specs = _specs(version)
    asked = dict(gates or {})
    for name, value in asked.items():
        _check(name, value, version)
    on = {name for name, spec in specs.items() if spec.default}
    for name, value in asked.items():
        of_stage = (spec.name for spec in specs.values() if spec.stage == _STAGE_OF_ALL.get(name))
        for member in (name, *(other for other in of_stage if other not in asked)):
            (on.add if value else on.discard)(member)
    _check_needs(on, specs)
    return Features(version, frozenset(on))


def with_gates(features: Features, gates: Mapping[str, bool]) -> Features:
    """These features with further gates set. Raises InputError as `features_of` does."""
    return features_of(features.version, {**features.changed(), **gates}) if gates else features


def parse_version(text: str) -> str:
    """A version as `--emulated-version` takes it: "1.37", "v1.37" or "kube=1.37". Raises InputError."""
    component, _, value = text.rpartition("=")
    version = value.strip().removeprefix("v")
    if component not in ("", _COMPONENT):
        raise InputError(f'component "{component}" is not known; write "{version}" or "{_COMPONENT}={version}"')
    if version.count(".") == 2 and version.rpartition(".")[0] in VERSIONS:
        raise InputError(f'write "{version.rpartition(".")[0]}", without a patch version')
    if version not in VERSIONS:
        raise InputError(f'version "{value}" is not known; there are {", ".join(VERSIONS)}')
    return version


def parse_gates(texts: Iterable[str]) -> dict[str, bool]:
    """Gates as `--feature-gates` takes them: "A=true,B=false", also as "kube:A=true". Raises InputError."""
    gates: dict[str, bool] = {}
    for item in (part.strip() for text in texts for part in text.split(",")):
        if not item:
            continue
        name, equals, value = item.partition("=")
        component, _, name = name.strip().rpartition(":")
        if component not in ("", _COMPONENT):
            raise InputError(f'component "{component}" of "{item}" is not known')
        if not equals:
            raise InputError(f'"{item}" has no value: write {item}=true or {item}=false')
        if value.strip() not in _BOOLEANS:
            raise InputError(f'"{value.strip()}" of {name} is neither true nor false')
        gates[name] = _BOOLEANS[value.strip()]
    return gates


#: What Go takes for a boolean.
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


@cache
def _specs(version: str) -> dict[str, GateSpec]:
    column = VERSIONS.index(version) + 1
    specs = {}
    for table in (TABLE, OWN):
        for line in table.strip().splitlines()[1:]:
            cells = [cell.strip() for cell in line.split("|")]
            if cells[column] != "-":
                stage, state, *locked = cells[column].split()
                specs[cells[0]] = GateSpec(cells[0], stage, state == "on", bool(locked))
    return specs


@cache
def _needs() -> dict[str, tuple[str, ...]]:
    rows = (line.partition(":") for line in NEEDS.strip().splitlines())
    return {name: tuple(needed.split()) for name, _, needed in rows}


def _check(name: str, value: bool, version: str) -> None:
    known = {spec.name: spec for spec in _specs(version).values() if not spec.is_own}
    spec = known.get(name)
    if spec is None:
        raise InputError(f'feature gate "{name}" is not known in {version}{_nearest(name, known)}')
    if spec.locked and value != spec.default:
        wanted, locked = str(value).lower(), str(spec.default).lower()
        raise InputError(f"feature gate {name} cannot be {wanted}: {version} has it locked to {locked}")


def _nearest(name: str, known: Iterable[str]) -> str:
    """What the user may have meant: in this version, or else in another."""
    of_others = {spec.name: version for version in VERSIONS for spec in _specs(version).values() if not spec.is_own}
    if name in of_others:
        return f"; {of_others[name]} has it"
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f'; did you mean "{near[0]}"?'
    near = difflib.get_close_matches(name, of_others, n=1)
    return f'; did you mean "{near[0]}", which {of_others[near[0]]} has?' if near else ""


def _check_needs(on: set[str], specs: Mapping[str, GateSpec]) -> None:
    for name, needed in _needs().items():
        lacking = [other for other in needed if other in specs and other not in on]
        if name in on and lacking:
            raise InputError(f"feature gate {name} is on, but needs {', '.join(lacking)}, which is off")


DEFAULT_FEATURES: Final = features_of()
