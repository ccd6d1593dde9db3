"""Evicting the victims of preemption, beside the scheduling loop.

The pod they make room for is kept out of the queue meanwhile (PreEnqueue of DefaultPreemption asks `is_under_way`) and
comes back when its victims go. A pod that is being evicted, or going anyway, is never evicted a second time, and the
room it leaves is counted on until the cluster shows that it is going: what watches bring lags behind the answers.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from moorage.attempt import reporting
from moorage.attempt.permits import HeldPods
from moorage.attempt.statuses import StatusWriter
from moorage.attempt.underway import UnderWay
from moorage.attempt.world import Job, World
from moorage.cluster import ClusterState
from moorage.columns import GroupInfo, PodInfo
from moorage.framework.points import Nomination
from moorage.framework.writes import Gone, NotDone
from moorage.objects import Condition
from moorage.queue import SchedulingQueue
from moorage.values.time import format_time

logger = logging.getLogger(__name__)

_PLUGIN: Final = "DefaultPreemption"
_IN_MEMORY: Final = " (in kube-scheduler memory)."


@dataclass(slots=True)
class _Preemption:
    """Evictions under way for one pod, or for the members of a group."""

    pods: Sequence[PodInfo]
    node_name: str
    #: What it is for: `pod` or `podgroup`, and its uid.
    what: str
    uid: str
    #: The victim that goes last, once all others were seen to.
    last: PodInfo | None = None


class Evictions:
    """Evicts pods for others. Call `begin`; the rest happens in jobs."""

    def __init__(
        self,
        *,
        world: World,
        cluster: ClusterState,
        queue: SchedulingQueue,
        held: HeldPods,
        bindings: UnderWay,
        statuses: StatusWriter,
        wake: Callable[[], None],
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._held = held
        self._bindings = bindings
        self._statuses = statuses
        self._wake = wake
        self._under_way: dict[str, _Preemption] = {}
        #: Victims, by uid, that the cluster does not show as going yet.
        self._leaving: set[str] = set()
        self._jobs: dict[int, Job] = {}

    def __len__(self) -> int:
        """For how many pods victims are being evicted."""
        return len(self._under_way)

    def is_under_way(self, pod: PodInfo) -> bool:
        """Whether victims are being evicted for the pod: until the last of them is gone, or bound to go."""
        if not self._under_way:
            return False
        preemption = self._under_way.get(pod.uid)
        if preemption is None:
            groups = self._cluster.snapshot.groups
            path = groups.path_of(pod)
            root = groups.root_of(path) if path else None
            preemption = None if root is None else self._under_way.get(root.uid)
        if preemption is None:
            return False
        if preemption.last is None:
            return True
        last = self._cluster.counted(preemption.last.uid)
        return last is not None and not last.pod.is_terminating

    def begin(self, pod: PodInfo, nomination: Nomination) -> None:
        """Make room for the pod: evict the victims that are not leaving already."""
        self._begin(_Preemption((pod,), nomination.node_name, "pod", pod.uid), nomination)

    def begin_for_group(self, group: GroupInfo, members: Sequence[PodInfo], nomination: Nomination) -> None:
        """The same for a group; while it goes on all its members are kept back."""
        self._begin(_Preemption(members, nomination.node_name, "podgroup", group.uid), nomination)

    def _begin(self, preemption: _Preemption, nomination: Nomination) -> None:
        victims = [victim for victim in nomination.victims if not self.is_leaving(victim)]
        if not victims:
            return
        self._under_way[preemption.uid] = preemption
        self._leaving = {uid for uid in self._leaving if not self._is_seen_to_go(uid)}
        self._leaving.update(victim.uid for victim in victims)
        self._jobs[id(preemption)] = self._world.spawn(self._evict_all(preemption, victims))

    async def drain(self) -> None:
        """Wait for what is under way; put a deadline round it."""
        while self._jobs:
            await self._world.ended(list(self._jobs.values()))

    def is_leaving(self, pod: PodInfo) -> bool:
        """Whether the pod is being evicted, or going anyway."""
        return pod.uid in self._leaving or self._is_seen_to_go(pod.uid)

    def _is_seen_to_go(self, uid: str) -> bool:
        counted = self._cluster.counted(uid)
        return counted is None or counted.pod.is_terminating

    async def _evict_all(self, preemption: _Preemption, victims: Sequence[PodInfo]) -> None:
        """All but the last together, then the last: when that one goes, everything has been asked for."""
        *others, last = victims
        all_go = False
        try:
            self._clear_lower_nominations(preemption)
            all_go = await self._evict_together(preemption, others)
            if all_go:
                preemption.last = last
                all_go = await self._evict(preemption, last)
        finally:
            del self._jobs[id(preemption)]
            if self._under_way.get(preemption.uid) is preemption:
                del self._under_way[preemption.uid]
            if not all_go:
                self._leaving.difference_update(victim.uid for victim in victims)
        if not all_go:
            # Some victims may never go, so that no event would wake who waits for the node.
            self._queue.activate([*preemption.pods, *self._cluster.snapshot.nominations.on(preemption.node_name)])
            self._wake()

    def _clear_lower_nominations(self, preemption: _Preemption) -> None:
        """Pods of lower priority that were promised the node have to look for another."""
        priority = max(pod.priority for pod in preemption.pods)
        for other in self._cluster.snapshot.nominations.on(preemption.node_name):
            if other.priority < priority:
                self._queue.nominate(other, "")
                self._statuses.nominate(other, "")

    async def _evict_together(self, preemption: _Preemption, victims: Sequence[PodInfo]) -> bool:
        """Evict them all at once; whether all of them go."""
        go: list[bool] = []

        async def evict(victim: PodInfo) -> None:
            go.append(await self._evict(preemption, victim))

        await self._world.ended([self._world.spawn(evict(victim)) for victim in victims])
        return len(go) == len(victims) and all(go)

    async def _evict(self, preemption: _Preemption, victim: PodInfo) -> bool:
        """Evict one pod; whether it goes."""
        in_memory = self._evict_in_memory(victim)
        if in_memory:
            self._leaving.discard(victim.uid)
        else:
            answer = await self._world.evict(victim, self._condition(preemption, victim))
            if isinstance(answer, NotDone) and not isinstance(answer, Gone):
                logger.warning(
                    "pod %s could not be evicted for %s: %s", victim.key, preemption.pods[0].key, answer.message
                )
                return False
        whom = f"{preemption.what} {preemption.uid} on node {preemption.node_name}"
        note = f"Preempted by {whom}{_IN_MEMORY if in_memory else ''}"
        self._world.record(reporting.preempted(preemption.pods[0].spec.scheduler_name, victim, note))
        return True

    def _evict_in_memory(self, victim: PodInfo) -> bool:
        """A victim that is not bound yet only has to be stopped."""
        held = self._held.get(victim.uid)
        if held is not None and not held.outcome.done():
            held.preempt(_PLUGIN, "preempted")
            return True
        return self._bindings.preempt(victim.uid, _PLUGIN)

    def _condition(self, preemption: _Preemption, victim: PodInfo) -> Condition:
        profile = preemption.pods[0].spec.scheduler_name
        return Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{profile}: preempting to accommodate a higher priority {preemption.what}",
            last_transition_time=format_time(self._world.now()),
            observed_generation=victim.pod.metadata.generation,
        )
