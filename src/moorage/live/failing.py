"""What becomes of a pod that got no node: back into the queue by cause, told to people, promised a node or not."""

import logging
from collections.abc import Callable

from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine import Failure
from moorage.framework.diagnosis import fit_message
from moorage.framework.points import Nomination
from moorage.framework.status import Code, Status
from moorage.live.preempting import Evictions
from moorage.live.reporting import Reporter
from moorage.live.statuses import StatusWriter
from moorage.observe.logs import POD_LOGGER
from moorage.observe.metrics import SchedulerMetrics
from moorage.queue import QueuedPod, SchedulingQueue

pod_logger = logging.getLogger(POD_LOGGER)

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


def refused(pod: PodInfo, status: Status) -> Failure:
    """A refusal after the decision (Reserve, Permit): as if the one node there is did not fit."""
    return Failure(
        pod,
        fit_message(1, dict.fromkeys(status.reasons, 1)),
        plugins=frozenset((status.plugin,)) if status.plugin else frozenset(),
        nomination=Nomination(""),
        pending=frozenset((status.plugin,)) if status.code is Code.PENDING else frozenset(),
    )


def broken(pod: PodInfo, message: str) -> Failure:
    """Something broke: no plugin is to blame, the pod is retried on a timer."""
    return Failure(pod, message, is_error=True, nomination=Nomination(""))


class FailureHandler:
    """Handles every attempt that ended without a node."""

    def __init__(
        self,
        cluster: ClusterState,
        queue: SchedulingQueue,
        statuses: StatusWriter,
        reporter: Reporter,
        evictions: Evictions,
        metrics: SchedulerMetrics,
        now: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._statuses = statuses
        self._reporter = reporter
        self._evictions = evictions
        self._metrics = metrics
        self._now = now

    def handle(self, queued: QueuedPod, failure: Failure, started: float) -> None:
        """Bring the pod back into the queue and say why. `started` is when the attempt began."""
        pod = failure.pod
        message = failure.full_message
        self._metrics.failed(pod.spec.scheduler_name, is_error=failure.is_error, attempt=self._now() - started)
        if pod_logger.isEnabledFor(logging.INFO):
            pod_logger.info("pod %s was not scheduled: %s", pod.key, message)
        if failure.statuses is not None:
            self._metrics.preemption_attempts.inc()
        nomination = failure.nomination
        if nomination is not None and nomination.victims:
            # Before the pod goes back: while its victims are being evicted, PreEnqueue keeps it out.
            self._metrics.preemption_victims.observe(len(nomination.victims))
            self._evictions.begin(pod, nomination)
        current = self._cluster.pending(pod.uid)
        if current is None:
            # Gone, or bound by somebody else: neither its place in the queue nor its status is ours to write.
            self._queue.done(pod.uid)
            self._reporter.failed(pod, message)
            return
        self._queue.return_unschedulable(queued, failure.plugins, failure.pending, pod=current)
        self._queue.nominate(current, None if nomination is None else nomination.node_name)
        self._reporter.failed(current, message)
        self._statuses.unscheduled(
            current,
            SCHEDULER_ERROR if failure.is_error else UNSCHEDULABLE,
            message,
            None if nomination is None else nomination.node_name,
        )
