"""What a kubelet knows of a pod it hosts."""

from dataclasses import dataclass
from enum import Enum

from moorage.nodes.admission import Share
from moorage.nodes.instructions import SILENT, Instructions
from moorage.nodes.objects import HostedPod
from moorage.values.time import time_of


class State(Enum):
    """Where a pod stands, for its kubelet."""

    STARTING = "admitted, its containers do not run yet"
    RUNNING = "its containers run"
    BACKING_OFF = "its containers have exited and will run again"
    SUCCEEDED = "its containers have exited well, for good"
    FAILED = "refused, killed, or its containers have failed for good"
    REMOVED = "nothing of it is left on the node"


FINISHED = frozenset({State.SUCCEEDED, State.FAILED, State.REMOVED})


@dataclass(slots=True)
class Run:
    """One pod on its node. Times are seconds since 1970; they are the kubelet's own, not what the API was told."""

    pod: HostedPod
    node_name: str
    state: State
    share: Share
    admitted_at: float
    changed_at: float
    """When the present state began."""
    told: Instructions = SILENT
    terminating_since: float | None = None
    started_at: float = 0.0
    """When the containers began to run, the last time."""
    restarts: int = 0
    back_off: float = 0.0
    """Seconds to wait before the next restart."""
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    ip: str = ""
    is_refused: bool = False
    """Never let in: no container of it has ever been."""

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid

    @property
    def is_finished(self) -> bool:
        """Whether the pod holds nothing of its node any more."""
        return self.state in FINISHED


_PHASES = {"Running": State.RUNNING, "Succeeded": State.SUCCEEDED, "Failed": State.FAILED}


def recalled(pod: HostedPod, share: Share, now: float) -> Run | None:
    """The run of a pod that an earlier kubelet of this node has admitted, from its status; None for a new pod."""
    status = pod.status
    state = _PHASES.get(status.phase)
    if state is None:
        return None
    begun = time_of(status.start_time) or now
    run = Run(pod, pod.spec.node_name, state, share, admitted_at=begun, changed_at=begun, started_at=begun)
    run.ip = status.pod_ip
    for container in status.container_statuses[:1]:
        run.restarts = container.restart_count
        if container.state.running is not None:
            run.started_at = run.changed_at = time_of(container.state.running.started_at) or begun
        elif container.state.waiting is not None and state is State.RUNNING:
            run.state, run.changed_at = State.BACKING_OFF, now
    return run
