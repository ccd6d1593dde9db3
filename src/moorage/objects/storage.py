"""Persistent storage: volumes, claims, classes, drivers, their capacity and attachments."""

from typing import ClassVar

from msgspec import field

from moorage.objects.affinity import NodeSelector
from moorage.objects.meta import KubeObject, LabelSelector, ObjectReference, Quantities, Struct
from moorage.objects.volume import PersistentVolumeClaimSpec, VolumeSources


class VolumeNodeAffinity(Struct, frozen=True):
    """From which nodes a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(VolumeSources, frozen=True):
    """What a volume is and whose it is."""

    capacity: Quantities = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeStatus(Struct, frozen=True):
    """Pending, Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(KubeObject, frozen=True):
    """A piece of storage."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "PersistentVolume"
    NAMESPACED: ClassVar[bool] = False

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Struct, frozen=True):
    """Pending, Bound or Lost."""

    phase: str = ""


class PersistentVolumeClaim(KubeObject, frozen=True):
    """A pod's claim to storage."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "PersistentVolumeClaim"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologyRequirement(Struct, frozen=True):
    """A node label and the values a class provisions for."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Struct, frozen=True):
    """All requirements must hold."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(KubeObject, frozen=True):
    """How claims of this class are provisioned, and when they are bound."""

    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    KIND: ClassVar[str] = "StorageClass"
    NAMESPACED: ClassVar[bool] = False

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    parameters: dict[str, str] = {}


class VolumeNodeResources(Struct, frozen=True):
    """How many volumes of a driver the node takes."""

    count: int | None = None


class CSINodeDriver(Struct, frozen=True):
    """A driver present on a node."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct, frozen=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, frozen=True):
    """The CSI side of a node, under the node's name."""

    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    KIND: ClassVar[str] = "CSINode"
    NAMESPACED: ClassVar[bool] = False

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True):
    """Whether the driver publishes its capacity, and whether pods with its volumes need it on their node."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubeObject, frozen=True):
    """A CSI driver installed in the cluster."""

    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    KIND: ClassVar[str] = "CSIDriver"
    NAMESPACED: ClassVar[bool] = False

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject, frozen=True):
    """How much a class can still provision in one part of the cluster."""

    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    KIND: ClassVar[str] = "CSIStorageCapacity"

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class VolumeAttachmentSource(Struct, frozen=True):
    """What is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, frozen=True):
    """Who attaches what to which node."""

    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachment(KubeObject, frozen=True):
    """A volume attached, or being attached, to a node."""

    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    KIND: ClassVar[str] = "VolumeAttachment"
    NAMESPACED: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
