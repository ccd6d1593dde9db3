"""Dry runs: which pods would have to go from a node, and on which node that costs least."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moorage.columns import NodeInfo, PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import FilterRunner
from moorage.framework.status import Status, unresolvable
from moorage.plugins.default_preemption.budgets import Budgets
from moorage.plugins.default_preemption.importance import by_importance
from moorage.values.requests import PODS

NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")

#: Added to priorities before they are summed, so that more victims never sum to less.
_PRIORITY_OFFSET = 2**31


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that would fit without these victims, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]
    violations: int


def dry_run(
    filters: FilterRunner, state: CycleState, pod: PodInfo, node: NodeInfo, budgets: Budgets
) -> Candidate | Status:
    """The fewest and least important pods to evict from a node; or why that does not help."""
    potential = [other for other in node.pods.values() if other.priority < pod.priority]
    if not potential:
        return NO_VICTIMS
    needs = filters.needs_alone(state, pod, node)
    if needs is not None:
        found = _dry_run_by_sums(needs, node, potential, budgets)
        if found is not None:
            return found
    state, node = state.clone(), node.copy()
    for other in potential:
        filters.remove_pod(state, pod, other, node)
    refusal = filters.filter_with_nominated(state, pod, node)
    if refusal is not None:
        return refusal
    violating, sparing = budgets.split(by_importance(potential))
    victims: list[PodInfo] = []
    for other in violating:
        _reprieve(filters, state, pod, node, other, victims)
    violations = len(victims)
    for other in sparing:
        _reprieve(filters, state, pod, node, other, victims)
    return Candidate(node.name, tuple(by_importance(victims) if violating and sparing else victims), violations)


def _dry_run_by_sums(
    needs: Mapping[str, int], node: NodeInfo, potential: Sequence[PodInfo], budgets: Budgets
) -> Candidate | None:
    """The same where fitting is a matter of sums alone; None where the pod does not fit even so."""
    spare = {name: node.free(name) - need for name, need in needs.items()}
    for other in potential:
        amounts = other.request.amounts
        for name in spare:
            spare[name] += 1 if name == PODS else amounts.get(name, 0)
    if any(left < 0 for left in spare.values()):
        return None
    violating, sparing = budgets.split(by_importance(potential))
    victims = [other for other in violating if not _put_back(other, spare)]
    violations = len(victims)
    victims += [other for other in sparing if not _put_back(other, spare)]
    return Candidate(node.name, tuple(by_importance(victims) if violating and sparing else victims), violations)


def _put_back(other: PodInfo, spare: dict[str, int]) -> bool:
    """Take the pod's share out of what is to spare, if that suffices."""
    amounts = other.request.amounts
    rest = {name: left - (1 if name == PODS else amounts.get(name, 0)) for name, left in spare.items()}
    if any(left < 0 for left in rest.values()):
        return False
    spare.update(rest)
    return True


def _reprieve(
    filters: FilterRunner, state: CycleState, pod: PodInfo, node: NodeInfo, other: PodInfo, victims: list[PodInfo]
) -> None:
    """Put a pod back if the new one still fits beside it; else it is a victim."""
    filters.add_pod(state, pod, other, node)
    if filters.filter_with_nominated(state, pod, node) is not None:
        filters.remove_pod(state, pod, other, node)
        victims.append(other)


def cheapest(candidates: Sequence[Candidate], now: float) -> list[Candidate]:
    """The candidates that cost least by all criteria in turn; more than one only if they tie in all."""
    best = list(candidates)
    for cost in (_violations, _highest_priority, _sum_of_priorities, _number, lambda one: -_youngest(one, now)):
        lowest = min(cost(one) for one in best)
        best = [one for one in best if cost(one) == lowest]
        if len(best) == 1:
            break
    return best


def _violations(one: Candidate) -> float:
    return one.violations


def _highest_priority(one: Candidate) -> float:
    return one.victims[0].priority


def _sum_of_priorities(one: Candidate) -> float:
    return sum(victim.priority + _PRIORITY_OFFSET for victim in one.victims)


def _number(one: Candidate) -> float:
    return len(one.victims)


def _youngest(one: Candidate, now: float) -> float:
    """The earliest start among the victims of the highest priority: the later, the less work is lost."""
    highest = max(victim.priority for victim in one.victims)
    return min(min(victim.started, now) for victim in one.victims if victim.priority == highest)
