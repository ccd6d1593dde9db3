"""Dry runs: which pods would have to go from a node, and on which node that costs least."""

from collections.abc import Sequence
from dataclasses import dataclass

from moorage.columns import NodeInfo, PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import FilterRunner
from moorage.framework.status import Status, error, unresolvable
from moorage.plugins.default_preemption.budgets import Budgets
from moorage.plugins.default_preemption.importance import by_importance
from moorage.plugins.default_preemption.rules import PreemptionRules
from moorage.plugins.default_preemption.sums import Sums

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
        self, filters: FilterRunner, state: CycleState, pod: PodInfo, budgets: Budgets, rules: PreemptionRules
    ) -> None:
        self._filters = filters
        self._state = state
        self._pod = pod
        self._budgets = budgets
        self._rules = rules
        needs = filters.needs_alone(state)
        self._sums = Sums(needs) if needs is not None else None

    def on(self, node: NodeInfo) -> Candidate | Status:
        """The fewest and least important pods to evict from a node; or why that does not help."""
        priority = self._pod.priority
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
