"""Cluster events, and what plugins say about them: which ones could make a pod they rejected schedulable."""

import enum
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from moorage.columns import PodInfo
from moorage.errors import InputError
from moorage.objects import KubeObject


class Resource(enum.StrEnum):
    """What an event is about. POD stands for every pod, with a node or without."""

    POD = "Pod"
    #: A pod that has a node.
    ASSIGNED_POD = "AssignedPod"
    #: A pod without a node: the name of Kubernetes 1.36, which does not tell the next two apart.
    UNSCHEDULABLE_POD = "UnschedulablePod"
    #: Another pod without a node.
    UNSCHEDULED_POD = "UnscheduledPod"
    #: The waiting pod itself.
    TARGET_POD = "TargetPod"
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
    COMPOSITE_POD_GROUP = "scheduling.k8s.io/CompositePodGroup"
    ANY = "*"

    @classmethod
    def of(cls, kind: type[KubeObject]) -> "Resource":
        """What events about objects of a class are about; a kind that is not listed above gets a name of its own."""
        group = kind.API_VERSION.rpartition("/")[0]
        name = f"{group}/{kind.KIND}" if group else kind.KIND
        known = cls._value2member_map_.get(name)
        if known is None:
            known = str.__new__(cls, name)
            known._name_ = known._value_ = name
            cls._value2member_map_[name] = known
        return cls(name)


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

#: What a hint function reads of the waiting pod, as one value that can be a key.
ReadsOfPod = Callable[[PodInfo], Hashable]


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
        same = self.resource in (Resource.ANY, incoming.resource) or incoming.resource in _COVERED.get(
            self.resource, ()
        )
        return same and bool(self.action & incoming.action) and incoming.action <= self.action


#: What a registration for pods stands for besides its own name. Those of one version serve in the other, too.
_COVERED: Final[Mapping[Resource, frozenset[Resource]]] = {
    Resource.POD: frozenset(
        (Resource.ASSIGNED_POD, Resource.UNSCHEDULABLE_POD, Resource.UNSCHEDULED_POD, Resource.TARGET_POD)
    ),
    Resource.UNSCHEDULABLE_POD: frozenset((Resource.UNSCHEDULED_POD, Resource.TARGET_POD)),
    Resource.UNSCHEDULED_POD: frozenset((Resource.UNSCHEDULABLE_POD,)),
    Resource.TARGET_POD: frozenset((Resource.UNSCHEDULABLE_POD,)),
}


@dataclass(frozen=True)
class EventHint:
    """A registration: these events may help, if the hint function (when there is one) says so."""

    event: ClusterEvent
    hint: HintFunction | None = None
    #: The class whose objects it is about, where the plugin named that.
    kind: type[KubeObject] | None = None
    reads: ReadsOfPod | None = None


def on(
    what: Resource | type[KubeObject],
    action: Action = Action.ALL,
    hint: HintFunction | None = None,
    *,
    reads: ReadsOfPod | None = None,
) -> EventHint:
    """Register interest in an event, as plugins write it in events_to_register.

    `what` is one of Resource, or the class of any kind: that kind is then followed. `reads` declares what the hint
    reads of the waiting pod: pods for which it gives equal values get one answer, so that the hint is asked once for
    all of them. A hint that does not say is asked for each pod. Raises InputError for anything else.
    """
    if not isinstance(action, Action):
        raise InputError(f"{action!r} is no action: expected some of Action, such as Action.ADD | Action.UPDATE")
    for name, function in (("hint", hint), ("reads", reads)):
        if function is not None and not callable(function):
            raise InputError(f"the {name} is {function!r}: expected a function")
    if isinstance(what, type) and issubclass(what, KubeObject):
        return EventHint(ClusterEvent(Resource.of(what), action), hint, kind=what, reads=reads)
    try:
        return EventHint(ClusterEvent(Resource(what), action), hint, reads=reads)
    except ValueError:
        raise InputError(f"{what!r} is nothing that happens: expected a Resource or the class of a kind") from None


def nothing_of_pod(_pod: PodInfo) -> Hashable:
    """For `reads`: the hint looks at the event alone."""
    return None


def spec_of_pod(pod: PodInfo) -> Hashable:
    """For `reads`: the parts of the spec that decide a node by itself.

    Requests, host ports, images, node name and selector, node affinity, tolerations; not volumes, spreading or pod
    affinity, and nothing of the metadata.
    """
    return pod.pod_class
