"""Claims, volumes and classes with their annotations and phases, as those read them who bind and provision."""

from typing import Any, ClassVar

from moorage.controllers.objects.meta import Managed
from moorage.objects import (
    LabelSelector,
    ObjectReference,
    PersistentVolumeClaimSpec,
    PersistentVolumeStatus,
    Quantities,
    Struct,
    TopologySelectorTerm,
)

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
"""The storage class by its old annotation, which still goes before the field."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""On a claim: it has its volume for good."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On a claim or a volume: the other side was chosen by a controller, not by the user."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: the scheduler wants its volume made for this node."""
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
"""On a claim: who is to make its volume."""
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""On a volume: who has made it."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"

NO_PROVISIONER = "kubernetes.io/no-provisioner"

AVAILABLE, BOUND, RELEASED, PENDING, LOST = "Available", "Bound", "Released", "Pending", "Lost"


class ClaimStatus(Struct, frozen=True):
    """What the claim has got."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Quantities = {}


class PersistentVolumeClaim(Managed, frozen=True):
    """A pod's claim to storage."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "PersistentVolumeClaim"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def class_name(self) -> str:
        """The class it asks for, empty where it names none."""
        beta = self.metadata.annotations.get(BETA_CLASS)
        return (self.spec.storage_class_name or "") if beta is None else beta

    @property
    def selector(self) -> LabelSelector | None:
        return self.spec.selector


class VolumeSpec(Struct, frozen=True):
    """What a volume is and whose it is."""

    capacity: Quantities = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    persistent_volume_reclaim_policy: str = "Retain"


class PersistentVolume(Managed, frozen=True):
    """A piece of storage."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "PersistentVolume"
    NAMESPACED: ClassVar[bool] = False

    spec: VolumeSpec = VolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    @property
    def class_name(self) -> str:
        """The class it belongs to, empty for none."""
        beta = self.metadata.annotations.get(BETA_CLASS)
        return self.spec.storage_class_name if beta is None else beta


class StorageClass(Managed, frozen=True):
    """How claims of the class are provisioned, and when they are bound."""

    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    KIND: ClassVar[str] = "StorageClass"
    NAMESPACED: ClassVar[bool] = False

    provisioner: str = ""
    volume_binding_mode: str | None = None
    reclaim_policy: str | None = None
    mount_options: tuple[str, ...] = ()
    parameters: dict[str, Any] = {}
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()

    @property
    def waits_for_consumer(self) -> bool:
        """Whether its claims are bound only once a pod that uses them has a node."""
        return self.volume_binding_mode == "WaitForFirstConsumer"
