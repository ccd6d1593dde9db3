"""The Policy file of Kubernetes 1.10 to 1.22: its fields, and what its predicates and priorities became."""

from collections.abc import Mapping
from typing import Final

from moorage.config.args import ResourceSpec, UtilizationShapePoint
from moorage.config.types import ExtenderManagedResource, ExtenderTLSConfig, Int32, Int64, Section


class LabelsPresence(Section, frozen=True):
    """Nodes must have all of these labels, or none of them."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class ServiceAffinity(Section, frozen=True):
    """Pods of a service go to nodes alike in these labels."""

    labels: tuple[str, ...] = ()


class PredicateArgument(Section, frozen=True):
    """What makes a predicate one's own."""

    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class Predicate(Section, frozen=True):
    """A condition on nodes, by name."""

    name: str = ""
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(Section, frozen=True):
    """Pods of a service spread over the values of a label."""

    label: str = ""


class LabelPreference(Section, frozen=True):
    """Nodes that have a label, or lack it, are better."""

    label: str = ""
    presence: bool = False


class RequestedToCapacityRatioArguments(Section, frozen=True):
    """The score as a broken line over utilization."""

    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PriorityArgument(Section, frozen=True):
    """What makes a priority one's own."""

    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class Priority(Section, frozen=True):
    """A way to score nodes, by name."""

    name: str = ""
    weight: Int64 = 0
    argument: PriorityArgument | None = None


class LegacyExtender(Section, frozen=True):
    """An extender; its timeout counts nanoseconds."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Int64 = 0
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class Policy(Section, frozen=True):
    """The whole file. Absent predicates or priorities stand for the default ones, an empty list for none."""

    predicates: tuple[Predicate, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    extenders: tuple[LegacyExtender, ...] = ()
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: bool = False


LABEL_PRESENCE: Final = "CheckNodeLabelPresence"
SERVICE_AFFINITY: Final = "CheckServiceAffinity"

#: predicate -> today's plugins, in the order predicates ran whatever the order of the file.
PREDICATE_PLUGINS: Final[Mapping[str, tuple[str, ...]]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    LABEL_PRESENCE: ("NodeAffinity",),
    SERVICE_AFFINITY: (),
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
PREDICATE_ALIASES: Final[Mapping[str, str]] = {"PodFitsPorts": "PodFitsHostPorts"}
MANDATORY_PREDICATES: Final = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
DEFAULT_PREDICATES: Final = (
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "PodToleratesNodeTaints",
    "CheckVolumeBinding",
    "CheckNodeUnschedulable",
    "EvenPodsSpread",
)
CLOUD_VOLUME_LIMITS: Final = (
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCinderVolumeCount",
)

SELECTOR_SPREAD: Final = "SelectorSpreadPriority"
EVEN_PODS_SPREAD: Final = "EvenPodsSpreadPriority"
RATIO: Final = "RequestedToCapacityRatio"

#: priority -> today's plugin; None where nothing came after it.
PRIORITY_PLUGINS: Final[Mapping[str, str | None]] = {
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
    RATIO: "NodeResourcesFit",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    SELECTOR_SPREAD: "PodTopologySpread",
    EVEN_PODS_SPREAD: "PodTopologySpread",
    "InterPodAffinityPriority": "InterPodAffinity",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
    "NodePreferAvoidPodsPriority": None,
    "ResourceLimitsPriority": None,
    "EqualPriority": None,
}
PRIORITY_ALIASES: Final[Mapping[str, str]] = {"ServiceSpreadingPriority": SELECTOR_SPREAD}
DEFAULT_PRIORITIES: Final[Mapping[str, int]] = {
    SELECTOR_SPREAD: 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    EVEN_PODS_SPREAD: 2,
}
SCORING_STRATEGIES: Final[Mapping[str, str]] = {
    "LeastRequestedPriority": "LeastAllocated",
    "MostRequestedPriority": "MostAllocated",
    RATIO: "RequestedToCapacityRatio",
}
