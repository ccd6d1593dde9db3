"""Pods, as scheduling reads them."""

from typing import ClassVar

from msgspec import field

from moorage.objects.affinity import Affinity, Toleration, TopologySpreadConstraint
from moorage.objects.meta import Condition, KubeObject, Quantities, Struct
from moorage.objects.volume import Volume


class ResourceRequirements(Struct, frozen=True):
    """What a container (or the pod as a whole) asks for."""

    requests: Quantities = {}
    limits: Quantities = {}


class ContainerPort(Struct, frozen=True):
    """A port of a container; only hostPort concerns the node."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = ""


class RestartRule(Struct, frozen=True):
    """One rule of a container's restartPolicyRules."""

    action: str = ""


class Container(Struct, frozen=True):
    """A container or init container. restartPolicy Always makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container of this shape keeps running beside the main containers."""
        return self.restart_policy == "Always"


class SchedulingGate(Struct, frozen=True):
    """A named reason not to schedule the pod yet."""

    name: str = ""


class PodResourceClaim(Struct, frozen=True):
    """A device claim of the pod (dynamic resource allocation)."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class SchedulingGroup(Struct, frozen=True):
    """The pod group the pod belongs to."""

    pod_group_name: str = ""


class PodSpec(Struct, frozen=True):
    """spec: what the pod is and what it asks of its node."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    overhead: Quantities = {}
    resources: ResourceRequirements | None = None
    host_network: bool = False
    host_users: bool | None = None
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    termination_grace_period_seconds: int | None = None


class ContainerStatus(Struct, frozen=True):
    """The part of a container's status that an in-place resize changes."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = {}


class PodResourceClaimStatus(Struct, frozen=True):
    """The claim that was generated for one of the pod's resourceClaims."""

    name: str = ""
    resource_claim_name: str = ""


class ContainerResourceRequest(Struct, frozen=True):
    """Which request of the claim for extended resources stands for a container's resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedResourceClaimStatus(Struct, frozen=True):
    """The claim that was made for the pod's extended resources."""

    resource_claim_name: str = ""
    request_mappings: tuple[ContainerResourceRequest, ...] = ()


class PodStatus(Struct, frozen=True):
    """status: where the pod stands."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = {}
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None


class Pod(KubeObject, frozen=True):
    """A pod."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def priority(self) -> int:
        """spec.priority, 0 where admission set none."""
        return self.spec.priority or 0

    @property
    def is_terminal(self) -> bool:
        """Succeeded and Failed pods hold nothing any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_terminating(self) -> bool:
        """Deletion was asked for; the pod still counts where it runs."""
        return bool(self.metadata.deletion_timestamp)
