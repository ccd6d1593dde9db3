"""Pods, as far as those who own and count them need."""

from typing import Any, ClassVar

from moorage.controllers.objects.meta import Condition, Managed, condition_of
from moorage.objects import (
    PersistentVolumeClaimSource,
    PodResourceClaim,
    PodResourceClaimStatus,
    SchedulingGroup,
    Struct,
    Toleration,
)
from moorage.values.time import time_of


class EphemeralVolume(Struct, frozen=True):
    """A volume whose claim is made for the pod, from this template."""

    volume_claim_template: dict[str, Any] = {}


class PodVolume(Struct, frozen=True):
    """A volume that comes from a claim."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: EphemeralVolume | None = None


class PodSpec(Struct, frozen=True):
    """spec: where the pod is and which claims it uses."""

    node_name: str = ""
    volumes: tuple[PodVolume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    scheduling_group: SchedulingGroup | None = None


class TerminatedState(Struct, frozen=True, gc=False):
    """How a container ended."""

    exit_code: int = 0
    started_at: str = ""
    finished_at: str = ""


class ContainerState(Struct, frozen=True):
    """Of a container's state, its end."""

    terminated: TerminatedState | None = None


class ContainerStatus(Struct, frozen=True):
    """How often a container was started again, how it ended, and how it had ended before that."""

    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Struct, frozen=True):
    """status: how the pod is."""

    phase: str = ""
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class Pod(Managed, frozen=True):
    """A pod."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_active(self) -> bool:
        """Whether it counts as a replica: neither finished nor on its way out."""
        return not self.is_finished and not self.metadata.deletion_timestamp

    @property
    def is_ready(self) -> bool:
        # A plain loop: this is asked of every pod again and again.
        for item in self.status.conditions:
            if item.type == "Ready":
                return item.status == "True"
        return False

    @property
    def ready_since(self) -> float | None:
        """When it became ready, if it is."""
        ready = condition_of(self.status.conditions, "Ready")
        if ready is None or ready.status != "True":
            return None
        return time_of(ready.last_transition_time)

    @property
    def restarts(self) -> int:
        return max((item.restart_count for item in self.status.container_statuses), default=0)

    def available_in(self, min_ready_seconds: int, now: float) -> float | None:
        """In how many seconds the pod counts as available: 0 if it does, None if it is not ready."""
        if not self.is_ready:
            return None
        if not min_ready_seconds:
            return 0.0
        since = self.ready_since
        return None if since is None else max(0.0, since + min_ready_seconds - now)


def node_of(pod: Pod) -> tuple[str, ...]:
    """An index of pods by the node they are bound to."""
    return (pod.spec.node_name,) if pod.spec.node_name else ()
