"""Nodes and pods as a kubelet reads them: what scheduling reads, and how the pod is to run and to end."""

from msgspec import field

from moorage import objects
from moorage.objects import ObjectMeta, Struct

MARK = "moorage.dev/node"
"""The annotation of nodes that are served here; its value is `hollow`."""
HOLLOW = "hollow"
STOPPED = "moorage.dev/stopped"
"""The annotation that stops a node while it is "true"."""

RUN_SECONDS = "moorage.dev/run-seconds"
EXIT_CODE = "moorage.dev/exit-code"
START_SECONDS = "moorage.dev/start-seconds"
TERMINATION_SECONDS = "moorage.dev/termination-seconds"
"""Annotations of pods: how long it runs and what it exits with, how long it takes to start and to stop."""


class PodMeta(ObjectMeta, frozen=True):
    """Metadata with what a graceful deletion allows."""

    deletion_grace_period_seconds: int | None = None


class ReadinessGate(Struct, frozen=True, gc=False):
    """A condition that somebody else sets, without which the pod is not ready."""

    condition_type: str = ""


class PodSpec(objects.PodSpec, frozen=True):
    """spec, with how long the pod may run and what happens when it exits."""

    restart_policy: str = "Always"
    active_deadline_seconds: int | None = None
    readiness_gates: tuple[ReadinessGate, ...] = ()


class RunningState(Struct, frozen=True, gc=False):
    """A container that runs."""

    started_at: str = ""


class WaitingState(Struct, frozen=True, gc=False):
    """A container that does not run yet, or not again yet."""

    reason: str = ""


class ContainerState(Struct, frozen=True):
    """One of them is set, or none: then the container has ended."""

    running: RunningState | None = None
    waiting: WaitingState | None = None


class ContainerStatus(objects.ContainerStatus, frozen=True):
    """A container's status, as far as a kubelet goes on from it after a restart of its own."""

    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodStatus(objects.PodStatus, frozen=True):
    """status, as the last kubelet left it."""

    pod_ip: str = field(default="", name="podIP")
    container_statuses: tuple[ContainerStatus, ...] = ()


class HostedPod(objects.Pod, frozen=True):
    """A pod that has a node."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeAddress(Struct, frozen=True, gc=False):
    """Where a node can be reached."""

    type: str = ""
    address: str = ""


class NodeStatus(objects.NodeStatus, frozen=True):
    """status, with addresses."""

    addresses: tuple[NodeAddress, ...] = ()


class HollowNode(objects.Node, frozen=True):
    """A node as its own kubelet reads it."""

    status: NodeStatus = NodeStatus()

    @property
    def is_hollow(self) -> bool:
        """Whether the node is served here."""
        return self.metadata.annotations.get(MARK) == HOLLOW

    @property
    def is_stopped(self) -> bool:
        """Whether its kubelet is to be silent."""
        return self.metadata.annotations.get(STOPPED) == "true"

    @property
    def is_ready(self) -> bool:
        """Whether the API says so."""
        return any(item.type == "Ready" and item.status == "True" for item in self.status.conditions)

    @property
    def internal_ip(self) -> str:
        """The address that host-network pods share."""
        return next((item.address for item in self.status.addresses if item.type == "InternalIP"), "")
