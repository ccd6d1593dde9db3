"""PodDisruptionBudgets: how many pods may be disturbed now, counted into their status."""

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.controllers.objects.meta import Condition, OwnerReference, as_json, with_condition
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import (
    BudgetStatus,
    Deployment,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
    scaled,
)
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.expectations import Freshness
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.runtime.ownership import namespace_of
from moorage.errors import InputError
from moorage.kube.informer import Key
from moorage.kube.recorder import WARNING
from moorage.values.selector import compile_selector
from moorage.values.time import time_of

Json = dict[str, Any]

EVICTION_SECONDS = 120.0
"""How long an evicted pod may take to go before it counts again."""


class _Uncountable(Exception):
    """Nobody can say how many pods there should be."""


class DisruptionController(Controller):
    """Counts healthy pods under each budget."""

    name = "disruption"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._budgets = cluster.informers.watch(PodDisruptionBudget, self.enqueue)
        self._budgets_in = cluster.informers.index(PodDisruptionBudget, namespace_of)
        cluster.informers.watch(Pod, self._pod_changed)
        self._pods_in = cluster.informers.index(Pod, namespace_of)
        self._replica_sets = cluster.informers.watch(ReplicaSet, self._scale_changed)
        self._deployments = cluster.informers.watch(Deployment, self._scale_changed)
        self._stateful_sets = cluster.informers.watch(StatefulSet, self._scale_changed)
        self._freshness = Freshness()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            for budget in self._budgets_in[pod.metadata.namespace] if pod is not None else ():
                if pod is not None and _guards(budget, pod):
                    self.enqueue_counting(key_of(budget), self._pods_in.count(pod.metadata.namespace))

    def _scale_changed(
        self, old: ReplicaSet | Deployment | StatefulSet | None, new: ReplicaSet | Deployment | StatefulSet | None
    ) -> None:
        changed = new if new is not None else old
        if changed is None or (old is not None and new is not None and old.spec.replicas == new.spec.replicas):
            return
        for budget in self._budgets_in[changed.metadata.namespace]:
            self.queue.add(key_of(budget))

    async def sync(self, key: Key) -> float | None:
        """Count for one budget. Returns when a pod that should have gone counts again."""
        budget = self._budgets.get(key[1], key[0])
        if budget is None or not self._freshness.is_fresh(budget):
            return None
        pods = [pod for pod in self._pods_in[key[0]] if _guards(budget, pod)]
        disrupted = self._still_disrupted(budget, pods)
        healthy = sum(pod.is_ready and pod.is_active and pod.metadata.name not in disrupted for pod in pods)
        try:
            expected, desired = self._wanted(budget, pods)
        except _Uncountable as problem:
            self.record(budget, "CalculateExpectedPodCountFailed", str(problem), action="Counting", event_type=WARNING)
            await self._write(budget, _failed(budget, str(problem), self.cluster.now()))
            return None
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status = BudgetStatus(
            observed_generation=budget.metadata.generation,
            disruptions_allowed=allowed,
            current_healthy=healthy,
            desired_healthy=desired,
            expected_pods=expected,
            disrupted_pods=disrupted,
            conditions=_with_verdict(budget, self.cluster.now(), allowed > 0),
        )
        await self._write(budget, status)
        ends = [time_of(since) for since in disrupted.values()]
        waits = [at + EVICTION_SECONDS - self.cluster.clock() for at in ends if at is not None]
        return max(1.0, min(waits)) if waits else None

    def _still_disrupted(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> dict[str, str]:
        """Pods that were evicted and have not begun to go: for a while they count as gone."""
        there = {pod.metadata.name for pod in pods if not pod.metadata.is_terminating}
        now = self.cluster.clock()
        return {
            name: since
            for name, since in budget.status.disrupted_pods.items()
            if name in there and (time_of(since) or 0.0) + EVICTION_SECONDS > now
        }

    def _wanted(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> tuple[int, int]:
        """How many pods there should be, and how many of them have to stay healthy."""
        least, most_missing = budget.spec.min_available, budget.spec.max_unavailable
        if most_missing is not None:
            expected = self._expected(pods)
            return expected, max(0, expected - scaled(most_missing, expected, round_up=True))
        if isinstance(least, int):
            return len(pods), least
        if least is not None:
            expected = self._expected(pods)
            return expected, scaled(least, expected, round_up=True)
        return len(pods), 0

    def _expected(self, pods: Sequence[Pod]) -> int:
        """The sum of what the pods' controllers want."""
        sizes: dict[str, int] = {}
        for pod in pods:
            owner = pod.metadata.controller
            if owner is None:
                raise _Uncountable(f'found no controller ref for pod "{pod.metadata.name}"')
            uid, size = self._scale_of(pod.metadata.namespace, owner)
            sizes[uid] = size
        return sum(sizes.values())

    def _scale_of(self, namespace: str, owner: OwnerReference) -> tuple[str, int]:
        if owner.kind == ReplicaSet.KIND:
            replica_set = self._replica_sets.get(owner.name, namespace)
            above = replica_set.metadata.controller if replica_set is not None else None
            if above is not None and above.kind == Deployment.KIND:
                deployment = self._deployments.get(above.name, namespace)
                if deployment is not None:
                    return above.uid, deployment.spec.replicas
            if replica_set is not None:
                return owner.uid, replica_set.spec.replicas
        if owner.kind == StatefulSet.KIND:
            stateful_set = self._stateful_sets.get(owner.name, namespace)
            if stateful_set is not None:
                return owner.uid, stateful_set.spec.replicas
        raise _Uncountable(f'cannot tell how many pods {owner.kind} "{owner.name}" wants')

    async def _write(self, budget: PodDisruptionBudget, status: BudgetStatus) -> None:
        if status == budget.status:
            return
        gone = dict.fromkeys(budget.status.disrupted_pods.keys() - status.disrupted_pods.keys())
        answer = await self.cluster.writer.patch_status(budget, _status_json(status, gone), is_guarded=True)
        self._freshness.wrote(answer)


def _guards(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return compile_selector(budget.spec.selector).matches(pod.metadata.labels)
    except InputError:
        return False


def _with_verdict(budget: PodDisruptionBudget, stamp: str, is_allowed: bool) -> tuple[Condition, ...]:
    told = Condition(
        "DisruptionAllowed",
        "True" if is_allowed else "False",
        "SufficientPods" if is_allowed else "InsufficientPods",
        last_transition_time=stamp,
        observed_generation=budget.metadata.generation,
    )
    return with_condition(budget.status.conditions, told)


def _failed(budget: PodDisruptionBudget, message: str, stamp: str) -> BudgetStatus:
    told = Condition(
        "DisruptionAllowed",
        "False",
        "SyncFailed",
        message,
        last_transition_time=stamp,
        observed_generation=budget.metadata.generation,
    )
    conditions = with_condition(budget.status.conditions, told)
    status = budget.status
    return BudgetStatus(
        observed_generation=budget.metadata.generation,
        disruptions_allowed=0,
        current_healthy=status.current_healthy,
        desired_healthy=status.desired_healthy,
        expected_pods=status.expected_pods,
        disrupted_pods=status.disrupted_pods,
        conditions=conditions,
    )


def _status_json(status: BudgetStatus, gone: Mapping[str, None]) -> Json:
    return {
        "observedGeneration": status.observed_generation,
        "disruptionsAllowed": status.disruptions_allowed,
        "currentHealthy": status.current_healthy,
        "desiredHealthy": status.desired_healthy,
        "expectedPods": status.expected_pods,
        "disruptedPods": {**status.disrupted_pods, **gone},
        "conditions": [{"message": "", **condition} for condition in as_json(status.conditions)],
    }
