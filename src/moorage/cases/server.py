"""The API server of a script: it holds the objects, and knows which changes it has not told yet."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from moorage.errors import InputError
from moorage.objects import Condition, KubeObject, Pod, convert
from moorage.values.time import format_time

#: The order in which changes are told. A kind that is not named here comes before nodes and pods.
_ORDER: Final = (
    "Namespace",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "StorageClass",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "DeviceClass",
    "ResourceSlice",
    "ResourceClaim",
    "DeviceTaintRule",
    "CompositePodGroup",
    "PodGroup",
    "Node",
    "Pod",
)

Objects = dict[str, KubeObject]


class Change(NamedTuple):
    """One object before and after, as a watch would tell it: None for what is not there."""

    kind: type[KubeObject]
    old: KubeObject | None
    new: KubeObject | None


class ScriptServer:
    """Objects by kind and key. `epoch` is second 0 of the script."""

    def __init__(self, epoch: float) -> None:
        self._epoch = epoch
        self._objects: dict[type[KubeObject], Objects] = {}
        self._told: dict[type[KubeObject], Objects] = {}
        self._version = 0
        #: The pods of the case, by uid, in the order in which they were made.
        self._ranks: dict[str, int] = {}

    def create(self, item: KubeObject) -> None:
        """An object appears."""
        if isinstance(item, Pod):
            self._ranks.setdefault(item.metadata.uid, len(self._ranks) + 1)
        self._set(item)

    def update(self, item: KubeObject) -> None:
        """An object is replaced; a pod keeps its node and its status. What is gone stays gone."""
        before = self.get(type(item), item.key)
        if before is None:
            return
        if isinstance(before, Pod) and isinstance(item, Pod):
            item = replace(item, spec=replace(item.spec, node_name=before.spec.node_name), status=before.status)
        self._set(item)

    def delete(self, kind: type[KubeObject], key: str) -> None:
        """An object is gone at once."""
        self._objects.get(kind, {}).pop(key, None)

    def bind(self, pod: Pod, node_name: str) -> None:
        """The pod is on the node, and runs."""
        before = self._pod(pod)
        started = format_time(self._epoch + self._ranks[pod.metadata.uid])
        status = replace(before.status, phase="Running", start_time=started, nominated_node_name="")
        self._set(replace(before, spec=replace(before.spec, node_name=node_name), status=status))

    def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Merge into the status of a pod, if it is still there: a condition by its type; null takes a field away."""
        before = self.get(Pod, pod.key)
        if not isinstance(before, Pod) or before.metadata.uid != pod.metadata.uid:
            return
        now = before.status
        if "nominatedNodeName" in status:
            now = replace(now, nominated_node_name=status["nominatedNodeName"] or "")
        for condition in (convert(tree, Condition) for tree in status.get("conditions", ())):
            others = tuple(one for one in now.conditions if one.type != condition.type)
            now = replace(now, conditions=(*others, condition))
        self._set(replace(before, status=now))

    def put(self, item: KubeObject) -> KubeObject:
        """An object is made or replaced, whole."""
        self._set(item)
        return self._objects[type(item)][item.key]

    def drop(self, item: KubeObject) -> None:
        """An object is gone."""
        self.delete(type(item), item.key)

    def get(self, kind: type[KubeObject], key: str) -> KubeObject | None:
        """The object as it is now."""
        return self._objects.get(kind, {}).get(key)

    def kind_of(self, resource: str) -> type[KubeObject]:
        """The kind by its name in a path: `pods`, `podgroups`, `nodes`."""
        for kind in self._objects.keys() | self._told.keys():
            if f"{kind.KIND.lower()}s" == resource:
                return kind
        raise InputError(f'no object of a kind "{resource}" was ever made')

    def changes(self) -> Iterator[Change]:
        """What was not told yet: kind after kind, first what is gone, then what is new, then what has changed."""
        for kind in sorted(self._objects, key=_rank):
            now, told = self._objects[kind], self._told.get(kind, {})
            self._told[kind] = dict(now)
            gone = sorted(key for key, item in told.items() if not _is_same(item, now.get(key)))
            yield from (Change(kind, told[key], None) for key in gone)
            yield from [Change(kind, None, item) for key, item in now.items() if not _is_same(item, told.get(key))]
            stayed = sorted(key for key, item in now.items() if _is_same(item, told.get(key)))
            yield from (Change(kind, told[key], now[key]) for key in stayed if told[key] is not now[key])

    def _pod(self, pod: Pod) -> Pod:
        before = self.get(Pod, pod.key)
        if not isinstance(before, Pod) or before.metadata.uid != pod.metadata.uid:
            raise InputError("was bound after it was gone", where=pod.key)
        return before

    def _set(self, item: KubeObject) -> None:
        objects = self._objects.setdefault(type(item), {})
        before = objects.get(item.key)
        version = "" if before is None else before.metadata.resource_version
        if before is None or replace(item, metadata=replace(item.metadata, resource_version=version)) != before:
            self._version += 1
            objects[item.key] = replace(item, metadata=replace(item.metadata, resource_version=str(self._version)))


def _rank(kind: type[KubeObject]) -> int:
    return _ORDER.index(kind.KIND) if kind.KIND in _ORDER else 0


def _is_same(item: KubeObject, other: KubeObject | None) -> bool:
    """Whether both are versions of one object."""
    return other is not None and item.metadata.uid == other.metadata.uid
