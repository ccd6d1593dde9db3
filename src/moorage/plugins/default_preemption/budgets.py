"""Pod disruption budgets: which victims one had better spare, by the rules of the version."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from moorage.columns import PodInfo
from moorage.errors import InputError
from moorage.objects import PodDisruptionBudget
from moorage.values.selector import Selector, compile_selector


@dataclass(frozen=True, slots=True)
class PreemptionRules:
    """`first_broken_budget`: a victim is charged to its budgets up to the first it breaks; before 1.37 to all of them.

    `start_times_once`: victims that have not started keep the order in which they came to the node. Before 1.37
    kube-scheduler took the time anew in each comparison, which turned them round.

    `units`: members of groups that are disrupted as a whole are evicted together, for single pods, too.
    """

    first_broken_budget: bool = True
    start_times_once: bool = True
    units: bool = True


class Budgets:
    """The budgets of the cluster, selectors compiled."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget], rules: PreemptionRules) -> None:
        self._rules = rules
        self._budgets = [(budget, selector) for budget in budgets if (selector := _selector(budget)) is not None]

    def split(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Pods whose eviction would break a budget, and the others, when evicted in this order."""
        if not self._budgets:
            return [], list(pods)
        allowed = [budget.status.disruptions_allowed for budget, _ in self._budgets]
        violating: list[PodInfo] = []
        sparing: list[PodInfo] = []
        for pod in pods:
            (violating if self._spend(pod, allowed) else sparing).append(pod)
        return violating, sparing

    def _spend(self, pod: PodInfo, allowed: list[int]) -> bool:
        violated = False
        for index, (budget, selector) in enumerate(self._budgets):
            if budget.metadata.namespace != pod.namespace or not pod.labels or not selector.matches(pod.labels):
                continue
            if pod.name in budget.status.disrupted_pods:
                continue  # the API server has already counted this one
            allowed[index] -= 1
            violated = violated or allowed[index] < 0
            if violated and self._rules.first_broken_budget:
                break
        return violated


def _selector(budget: PodDisruptionBudget) -> Selector | None:
    """The compiled selector; None for one that matches nothing: absent, empty or malformed."""
    try:
        selector = compile_selector(budget.spec.selector)
    except InputError:
        return None
    return None if selector.is_empty or selector.nothing else selector
