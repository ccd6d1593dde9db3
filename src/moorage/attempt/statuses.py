"""What we write into pods' status: the PodScheduled condition and the nominated node.

For each pod one request is under way at a time, and of what waits behind it only the newest is written. A pod about to
be bound drops what still waits, so that an old refusal never lands on a pod that has a node.
"""

import logging
from typing import Any, Final

import msgspec

from moorage.attempt.world import Job, World
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.framework.writes import Gone, NotDone
from moorage.objects import Condition, Pod
from moorage.values.time import format_time

logger = logging.getLogger(__name__)

POD_SCHEDULED: Final = "PodScheduled"


class StatusWriter:
    """Patches the status of pods, in jobs of their own. Nothing here waits but `settle` and `drain`."""

    def __init__(self, *, world: World, cluster: ClusterState) -> None:
        self._world = world
        self._cluster = cluster
        self._waiting: dict[str, tuple[PodInfo, dict[str, Any]]] = {}
        self._writing: dict[str, Job] = {}

    def unscheduled(self, pod: PodInfo, reason: str, message: str, nominated_node: str | None) -> None:
        """Say why the pod has no node, and which one it was promised ("" for none, None to leave that as it is)."""
        known = self._cluster.pending(pod.uid) or pod
        condition = _unscheduled_condition(known.pod, reason, message, self._world.now())
        status: dict[str, Any] = {}
        if condition is not None or pod.uid in self._writing:
            status["conditions"] = [condition or _condition_of(known.pod)]
        if nominated_node is not None and (
            nominated_node != known.pod.status.nominated_node_name or pod.uid in self._writing
        ):
            status["nominatedNodeName"] = nominated_node or None
        if status:
            self._write(pod, status)

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """Show which node the pod is expected to go to, "" for none."""
        self._write(pod, {"nominatedNodeName": node_name or None})

    def is_writing(self, uid: str) -> bool:
        """Whether something is on its way for the pod, or waits to be."""
        return uid in self._writing

    async def settle(self, uid: str) -> None:
        """Drop what waits to be written for a pod, and wait for what is under way."""
        job = self._writing.get(uid)
        if job is not None:
            self._waiting.pop(uid, None)
            await self._world.ended([job])

    async def drain(self) -> None:
        """Wait until everything is written or given up; put a deadline round it."""
        while self._writing:
            await self._world.ended(list(self._writing.values()))

    def _write(self, pod: PodInfo, status: dict[str, Any]) -> None:
        former = self._waiting.get(pod.uid)
        self._waiting[pod.uid] = pod, {**former[1], **status} if former else status
        if pod.uid not in self._writing:
            self._writing[pod.uid] = self._world.spawn(self._write_waiting(pod.uid))

    async def _write_waiting(self, uid: str) -> None:
        try:
            while (waiting := self._waiting.pop(uid, None)) is not None:
                await self._patch(*waiting)
        finally:
            self._waiting.pop(uid, None)
            del self._writing[uid]

    async def _patch(self, pod: PodInfo, status: dict[str, Any]) -> None:
        answer = await self._world.patch_status(pod, status)
        if isinstance(answer, Gone):
            logger.debug("pod %s is gone: its status was not written", pod.key)
        elif isinstance(answer, NotDone):
            logger.warning("the status of pod %s was not written: %s", pod.key, answer.message)


def _unscheduled_condition(pod: Pod, reason: str, message: str, now: float) -> dict[str, Any] | None:
    """PodScheduled=False as it should be; None where the pod has exactly that."""
    condition = Condition(
        type=POD_SCHEDULED,
        status="False",
        reason=reason,
        message=message,
        last_transition_time=format_time(now),
        observed_generation=pod.metadata.generation,
    )
    known = next((one for one in pod.status.conditions if one.type == POD_SCHEDULED), None)
    if known is not None and known.status == condition.status:
        # The time of the last transition moves only with the status itself.
        condition = msgspec.structs.replace(condition, last_transition_time=known.last_transition_time)
    return None if known == condition else msgspec.to_builtins(condition)


def _condition_of(pod: Pod) -> dict[str, Any]:
    known = next(one for one in pod.status.conditions if one.type == POD_SCHEDULED)
    tree: dict[str, Any] = msgspec.to_builtins(known)
    return tree
