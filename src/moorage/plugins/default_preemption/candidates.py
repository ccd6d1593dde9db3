"""Dry runs: which pods would have to go from a node, the least important first, and where that costs least."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from moorage.columns import NodeInfo, PodInfo, Snapshot
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import FilterRunner
from moorage.framework.status import Status, error, unresolvable
from moorage.plugins.default_preemption.budgets import Budgets, PreemptionRules
from moorage.plugins.default_preemption.sums import Sums
from moorage.plugins.default_preemption.units import Unit, Units, split

NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")

#: Added to priorities before they are summed, so that more victims never sum to less.
_PRIORITY_OFFSET = 2**31


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that would fit without these victims, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]
    violations: int


class DryRuns:
    """Dry runs for one pod that fits nowhere."""

    def __init__(
        self,
        filters: FilterRunner,
        state: CycleState,
        pod: PodInfo,
        budgets: Budgets,
        rules: PreemptionRules,
        snapshot: Snapshot,
    ) -> None:
        self._filters = filters
        self._state = state
        self._pod = pod
        self._budgets = budgets
        self._rules = rules
        self._nodes = snapshot.nodes
        #: Since 1.37 members of groups may be evicted only together.
        self._units = Units(snapshot) if rules.units else None
        needs = filters.needs_alone(state)
        self._sums = Sums(needs) if needs is not None else None

    def on(self, node: NodeInfo) -> Candidate | Status:
        """The fewest and least important pods to evict from a node; or why that does not help."""
        priority = self._pod.priority
        if self._units is not None and self._units.concern(node.pods.values()):
            return self._by_units([unit for unit in self._units.of((node,)) if unit.priority < priority], node)
        potential = [other for other in node.pods.values() if other.priority < priority]
        if not potential:
            return NO_VICTIMS
        if self._sums is not None and node.is_sane and self._filters.suits(self._state, self._pod, node):
            found = self._by_sums(self._sums, node, potential)
            if found is not None:
                return found
        return self._by_filters(node, potential)

    def _by_filters(self, node: NodeInfo, potential: Sequence[PodInfo]) -> Candidate | Status:
        """Take all of them away, then put back whom the filters let stay."""
        filters, pod, state, node = self._filters, self._pod, self._state.clone(), node.copy()
        for other in potential:
            filters.remove_pod(state, pod, other, node)
        refusal = filters.filter_with_nominated(state, pod, node)
        if refusal is not None:
            return refusal

        def must_go(other: PodInfo) -> bool:
            filters.add_pod(state, pod, other, node)
            fits = filters.filter_with_nominated(state, pod, node) is None
            if not fits:
                filters.remove_pod(state, pod, other, node)
            return not fits

        violating, sparing = self._budgets.split(by_importance(potential, self._rules))
        unlucky = [other for other in violating if must_go(other)]
        return self._candidate(node, unlucky, [other for other in sparing if must_go(other)], resort=bool(violating))

    def _by_units(self, units: list[Unit], node: NodeInfo) -> Candidate | Status:
        """The same where members of groups go together: those on other nodes leave only what plugins remember."""
        if not units:
            return NO_VICTIMS
        pod, state, main = self._pod, self._state.clone(), node.copy()

        def remove(unit: Unit) -> None:
            for other in unit.pods:
                if other.spec.node_name == main.name:
                    self._filters.remove_pod(state, pod, other, main)
                elif (remote := self._nodes.get(other.spec.node_name)) is not None:
                    self._filters.tell_removed(state, pod, other, remote)

        def add(unit: Unit) -> None:
            for other in unit.pods:
                if other.spec.node_name == main.name:
                    self._filters.add_pod(state, pod, other, main)
                elif (remote := self._nodes.get(other.spec.node_name)) is not None:
                    self._filters.tell_added(state, pod, other, remote)

        def must_go(unit: Unit) -> bool:
            add(unit)
            fits = self._filters.filter_with_nominated(state, pod, main) is None
            if not fits:
                remove(unit)
            return not fits

        for unit in units:
            remove(unit)
        refusal = self._filters.filter_with_nominated(state, pod, main)
        if refusal is not None:
            return refusal
        units.sort(key=lambda unit: unit.order)
        violating, sparing = split(units, self._budgets)
        unlucky = [(unit, count) for unit, count in violating if must_go(unit)]
        others = [unit for unit in sparing if must_go(unit)]
        victims = sorted((*(unit for unit, _ in unlucky), *others), key=lambda unit: unit.order)
        if not victims:
            return error(f'expected at least one victim pod on node "{node.name}"')
        violations = sum(count for _, count in unlucky)
        return Candidate(node.name, tuple(one for unit in victims for one in unit.pods), violations)

    def _by_sums(self, sums: Sums, node: NodeInfo, potential: Sequence[PodInfo]) -> Candidate | Status | None:
        """The same where fitting is a matter of sums alone; None where the pod does not fit even so."""
        violating, sparing = (sums.runs(pods) for pods in self._budgets.split(by_importance(potential, self._rules)))
        spare = sums.spare_without(node, violating + sparing)
        if min(spare) < 0:
            return None
        unlucky = sums.victims(violating, spare)
        return self._candidate(node, unlucky, sums.victims(sparing, spare), resort=bool(violating))

    def _candidate(
        self, node: NodeInfo, violating: list[PodInfo], others: list[PodInfo], *, resort: bool
    ) -> Candidate | Status:
        victims = violating + others
        if not victims:
            # The pod fits as it is: somebody else than a filter refused the node.
            return error(f'expected at least one victim pod on node "{node.name}"')
        ordered = by_importance(victims, self._rules) if resort else victims
        return Candidate(node.name, tuple(ordered), len(violating))


def cheapest(candidates: Sequence[Candidate], now: float) -> list[Candidate]:
    """The candidates that cost least by all criteria in turn; more than one only if they tie in all."""
    costs = [_cost(one) for one in candidates]
    lowest = min(costs)
    best = [one for one, cost in zip(candidates, costs, strict=True) if cost == lowest]
    if len(best) > 1:
        latest = max(_start(one, now) for one in best)
        best = [one for one in best if _start(one, now) == latest]
    return best


def _cost(one: Candidate) -> tuple[int, int, int, int]:
    """Broken budgets, the highest priority among the victims, their priorities together, their number."""
    total = sum([victim.priority for victim in one.victims]) + _PRIORITY_OFFSET * len(one.victims)
    return one.violations, one.victims[0].priority, total, len(one.victims)


def _start(one: Candidate, now: float) -> float:
    """The earliest start among the victims of the highest priority: the later, the less work is lost."""
    highest = max(victim.priority for victim in one.victims)
    return min(min(victim.started, now) for victim in one.victims if victim.priority == highest)


def by_importance(pods: Iterable[PodInfo], rules: PreemptionRules) -> list[PodInfo]:
    """The pods, the most important first; those alike stay in their order.

    A pod that has not started counts as started now, so it comes after all that have. QUIRK: among such pods the sort
    of kube-scheduler before 1.37 puts the one that arrived last first.
    """
    arrived = list(pods)
    if not rules.start_times_once and math.inf in [pod.started for pod in arrived]:
        waiting = [pod for pod in arrived if pod.started == math.inf]
        arrived = [pod for pod in arrived if pod.started != math.inf] + waiting[::-1]
    return sorted(arrived, key=_key)


def _key(pod: PodInfo) -> tuple[int, float]:
    return -pod.priority, pod.started
