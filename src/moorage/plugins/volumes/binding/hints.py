"""Which events may help a pod that VolumeBinding rejected."""

from moorage.columns import PodInfo
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.objects import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from moorage.plugins.volumes.binding.provisioning import volume_limit
from moorage.plugins.volumes.claims import uses_claim, volumes_of_pod
from moorage.plugins.volumes.csi_migration import MIGRATED_PLUGINS

_ADD_OR_UPDATE = Action.ADD | Action.UPDATE


def _after_class_changed(_pod: PodInfo, before: StorageClass | None, after: StorageClass) -> Hint:
    return Hint.QUEUE if before is None or before.allowed_topologies != after.allowed_topologies else Hint.SKIP


def _after_claim_changed(pod: PodInfo, _before: PersistentVolumeClaim | None, after: PersistentVolumeClaim) -> Hint:
    return Hint.QUEUE if uses_claim(pod, after) else Hint.SKIP


def _after_csi_node_changed(_pod: PodInfo, before: CSINode | None, after: CSINode) -> Hint:
    if before is None:
        return Hint.QUEUE
    old = before.metadata.annotations.get(MIGRATED_PLUGINS, "")
    return Hint.QUEUE if after.metadata.annotations.get(MIGRATED_PLUGINS, "") != old else Hint.SKIP


def _after_driver_updated(pod: PodInfo, before: CSIDriver, after: CSIDriver) -> Hint:
    """A driver of the pod's that stops publishing its capacity is asked for no capacity any more."""
    stopped = before.spec.storage_capacity and not after.spec.storage_capacity
    used = any(volume.csi is not None and volume.csi.driver == after.metadata.name for volume in pod.spec.volumes)
    return Hint.QUEUE if stopped and used else Hint.SKIP


def _after_capacity_changed(_pod: PodInfo, before: CSIStorageCapacity | None, after: CSIStorageCapacity) -> Hint:
    if before is None:
        return Hint.QUEUE
    old, new = volume_limit(before), volume_limit(after)
    return Hint.QUEUE if new is not None and (old is None or new > old) else Hint.SKIP


EVENTS: tuple[EventHint, ...] = (
    on(Resource.STORAGE_CLASS, _ADD_OR_UPDATE, _after_class_changed, reads=volumes_of_pod),
    on(Resource.PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, _after_claim_changed, reads=volumes_of_pod),
    on(Resource.PERSISTENT_VOLUME, _ADD_OR_UPDATE),
    on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
    on(Resource.CSI_NODE, _ADD_OR_UPDATE, _after_csi_node_changed, reads=volumes_of_pod),
    on(Resource.CSI_DRIVER, Action.UPDATE, _after_driver_updated, reads=volumes_of_pod),
    on(Resource.CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE, _after_capacity_changed, reads=volumes_of_pod),
)
