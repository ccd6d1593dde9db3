"""What an object that is neither node nor pod means for the snapshot and the queue."""

from typing import Final

from moorage.columns import ObjectStore
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
    KubeObject,
    PersistentVolume,
    PersistentVolumeClaim,
    PodGroup,
    ResourceClaim,
    ResourceSlice,
    StorageClass,
    VolumeAttachment,
)
from moorage.queue import Group, SchedulingQueue

#: The kinds whose changes are events that may wake pods; others are only read.
RESOURCE_OF: Final[dict[type[KubeObject], Resource]] = {
    PersistentVolume: Resource.PERSISTENT_VOLUME,
    PersistentVolumeClaim: Resource.PERSISTENT_VOLUME_CLAIM,
    StorageClass: Resource.STORAGE_CLASS,
    CSINode: Resource.CSI_NODE,
    CSIDriver: Resource.CSI_DRIVER,
    CSIStorageCapacity: Resource.CSI_STORAGE_CAPACITY,
    VolumeAttachment: Resource.VOLUME_ATTACHMENT,
    PodGroup: Resource.POD_GROUP,
    ResourceClaim: Resource.RESOURCE_CLAIM,
    ResourceSlice: Resource.RESOURCE_SLICE,
    DeviceClass: Resource.DEVICE_CLASS,
}


class ObjectEvents:
    """Handles one kind as an informer tells it."""

    def __init__(self, kind: type[KubeObject], objects: ObjectStore, queue: SchedulingQueue) -> None:
        self._objects = objects
        self._queue = queue
        self._resource = RESOURCE_OF.get(kind)
        if Resource.of(kind) in queue.registered_actions():
            self._resource = Resource.of(kind)
        self._is_taint_rule = kind is DeviceTaintRule

    def added(self, new: KubeObject) -> None:
        """An object appeared."""
        self._set(new)
        self._tell(Action.ADD, None, new)

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        """An object changed."""
        self._set(new)
        self._tell(Action.UPDATE, old, new)

    def deleted(self, old: KubeObject) -> None:
        """An object is gone."""
        self._objects.remove(old)
        if isinstance(old, PodGroup):
            self._queue.remove_group(_path_of(old))
        self._tell(Action.DELETE, old, None)

    def synced(self) -> None:
        """All objects there are have been told."""

    def _set(self, new: KubeObject) -> None:
        self._objects.set(new)
        if isinstance(new, PodGroup):
            self._queue.set_group(_queued_group(new))

    def _tell(self, action: Action, old: KubeObject | None, new: KubeObject | None) -> None:
        if self._is_taint_rule:
            # Nobody waits for rules: what they do to slices is the news.
            self._queue.move_on_event(ClusterEvent(Resource.RESOURCE_SLICE, Action.UPDATE), None, None)
        elif self._resource is not None:
            self._queue.move_on_event(ClusterEvent(self._resource, action), old, new)


def _path_of(group: PodGroup) -> str:
    return f"podgroups/{group.key}"


def _queued_group(group: PodGroup) -> Group:
    parent = group.spec.parent_composite_pod_group_name
    path = f"compositepodgroups/{group.metadata.namespace}/{parent}" if parent else ""
    return Group(_path_of(group), group.spec.priority or 0, path)
