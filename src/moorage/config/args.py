"""The arguments of in-tree plugins, one type each. What a file leaves out has the default here."""

from collections.abc import Mapping
from typing import Final

from moorage.config.types import Int32, Int64, Section
from moorage.objects import NodeAffinity, TopologySpreadConstraint
from moorage.values.duration import Duration


class Args(Section, frozen=True):
    """The root of all plugin arguments."""


class ResourceSpec(Section, frozen=True):
    """A resource and its weight in a score."""

    name: str = ""
    weight: Int64 = 1


#: What is scored where nothing else is said.
DEFAULT_RESOURCES: Final = (ResourceSpec("cpu"), ResourceSpec("memory"))


class UtilizationShapePoint(Section, frozen=True):
    """The score (0..10) at a utilization (0..100) percent."""

    utilization: Int32 = 0
    score: Int32 = 0


class DefaultPreemptionArgs(Args, frozen=True):
    """How many candidate nodes a dry run of preemption looks at, at least."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class DynamicResourcesArgs(Args, frozen=True):
    """How long filtering may compute allocations, and how long binding waits for devices.

    None where the feature gate is off."""

    filter_timeout: Duration | None = None
    binding_timeout: Duration | None = None


class InterPodAffinityArgs(Args, frozen=True):
    """What the required affinity of pods already placed weighs in the score of their newcomers."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(Args, frozen=True):
    """Node affinity added to that of every pod of the profile."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(Args, frozen=True):
    """The resources whose shares are to be even."""

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


class RequestedToCapacityRatioParam(Section, frozen=True):
    """The score as a broken line over utilization."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Section, frozen=True):
    """LeastAllocated, MostAllocated or RequestedToCapacityRatio, over weighted resources."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(Args, frozen=True):
    """The resources that filtering overlooks, and how fitting nodes are scored."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy("LeastAllocated")


class PodTopologySpreadArgs(Args, frozen=True):
    """The constraints of pods that state none: the built-in ones (System) or a list of one's own (List)."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"


class VolumeBindingArgs(Args, frozen=True):
    """How long binding waits for volumes; the shape, where the gate allows one, scores nodes by free storage."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


#: plugin name -> the type of its arguments. Plugins not listed keep theirs as written.
ARGS_TYPES: Final[Mapping[str, type[Args]]] = {
    kind.__name__.removesuffix("Args"): kind
    for kind in (
        DefaultPreemptionArgs,
        DynamicResourcesArgs,
        InterPodAffinityArgs,
        NodeAffinityArgs,
        NodeResourcesBalancedAllocationArgs,
        NodeResourcesFitArgs,
        PodTopologySpreadArgs,
        VolumeBindingArgs,
    )
}
