"""What an object that is neither node nor pod means for the snapshot and the queue."""

from typing import Final

from moorage.columns import ObjectStore
from moorage.columns.groups import info_of, path_of_object
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.objects import (
    CompositePodGroup,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
    KubeObject,
    LabelledPodGroup,
    PersistentVolume,
    PersistentVolumeClaim,
    PodGroup,
    PodGroupAlpha,
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
    PodGroupAlpha: Resource.POD_GROUP,
    CompositePodGroup: Resource.COMPOSITE_POD_GROUP,
    ResourceClaim: Resource.RESOURCE_CLAIM,
    ResourceSlice: Resource.RESOURCE_SLICE,
    DeviceClass: Resource.DEVICE_CLASS,
}


GROUPS: Final = (PodGroup, CompositePodGroup, LabelledPodGroup)


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
        if isinstance(old, GROUPS):
            self._queue.remove_group(path_of_object(old))
        self._tell(Action.DELETE, old, None)

    def synced(self) -> None:
        """All objects there are have been told."""

    def _set(self, new: KubeObject) -> None:
        self._objects.set(new)
        if isinstance(new, GROUPS):
            self._queue.set_group(_queued_group(new))

    def _tell(self, action: Action, old: KubeObject | None, new: KubeObject | None) -> None:
        if self._is_taint_rule:
            # Nobody waits for rules: what they do to slices is the news.
            self._queue.move_on_event(ClusterEvent(Resource.RESOURCE_SLICE, Action.UPDATE), None, None)
        elif self._resource is not None:
            self._queue.move_on_event(ClusterEvent(self._resource, action), old, new)


def _queued_group(item: KubeObject) -> Group:
    info = info_of(item)
    return Group(info.path, info.priority or 0, info.parent)
