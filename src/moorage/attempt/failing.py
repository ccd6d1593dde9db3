"""What becomes of a pod that got no node: back into the queue by cause, told to people, promised a node or not."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from moorage.attempt import reporting
from moorage.attempt.preempting import Evictions
from moorage.attempt.statuses import StatusWriter
from moorage.attempt.world import POD_LOGGER, World
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine import Failure
from moorage.errors import ApiError, PluginError
from moorage.framework.faults import Faults
from moorage.queue import QueuedPod, SchedulingQueue

pod_logger = logging.getLogger(POD_LOGGER)

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


class FailureHandler:
    """Handles every attempt that ended without a node."""

    def __init__(
        self,
        *,
        world: World,
        cluster: ClusterState,
        queue: SchedulingQueue,
        statuses: StatusWriter,
        evictions: Evictions,
        faults: Faults,
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._statuses = statuses
        self._evictions = evictions
        self._faults = faults

    def handle(self, queued: QueuedPod, failure: Failure, started: float, *, tells: bool = True) -> None:
        """Bring the pod back into the queue and, with `tells`, say why. `started` is when the attempt began."""
        pod, observer = failure.pod, self._world.observer
        message = failure.full_message
        observer.failed(pod.spec.scheduler_name, is_error=failure.is_error, attempt=self._world.now() - started)
        if isinstance(failure.error, PluginError):
            self._faults.see(failure.error, f"pod {pod.key} is tried again")
        if pod_logger.isEnabledFor(logging.INFO):
            pod_logger.info("pod %s was not scheduled: %s", pod.key, message)
        nomination = failure.nomination
        victims = nomination.victims if nomination is not None else ()
        if failure.statuses is not None:
            observer.preempting(len(victims) or None)
        if nomination is not None and victims:
            # Before the pod goes back: while its victims are being evicted, PreEnqueue keeps it out.
            self._evictions.begin(pod, nomination)
        if failure.effect is not None:
            self.make_room(failure.effect)
        current = self._cluster.pending(pod.uid)
        if current is None:
            # Gone, or bound by somebody else: neither its place in the queue nor its status is ours to write.
            self._queue.done(pod.uid)
            self._world.record(reporting.failed(pod, message))
            return
        observer.sent_back(failure)
        self._queue.return_unschedulable(queued, failure.plugins, failure.pending, pod=current)
        self._queue.nominate(current, None if nomination is None else nomination.node_name)
        if tells or current.pod.status.nominated_node_name:
            self._world.record(reporting.failed(current, message))
            self._statuses.unscheduled(
                current,
                SCHEDULER_ERROR if failure.is_error else UNSCHEDULABLE,
                message,
                None if nomination is None else nomination.node_name,
            )

    def tell(self, pod: PodInfo, message: str) -> None:
        """Say anew of a pod that waits why it does."""
        current = self._cluster.pending(pod.uid)
        if current is not None and not self._cluster.is_assumed(pod.uid):
            self._world.record(reporting.failed(current, message))
            self._statuses.unscheduled(current, UNSCHEDULABLE, message, None)

    def make_room(self, effect: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have written what a PostFilter plugin wants written."""
        self._world.spawn(_make_room(effect))


async def _make_room(effect: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """What PostFilter wants written. Where it cannot be, the pod is tried again like any other."""
    try:
        await effect()
    except ApiError as refusal:
        pod_logger.warning("no room was made: %s", refusal)
