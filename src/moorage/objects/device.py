"""Devices: slices publish them, classes name kinds of them, rules taint them."""

from typing import Any, ClassVar

from msgspec import field

from moorage.objects.affinity import NodeSelector
from moorage.objects.meta import KubeObject, Struct

#: A quantity as written: a string, or a bare YAML number.
QuantityText = str | int | float


class CelSelector(Struct, frozen=True):
    """An expression over one device."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True):
    """What a device must be. CEL is the only way to say it so far."""

    cel: CelSelector | None = None


class OpaqueConfiguration(Struct, frozen=True):
    """Parameters that only the driver understands."""

    driver: str = ""
    parameters: Any = None


class DeviceAttribute(Struct, frozen=True):
    """A value of a device: one of the fields is set."""

    int_value: int | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class CapacityRange(Struct, frozen=True):
    """Amounts from min to max in steps."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityPolicy(Struct, frozen=True):
    """How a request for a part of a shared device's capacity is rounded and refused."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Struct, frozen=True):
    """How much of something a device has."""

    value: QuantityText = "0"
    request_policy: CapacityPolicy | None = None


class Counter(Struct, frozen=True):
    """An amount in a counter set."""

    value: QuantityText = "0"


class CounterSet(Struct, frozen=True):
    """Counters that the devices of a pool draw on."""

    name: str = ""
    counters: dict[str, Counter] = {}


class CounterConsumption(Struct, frozen=True):
    """What a device takes of one counter set."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(Struct, frozen=True):
    """Why a device should not be used, or be left."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


class Device(Struct, frozen=True):
    """One device, or one way to cut a device."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(Struct, frozen=True):
    """Which pool a slice is part of, and how many slices make the pool whole."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(Struct, frozen=True):
    """spec of a slice: its pool, where it can be reached, and either devices or the counters they draw on."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubeObject, frozen=True):
    """Part of a pool of devices, as a driver publishes it."""

    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    KIND: ClassVar[str] = "ResourceSlice"
    NAMESPACED: ClassVar[bool] = False

    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceClassConfiguration(Struct, frozen=True):
    """Configuration that every request for the class gets."""

    opaque: OpaqueConfiguration | None = None


class DeviceClassSpec(Struct, frozen=True):
    """spec of a class."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str = ""


class DeviceClass(KubeObject, frozen=True):
    """A kind of device that requests name."""

    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    KIND: ClassVar[str] = "DeviceClass"
    NAMESPACED: ClassVar[bool] = False

    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(Struct, frozen=True):
    """Which devices a rule taints: all that is given must match. Empty: every device."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, frozen=True):
    """spec of a rule. Without a selector it taints nothing."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubeObject, frozen=True):
    """A taint that an administrator puts on devices."""

    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    KIND: ClassVar[str] = "DeviceTaintRule"
    NAMESPACED: ClassVar[bool] = False

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
