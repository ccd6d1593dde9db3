"""How the run of a pod stands: whether it really ran, how it ended, and how long it took."""

import enum

from moorage.controllers.objects.meta import condition_of
from moorage.controllers.objects.pods import Pod, TerminatedState
from moorage.values.time import time_of


class End(enum.Enum):
    """How a run ended."""

    SUCCEEDED = "of itself, well"
    FAILED = "of itself, badly"
    DISRUPTED = "somebody deleted or evicted the pod"


_DISRUPTIONS = ("Evicted", "Preempting", "Terminated", "NodeShutdown", "Shutdown")
"""The reasons a kubelet gives where it, and not the pod, ended the run."""


def has_run(pod: Pod) -> bool:
    """Whether some container of the pod has run. A kubelet may refuse a pod that was bound to its node."""
    return pod.status.phase == "Running" or bool(_ended_containers(pod))


def end_of(pod: Pod) -> End | None:
    """How the run ended; None while it goes on.

    A pod that was told to go has been disrupted, whatever its last breath: only what ended before counts as its own.
    """
    if pod.metadata.is_terminating and not _ended_before_deletion(pod):
        return End.DISRUPTED
    if pod.status.phase == "Succeeded":
        return End.SUCCEEDED
    if pod.status.phase == "Failed":
        target = condition_of(pod.status.conditions, "DisruptionTarget")
        is_disrupted = pod.status.reason in _DISRUPTIONS or (target is not None and target.status == "True")
        return End.DISRUPTED if is_disrupted else End.FAILED
    return None


def ended_at(pod: Pod) -> float | None:
    """When the last container ended."""
    return max((at for one in _ended_containers(pod) if (at := time_of(one.finished_at)) is not None), default=None)


def seconds_run(pod: Pod) -> float:
    """How long the pod's containers ran, from the first start to the last end; 0 where that is not known."""
    starts = [at for one in _ended_containers(pod) if (at := time_of(one.started_at)) is not None]
    end = ended_at(pod)
    return max(0.0, end - min(starts)) if starts and end is not None else 0.0


def _ended_containers(pod: Pod) -> list[TerminatedState]:
    states = [state for one in pod.status.container_statuses for state in (one.state, one.last_state)]
    return [state.terminated for state in states if state.terminated is not None and state.terminated.started_at]


def _ended_before_deletion(pod: Pod) -> bool:
    if not pod.is_finished:
        return False
    end, deadline = ended_at(pod), time_of(pod.metadata.deletion_timestamp)
    if end is None or deadline is None:
        return False
    return end < deadline - pod.metadata.deletion_grace_period_seconds
