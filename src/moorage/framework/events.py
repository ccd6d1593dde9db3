"""Cluster events, and what plugins say about them: which ones could make a pod they rejected schedulable."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moorage.columns import PodInfo


class Resource(enum.StrEnum):
    """What an event is about. POD stands for pods with a node and pods without."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    ANY = "*"


class Action(enum.IntFlag):
    """What happened."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_NODE_DECLARED_FEATURE = 128
    UPDATE_POD_LABEL = 256
    UPDATE_POD_SCALE_DOWN = 512
    UPDATE_POD_TOLERATION = 1024
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    UPDATE = 8188
    ALL = 8191


class Hint(enum.Enum):
    """A plugin's opinion on whether an event may have made a pod schedulable."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


#: (the waiting pod, the API object before, the API object after); None where the object was added or deleted.
HintFunction = Callable[[PodInfo, Any, Any], Hint]


@dataclass(frozen=True)
class ClusterEvent:
    """Something that happened to a kind of object."""

    resource: Resource
    action: Action
    label: str = ""

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for anything at all."""
        return self.resource is Resource.ANY and self.action == Action.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Whether an incoming event is one of those this registration asks for."""
        if self.is_wildcard:
            return True
        same = self.resource in (Resource.ANY, incoming.resource) or (
            self.resource is Resource.POD and incoming.resource in (Resource.ASSIGNED_POD, Resource.UNSCHEDULABLE_POD)
        )
        return same and bool(self.action & incoming.action) and incoming.action <= self.action


@dataclass(frozen=True)
class EventHint:
    """A registration: these events may help, if the hint function (when there is one) says so."""

    event: ClusterEvent
    hint: HintFunction | None = None


def on(resource: Resource, action: Action, hint: HintFunction | None = None) -> EventHint:
    """Register interest in an event, as plugins write it in events_to_register."""
    return EventHint(ClusterEvent(resource, action), hint)
