"""Spread constraints, compiled."""

from collections.abc import Iterable
from dataclasses import dataclass

from moorage.columns import PodInfo
from moorage.columns.domains import Topology
from moorage.columns.tallies import Clause, PodSelection
from moorage.objects import TopologySpreadConstraint
from moorage.values.selector import Labels, Selector, compile_selector

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
HONOR = "Honor"


@dataclass(frozen=True)
class Constraint:
    """One constraint with everything defaulted."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    def selection(self, namespace: str) -> PodSelection:
        """The pods that count: of this namespace, not being deleted. QUIRK: an empty selector counts none."""
        selector = Selector(nothing=True) if self.selector.is_empty else self.selector
        return PodSelection((Clause(frozenset((namespace,)), selector),), terminating=False)

    def topology(self, pod: PodInfo, required_keys: frozenset[str], *, absent_is_empty: bool = False) -> Topology:
        """The domains, and the nodes the constraint's policies let take part."""
        affinity = pod.pod_class.node_affinity
        return Topology(
            self.topology_key,
            required_keys,
            affinity if self.honors_affinity and not affinity.is_trivial else None,
            pod.pod_class.tolerations if self.honors_taints else None,
            absent_is_empty,
        )


def compile_constraints(items: Iterable[TopologySpreadConstraint], action: str, labels: Labels) -> list[Constraint]:
    """Compile those with this whenUnsatisfiable, for a pod with these labels. Raises InputError if malformed."""
    return [_compile(item, labels) for item in items if item.when_unsatisfiable == action]


def keys_of(constraints: Iterable[Constraint]) -> frozenset[str]:
    """All topology keys."""
    return frozenset(one.topology_key for one in constraints)


def _compile(item: TopologySpreadConstraint, labels: Labels) -> Constraint:
    own = {key: labels[key] for key in item.match_label_keys if key in labels}
    selector = compile_selector(item.label_selector)
    return Constraint(
        max_skew=item.max_skew,
        topology_key=item.topology_key,
        selector=selector.and_labels(own) if own else selector,
        min_domains=1 if item.min_domains is None else item.min_domains,
        honors_affinity=(item.node_affinity_policy or HONOR) == HONOR,
        honors_taints=item.node_taints_policy == HONOR,
    )
