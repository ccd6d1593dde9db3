"""ReplicaSets: so many pods of a template, no more and no fewer."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.controllers.conditions import as_json, with_condition, without_condition
from moorage.controllers.objects.meta import Condition
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import ReplicaSet, ReplicaSetStatus
from moorage.controllers.runtime.cluster import Cluster
from moorage.controllers.runtime.controller import Controller
from moorage.controllers.runtime.expectations import Expectations
from moorage.controllers.runtime.informers import Index, key_of
from moorage.controllers.runtime.ownership import claim, controller_uids, orphanages, owner_reference
from moorage.controllers.runtime.writer import is_namespace_terminating
from moorage.errors import ApiError, InputError
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING
from moorage.values.selector import Selector, compile_selector

logger = logging.getLogger(__name__)

Json = dict[str, Any]

BURST = 500
"""Pods made or deleted at one go."""
FIRST_BATCH, LARGEST_BATCH = 1, 64
"""Pods are made in batches that grow as long as all goes well, so that a template nobody takes costs one request."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PODS = resource_of("Pod")
_REPLICA_FAILURE = "ReplicaFailure"


class ReplicaSetController(Controller):
    """Makes and deletes pods until there are as many as each ReplicaSet wants, and counts them in its status."""

    name = "replicaset"
    workers = 8

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._sets = cluster.informers.watch(ReplicaSet, self.enqueue)
        self._pods = cluster.informers.of(Pod)
        self._owned = Index(self._pods, controller_uids)
        self._orphans = Index(self._pods, orphanages)
        self._siblings = Index(self._sets, controller_uids)
        self._expectations = Expectations(cluster.clock)
        cluster.informers.watch(Pod, self._pod_changed)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            owner = pod.metadata.controller if pod is not None else None
            if pod is None or owner is None or owner.kind != ReplicaSet.KIND:
                continue
            key = pod.metadata.namespace, owner.name
            if new is None or new.metadata.is_terminating:
                self._expectations.saw_gone(key, pod.metadata.uid)
            else:
                self._expectations.saw(key, pod.metadata.uid)
            self.queue.add(key)
        if new is not None and new.metadata.controller is None:
            self._find_owner(new)

    def _find_owner(self, orphan: Pod) -> None:
        """A pod nobody manages may be one that a ReplicaSet looks for."""
        for replica_set in self._sets:
            if replica_set.metadata.namespace == orphan.metadata.namespace:
                selector = _selector(replica_set)
                if selector is not None and selector.matches(orphan.metadata.labels):
                    self.queue.add(key_of(replica_set))

    async def sync(self, key: Key) -> float | None:
        """Bring one ReplicaSet up to date."""
        replica_set = self._sets.get(key[1], key[0])
        if replica_set is None:
            self._expectations.forget(key)
            return None
        selector = _selector(replica_set)
        if selector is None or not self._expectations.are_met(key):
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
            return await self._create(replica_set, min(missing, BURST))
        if missing < 0:
            return await self._delete(replica_set, pods, min(-missing, BURST))
        return None

    async def _create(self, replica_set: ReplicaSet, count: int) -> ApiError | None:
        body = msgspec.json.encode(pod_of(replica_set))
        batch = FIRST_BATCH
        while count > 0:
            batch = min(batch, count)
            answers = await asyncio.gather(
                *(self._create_one(replica_set, body) for _ in range(batch)), return_exceptions=True
            )
            failures = [answer for answer in answers if isinstance(answer, BaseException)]
            for failure in failures:
                if not isinstance(failure, ApiError):
                    raise failure
                if is_namespace_terminating(failure):
                    return None
            if failures:
                note = f"Error creating: {failures[0]}"
                self.record(replica_set, "FailedCreate", note, action="Creating", event_type=WARNING)
                return ApiError(str(failures[0]), reason="FailedCreate")
            count -= batch
            batch = min(batch * 2, LARGEST_BATCH)
        return None

    async def _create_one(self, replica_set: ReplicaSet, body: bytes) -> None:
        key = key_of(replica_set)
        created = (await self.cluster.writer.create(_PODS, body, key[0]))["metadata"]
        seen = self._pods.get(created["name"], key[0])
        if seen is None or seen.metadata.uid != created["uid"]:
            self._expectations.created(key, created["uid"])
        self.record(replica_set, "SuccessfulCreate", f"Created pod: {created['name']}", action="Creating")

    async def _delete(self, replica_set: ReplicaSet, pods: Sequence[Pod], count: int) -> ApiError | None:
        key = key_of(replica_set)
        victims = sorted(pods, key=self._deletion_rank(replica_set))[:count]
        self._expectations.deleted(key, (pod.metadata.uid for pod in victims))
        answers = await asyncio.gather(*(self._delete_one(replica_set, pod) for pod in victims), return_exceptions=True)
        first: ApiError | None = None
        for pod, answer in zip(victims, answers, strict=True):
            if isinstance(answer, ApiError):
                self._expectations.saw_gone(key, pod.metadata.uid)
                first = first or ApiError(str(answer), reason="FailedDelete")
            elif isinstance(answer, BaseException):
                raise answer
        return first

    async def _delete_one(self, replica_set: ReplicaSet, pod: Pod) -> None:
        meta = pod.metadata
        await self.cluster.writer.delete(_PODS, meta.name, meta.namespace, uid=meta.uid)
        self.record(replica_set, "SuccessfulDelete", f"Deleted pod: {meta.name}", action="Deleting")

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
            ready_replicas=sum(pod.is_ready for pod in pods),
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


def pod_of(owner: ReplicaSet) -> Json:
    """The pod that the ReplicaSet's template describes."""
    template = owner.spec.template
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{owner.metadata.name}-",
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "finalizers": metadata.get("finalizers") or [],
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": template.get("spec") or {},
    }


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
