"""Pod disruption budgets: which victims one had better spare."""

from collections.abc import Iterable, Sequence

from moorage.columns import PodInfo
from moorage.errors import InputError
from moorage.objects import PodDisruptionBudget
from moorage.plugins.default_preemption.rules import PreemptionRules
from moorage.values.selector import Selector, compile_selector


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
