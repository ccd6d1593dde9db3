"""Evicting the victims of preemption, beside the scheduling loop.

The pod they make room for is kept out of the queue meanwhile (PreEnqueue of DefaultPreemption asks `is_under_way`) and
comes back when its victims go. A pod that is being evicted, or going anyway, is never evicted a second time, and the
room it leaves is counted on until the cluster shows that it is going: what watches bring lags behind the answers.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.errors import ApiError
from moorage.framework.points import Nomination
from moorage.kube.errors import NotFound
from moorage.kube.lanes import Lanes
from moorage.kube.paths import resource_of
from moorage.live.permits import HeldPods
from moorage.live.reporting import Reporter
from moorage.live.statuses import StatusWriter
from moorage.queue import SchedulingQueue

logger = logging.getLogger(__name__)

_PODS = resource_of("Pod")
_PLUGIN: Final = "DefaultPreemption"
_IN_MEMORY: Final = " (in kube-scheduler memory)."

#: Ends the binding of a pod that has to make room before it was bound; False where it is too late for that.
CancelBinding = Callable[[str], bool]


@dataclass(slots=True)
class _Preemption:
    """Evictions under way for one pod."""

    pod: PodInfo
    node_name: str
    #: The victim that goes last, once all others were seen to.
    last: PodInfo | None = None


class Evictions:
    """Evicts pods for others. Call `begin`; the rest happens in tasks."""

    def __init__(
        self,
        cluster: ClusterState,
        queue: SchedulingQueue,
        lanes: Lanes,
        held: HeldPods,
        statuses: StatusWriter,
        reporter: Reporter,
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._lanes = lanes
        self._held = held
        self._statuses = statuses
        self._reporter = reporter
        self.cancel_binding: CancelBinding = lambda _uid: False
        self._under_way: dict[str, _Preemption] = {}
        #: Victims, by uid, that the cluster does not show as going yet.
        self._leaving: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def is_under_way(self, pod: PodInfo) -> bool:
        """Whether victims are being evicted for the pod: until the last of them is gone, or bound to go."""
        preemption = self._under_way.get(pod.uid)
        if preemption is None:
            return False
        if preemption.last is None:
            return True
        last = self._cluster.counted(preemption.last.uid)
        return last is not None and not last.pod.is_terminating

    def begin(self, pod: PodInfo, nomination: Nomination) -> None:
        """Make room for the pod: evict the victims that are not leaving already."""
        victims = [victim for victim in nomination.victims if not self.is_leaving(victim)]
        if not victims:
            return
        preemption = self._under_way[pod.uid] = _Preemption(pod, nomination.node_name)
        self._leaving = {uid for uid in self._leaving if not self._is_seen_to_go(uid)}
        self._leaving.update(victim.uid for victim in victims)
        task = asyncio.get_running_loop().create_task(self._evict_all(preemption, victims))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Wait for what is under way; put a deadline round it."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    def is_leaving(self, pod: PodInfo) -> bool:
        """Whether the pod is being evicted, or going anyway."""
        return pod.uid in self._leaving or self._is_seen_to_go(pod.uid)

    def _is_seen_to_go(self, uid: str) -> bool:
        counted = self._cluster.counted(uid)
        return counted is None or counted.pod.is_terminating

    async def _evict_all(self, preemption: _Preemption, victims: Sequence[PodInfo]) -> None:
        """All but the last together, then the last: when that one goes, everything has been asked for."""
        *others, last = victims
        pod = preemption.pod
        failed = True
        try:
            self._clear_lower_nominations(preemption)
            failed = any(await asyncio.gather(*(self._evict(preemption, victim) for victim in others)))
            if not failed:
                preemption.last = last
                failed = await self._evict(preemption, last)
        finally:
            if self._under_way.get(pod.uid) is preemption:
                del self._under_way[pod.uid]
            if failed:
                self._leaving.difference_update(victim.uid for victim in victims)
        if failed:
            # Some victims may never go, so that no event would wake who waits for the node.
            self._queue.activate([pod, *self._cluster.snapshot.nominations.on(preemption.node_name)])

    def _clear_lower_nominations(self, preemption: _Preemption) -> None:
        """Pods of lower priority that were promised the node have to look for another."""
        for other in self._cluster.snapshot.nominations.on(preemption.node_name):
            if other.priority < preemption.pod.priority:
                self._queue.nominate(other, "")
                self._statuses.nominate(other, "")

    async def _evict(self, preemption: _Preemption, victim: PodInfo) -> bool:
        """Evict one pod; whether that failed."""
        pod = preemption.pod
        in_memory = self._evict_in_memory(victim)
        if in_memory:
            self._leaving.discard(victim.uid)
        else:
            try:
                await self._evict_by_api(pod, victim)
            except NotFound:
                logger.debug("victim %s is gone already", victim.key)
            except ApiError as error:
                logger.warning("pod %s could not be evicted for %s: %s", victim.key, pod.key, error)
                return True
        note = f"Preempted by pod {pod.uid} on node {preemption.node_name}{_IN_MEMORY if in_memory else ''}"
        self._reporter.preempted(pod.spec.scheduler_name, victim, note)
        return False

    def _evict_in_memory(self, victim: PodInfo) -> bool:
        """A victim that is not bound yet only has to be stopped."""
        held = self._held.get(victim.uid)
        if held is not None:
            held.preempt(_PLUGIN, "preempted")
            return True
        return self.cancel_binding(victim.uid)

    async def _evict_by_api(self, pod: PodInfo, victim: PodInfo) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{pod.spec.scheduler_name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "observedGeneration": victim.pod.metadata.generation,
        }
        body = msgspec.json.encode({"metadata": {"uid": victim.uid}, "status": {"conditions": [condition]}})
        await self._lanes.patch(_PODS, body, name=victim.name, namespace=victim.namespace)
        await self._lanes.delete(_PODS, name=victim.name, namespace=victim.namespace, uid=victim.uid)
