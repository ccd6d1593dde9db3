"""Which kinds of object the enabled plugins need to see: those, and no other, are watched."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.cluster.others import RESOURCE_OF
from moorage.framework.events import Action, Resource
from moorage.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    KubeObject,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)

#: What the built-in plugins read besides nodes and pods.
_READS: Final[Mapping[str, tuple[type[KubeObject], ...]]] = {
    "VolumeRestrictions": (PersistentVolumeClaim,),
    "NodeVolumeLimits": (CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment),
    "VolumeBinding": (
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
    ),
    "VolumeZone": (PersistentVolume, PersistentVolumeClaim, StorageClass),
    "PodTopologySpread": (ReplicaSet, ReplicationController, Service, StatefulSet),
    "InterPodAffinity": (Namespace,),
    "DefaultPreemption": (PodDisruptionBudget,),
}


def needed_kinds(
    plugins: Iterable[tuple[str, Any]], registered: Mapping[Resource, Action]
) -> tuple[type[KubeObject], ...]:
    """The kinds to watch besides nodes and pods, sorted by name.

    `plugins` are the enabled ones of all profiles; `registered` is what they want to hear of. A plugin of a user's own
    names the kinds it reads in a class attribute `reads`.
    """
    kinds = {kind for kind, resource in RESOURCE_OF.items() if resource in registered}
    for name, plugin in plugins:
        kinds.update(_READS.get(name, ()))
        kinds.update(getattr(plugin, "reads", ()))
    return tuple(sorted(kinds, key=lambda kind: kind.KIND))
