"""Quotas that lend: a namespace may use what others leave of theirs, and gives it back when they want it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from moorage.framework import (
    Action,
    CycleState,
    EventHint,
    Handle,
    Hint,
    KubeObject,
    NodeInfo,
    NodeStatuses,
    NodeTable,
    Nomination,
    PodInfo,
    PostFilterAnswer,
    Resource,
    Status,
    Struct,
    amount,
    nothing_of_pod,
    on,
    unschedulable,
)

Amounts = dict[str, int]


class ElasticQuotaSpec(Struct, frozen=True):
    """`min` is the namespace's own, `max` what it may have with what is borrowed."""

    min: dict[str, str | int | float] = {}
    max: dict[str, str | int | float] = {}


class ElasticQuota(KubeObject, frozen=True):
    """As crd.yaml defines it; one in a namespace."""

    API_VERSION: ClassVar[str] = "example.com/v1"
    KIND: ClassVar[str] = "ElasticQuota"
    PLURAL: ClassVar[str] = "elasticquotas"

    spec: ElasticQuotaSpec = ElasticQuotaSpec()


class Quotas:
    """The quotas, and what the pods of each namespace use. Pods that are gone as victims do not count."""

    def __init__(
        self, quotas: Iterable[ElasticQuota], nodes: Iterable[NodeInfo], without: Iterable[PodInfo] = ()
    ) -> None:
        self.of = {quota.metadata.namespace: quota for quota in quotas}
        self.used: dict[str, Amounts] = {namespace: {} for namespace in self.of}
        gone = {pod.uid for pod in without}
        for node in nodes:
            for pod in node.pods.values():
                if pod.namespace in self.used and pod.uid not in gone:
                    _add(self.used[pod.namespace], pod.request.amounts)

    def problem(self, pod: PodInfo) -> str:
        """Why the pod may not have what it asks for, "" where it may."""
        quota = self.of.get(pod.namespace)
        if quota is None:
            return ""
        total = _add(dict(self.used[pod.namespace]), pod.request.amounts)
        for name, most in _amounts(quota.spec.max).items():
            if total.get(name, 0) > most:
                return f"quota {quota.metadata.name}: {name} would exceed its max"
        if not self.borrows(pod.namespace, total):
            return ""
        lent = _sum(_amounts(one.spec.min) for one in self.of.values())
        used = _add(_sum(self.used.values()), pod.request.amounts)
        for name in pod.request.amounts:
            if name in lent and used[name] > lent[name]:
                return f"quota {quota.metadata.name}: nobody has {name} left to lend"
        return ""

    def borrows(self, namespace: str, used: Mapping[str, int] | None = None) -> bool:
        """Whether the namespace uses more than its own."""
        used = self.used[namespace] if used is None else used
        own = _amounts(self.of[namespace].spec.min)
        return any(used.get(name, 0) > least for name, least in own.items())


class ElasticQuotas:
    """PreFilter keeps to the quotas, Reserve looks once more, PostFilter takes back what is lent.

    Every cycle adds up the pods on all nodes, which a few thousand of them bear.
    """

    name: ClassVar = "ElasticQuota"
    reads: ClassVar = (ElasticQuota,)

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def pre_filter(self, _state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """No node is looked for where the quota says no."""
        problem = self._quotas().problem(pod)
        return unschedulable(problem) if problem else None

    def reserve(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | None:
        """The pod counts on its node by now: with it, the quota has to hold."""
        problem = self._quotas(without=(pod,)).problem(pod)
        return unschedulable(problem) if problem else None

    def unreserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        """What counts is on the nodes; nothing else is kept."""

    def post_filter(self, state: CycleState, pod: PodInfo, _statuses: NodeStatuses) -> PostFilterAnswer:
        """The node on which the fewest pods have to go, so that this one fits and its quota allows it."""
        host = self.handle.host if self.handle.has_host else None
        if host is not None and host.is_preempting(pod):
            return PostFilterAnswer(unschedulable("waiting until pods that were taken back are gone"))
        found = [
            (node.name, victims) for node in self.handle.snapshot.nodes if (victims := self._victims(state, pod, node))
        ]
        if not found:
            return PostFilterAnswer(unschedulable("quota: no pod may be taken back for it"))
        name, victims = min(found, key=lambda one: (len(one[1]), sum(pod.priority for pod in one[1]), one[0]))
        return PostFilterAnswer(None, Nomination(name, tuple(victims)))

    def events_to_register(self) -> Sequence[EventHint]:
        """Quotas change, pods leave."""
        return [
            on(ElasticQuota, Action.ADD | Action.UPDATE | Action.DELETE, _always, reads=nothing_of_pod),
            on(Resource.ASSIGNED_POD, Action.DELETE, _always, reads=nothing_of_pod),
        ]

    def _quotas(self, without: Iterable[PodInfo] = ()) -> Quotas:
        snapshot = self.handle.snapshot
        return Quotas(snapshot.objects.each(ElasticQuota), snapshot.nodes, without)

    def _victims(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """Who has to leave this node for the pod, the least important first; nobody where that does not help."""
        filters, trial, tried = self.handle.filters, node.copy(), state.clone()
        victims: list[PodInfo] = []
        for other in sorted(self._takeable(pod, node), key=lambda one: (one.priority, -one.started)):
            filters.remove_pod(tried, pod, other, trial)
            victims.append(other)
            if not self._quotas(victims).problem(pod) and filters.filter_with_nominated(tried, pod, trial) is None:
                return victims
        return []

    def _takeable(self, pod: PodInfo, node: NodeInfo) -> Iterator[PodInfo]:
        """Within its own quota a pod may replace lesser ones; within its min also those of namespaces that borrow."""
        quotas = self._quotas()
        if pod.namespace not in quotas.of:
            return
        total = _add(dict(quotas.used[pod.namespace]), pod.request.amounts)
        wants_its_own = not quotas.borrows(pod.namespace, total)
        for other in node.pods.values():
            lesser = other.namespace == pod.namespace and other.priority < pod.priority
            borrowed = (
                other.namespace != pod.namespace and other.namespace in quotas.of and quotas.borrows(other.namespace)
            )
            if lesser or (wants_its_own and borrowed):
                yield other


def _amounts(quantities: Mapping[str, str | int | float]) -> Amounts:
    return {name: amount(name, quantity) for name, quantity in quantities.items()}


def _add(total: Amounts, more: Mapping[str, int]) -> Amounts:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value
    return total


def _sum(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for one in amounts:
        _add(total, one)
    return total


def _always(_pod: PodInfo, _old: Any, _new: Any) -> Hint:
    return Hint.QUEUE
