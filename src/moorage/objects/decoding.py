"""From JSON (or already parsed YAML) to typed objects, with errors that name the field."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from moorage.errors import ObjectError
from moorage.objects import claim, coordination, device, node, pod, storage, workload
from moorage.objects.meta import KubeObject

T = TypeVar("T")

#: kind -> type, for everything scheduling reads. Kinds are unique among these groups.
KINDS: Mapping[str, type[KubeObject]] = {
    kind.KIND: kind
    for kind in (
        pod.Pod,
        node.Node,
        node.Namespace,
        storage.PersistentVolume,
        storage.PersistentVolumeClaim,
        storage.StorageClass,
        storage.CSINode,
        storage.CSIDriver,
        storage.CSIStorageCapacity,
        storage.VolumeAttachment,
        workload.Service,
        workload.ReplicaSet,
        workload.ReplicationController,
        workload.StatefulSet,
        workload.PodDisruptionBudget,
        workload.PriorityClass,
        workload.PodGroup,
        workload.CompositePodGroup,
        workload.Workload,
        claim.ResourceClaim,
        claim.ResourceClaimTemplate,
        device.ResourceSlice,
        device.DeviceClass,
        device.DeviceTaintRule,
        coordination.Lease,
        coordination.Event,
    )
}


def decode(raw: bytes | str, kind: type[T]) -> T:
    """Decode one JSON object. Raises ObjectError that names the field."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        return convert(msgspec.json.decode(raw), kind)
    except msgspec.DecodeError as error:
        raise ObjectError(f"not JSON: {error}") from None


def convert(tree: Any, kind: type[T]) -> T:
    """Make a typed object of parsed JSON or YAML. Raises ObjectError that names the field."""
    try:
        return msgspec.convert(tree, type=kind)
    except msgspec.ValidationError:
        pass  # Go reads null as absent; the typed conversion does not: once more without nulls
    try:
        return msgspec.convert(_without_nulls(tree), type=kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        raise ObjectError(problem, where=path.rstrip("`").lstrip(".")) from None


def convert_object(tree: Any) -> KubeObject:
    """Make a typed object of any known kind. Raises ObjectError for unknown ones."""
    if not isinstance(tree, Mapping):
        raise ObjectError(f"expected an API object, got {type(tree).__name__}")
    name = tree.get("kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(sorted(KINDS))
        raise ObjectError(f"unknown kind {name!r}; expected one of {known}", where="kind")
    version = tree.get("apiVersion")
    group = kind.API_VERSION.rpartition("/")[0]
    if not isinstance(version, str) or version.rpartition("/")[0] != group:
        raise ObjectError(f"expected {kind.API_VERSION} for a {name}, got {version!r}", where="apiVersion")
    return convert(tree, kind)


def _without_nulls(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [_without_nulls(value) for value in tree if value is not None]
    return tree
