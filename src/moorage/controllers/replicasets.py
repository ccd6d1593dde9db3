"""ReplicaSets: so many pods of a template, no more and no fewer."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.controllers.objects.meta import Condition, as_json, with_condition, without_condition
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import ReplicaSet, ReplicaSetStatus
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.runtime.ownership import claim, controller_uids, orphanages
from moorage.controllers.runtime.podwork import BURST, PodWork, pod_of
from moorage.errors import ApiError, InputError
from moorage.kube.informer import Key
from moorage.values.selector import Selector, compile_selector

logger = logging.getLogger(__name__)

Json = dict[str, Any]

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_REPLICA_FAILURE = "ReplicaFailure"


class ReplicaSetController(Controller):
    """Makes and deletes pods until there are as many as each ReplicaSet wants, and counts them in its status."""

    name = "replicaset"
    workers = 8

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._sets = cluster.informers.watch(ReplicaSet, self.enqueue)
        self._siblings = cluster.informers.index(ReplicaSet, controller_uids)
        self._work = PodWork(self, ReplicaSet.KIND)
        self._owned = cluster.informers.index(Pod, controller_uids)
        self._orphans = cluster.informers.index(Pod, orphanages)
        cluster.informers.watch(Pod, self._find_owner)

    def _find_owner(self, _old: Pod | None, new: Pod | None) -> None:
        """A pod nobody manages may be one that a ReplicaSet looks for."""
        if new is None or new.metadata.controller is not None:
            return
        for replica_set in self._sets:
            if replica_set.metadata.namespace == new.metadata.namespace:
                selector = _selector(replica_set)
                if selector is not None and selector.matches(new.metadata.labels):
                    self.queue.add(key_of(replica_set))

    async def sync(self, key: Key) -> float | None:
        """Bring one ReplicaSet up to date."""
        replica_set = self._sets.get(key[1], key[0])
        if replica_set is None:
            self._work.forget(key)
            return None
        selector = _selector(replica_set)
        if selector is None or not self._work.is_settled(key):
            return None
        owned, orphans = self._owned[replica_set.metadata.uid], self._orphans[key[0]]
        claimed = await claim(replica_set, selector, owned, orphans, self.cluster.writer)
        pods = [pod for pod in claimed if pod.is_active]
        failure: ApiError | None = None
        if not replica_set.metadata.is_terminating:
            failure = await self._manage(replica_set, pods)
        terminating = sum(pod.metadata.is_terminating and not pod.is_finished for pod in claimed)
        soon = await self._write_status(replica_set, pods, terminating, failure)
        if failure is not None:
            raise failure
        return soon

    async def _manage(self, replica_set: ReplicaSet, pods: Sequence[Pod]) -> ApiError | None:
        """Make or delete pods. Returns what went wrong, if anything did."""
        missing = replica_set.spec.replicas - len(pods)
        if missing > 0:
            body = msgspec.json.encode(pod_of(replica_set, replica_set.spec.template))
            return await self._work.create(replica_set, [body] * min(missing, BURST))
        if missing < 0:
            victims = sorted(pods, key=self._deletion_rank(replica_set))
            return await self._work.delete(replica_set, victims[: min(-missing, BURST)])
        return None

    def _deletion_rank(self, replica_set: ReplicaSet) -> Callable[[Pod], tuple[Any, ...]]:
        """Who goes first: those who do least, and of equals those with most company on their node."""
        owner = replica_set.metadata.controller
        related = self._siblings[owner.uid] if owner is not None else [replica_set]
        company = Counter(
            pod.spec.node_name for each in related for pod in self._owned[each.metadata.uid] if pod.is_active
        )
        return lambda pod: (
            bool(pod.spec.node_name),
            {"Pending": 0, "Unknown": 1}.get(pod.status.phase, 2),
            pod.is_ready,
            _deletion_cost(pod),
            -company[pod.spec.node_name],
            -(pod.ready_since or 0.0),
            -pod.restarts,
            _Newest(pod.metadata.creation_timestamp),
        )

    async def _write_status(
        self, replica_set: ReplicaSet, pods: Sequence[Pod], terminating: int, failure: ApiError | None
    ) -> float | None:
        """Count the pods. Returns in how many seconds another one becomes available by itself."""
        spec, now = replica_set.spec, self.cluster.clock()
        waits = [pod.available_in(spec.min_ready_seconds, now) for pod in pods]
        template_labels = ((spec.template.get("metadata") or {}).get("labels") or {}).items()
        conditions = without_condition(replica_set.status.conditions, _REPLICA_FAILURE)
        if failure is not None:
            told = Condition(_REPLICA_FAILURE, "True", failure.reason, str(failure), self.cluster.now())
            conditions = with_condition(replica_set.status.conditions, told)
        status = ReplicaSetStatus(
            replicas=len(pods),
            fully_labeled_replicas=sum(template_labels <= pod.metadata.labels.items() for pod in pods),
            ready_replicas=sum(wait is not None for wait in waits),
            available_replicas=sum(wait == 0.0 for wait in waits),
            terminating_replicas=terminating,
            observed_generation=replica_set.metadata.generation,
            conditions=conditions,
        )
        if status != replica_set.status:
            await self.cluster.writer.patch_status(replica_set, _status_json(status))
        return min((wait for wait in waits if wait), default=None)


@dataclass(frozen=True, slots=True)
class _Newest:
    """Orders times so that the newest comes first."""

    stamp: str

    def __lt__(self, other: "_Newest") -> bool:
        return self.stamp > other.stamp


def _selector(replica_set: ReplicaSet) -> Selector | None:
    """The compiled selector, None where it cannot be: then the ReplicaSet is left alone."""
    try:
        return compile_selector(replica_set.spec.selector)
    except InputError as error:
        logger.warning("replicaset %s: selector: %s", replica_set.key, error)
        return None


def _deletion_cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _status_json(status: ReplicaSetStatus) -> Json:
    return {
        "replicas": status.replicas,
        "fullyLabeledReplicas": status.fully_labeled_replicas,
        "readyReplicas": status.ready_replicas,
        "availableReplicas": status.available_replicas,
        "terminatingReplicas": status.terminating_replicas,
        "observedGeneration": status.observed_generation,
        "conditions": as_json(status.conditions),
    }
