"""Claims on devices: what is asked for, and what was allocated to whom."""

from typing import ClassVar

from msgspec import field

from moorage.objects.affinity import NodeSelector, Toleration
from moorage.objects.device import DeviceSelector, OpaqueConfiguration, QuantityText
from moorage.objects.meta import Condition, KubeObject, Struct

EXACT_COUNT = "ExactCount"
ALL_DEVICES = "All"


class CapacityRequirements(Struct, frozen=True):
    """How much of a device's capacities is asked for."""

    requests: dict[str, QuantityText] = {}


class DeviceSubRequest(Struct, frozen=True):
    """One alternative of a request, or (without a name) the only one."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None
    admin_access: bool = False


class DeviceRequest(Struct, frozen=True):
    """A request of a claim: for exactly one kind of device, or for the first alternative there is."""

    name: str = ""
    exactly: DeviceSubRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Struct, frozen=True):
    """What devices must have in common, or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Struct, frozen=True):
    """Configuration for some requests of a claim, or for all."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueConfiguration | None = None


class DeviceClaim(Struct, frozen=True):
    """What a claim asks for."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Struct, frozen=True):
    """spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceResult(Struct, frozen=True):
    """One allocated device."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, QuantityText] = {}


class DeviceConfiguration(Struct, frozen=True):
    """Configuration that goes with an allocation, and where it came from."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueConfiguration | None = None


class DeviceAllocation(Struct, frozen=True):
    """The devices of an allocation."""

    results: tuple[DeviceResult, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()


class Allocation(Struct, frozen=True):
    """What a claim got, and from which nodes it can be reached (None: from all)."""

    devices: DeviceAllocation = DeviceAllocation()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str = ""


class ClaimConsumer(Struct, frozen=True):
    """Who may use a claim: a pod, or a group of pods."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Struct, frozen=True):
    """What a driver says of a device it has handed out."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(Struct, frozen=True):
    """status of a claim."""

    allocation: Allocation | None = None
    reserved_for: tuple[ClaimConsumer, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubeObject, frozen=True):
    """A claim on devices."""

    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    KIND: ClassVar[str] = "ResourceClaim"

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplate(KubeObject, frozen=True):
    """What the claim controller makes claims of. Scheduling reads nothing of it."""

    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    KIND: ClassVar[str] = "ResourceClaimTemplate"
