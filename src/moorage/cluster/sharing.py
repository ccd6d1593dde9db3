"""Pods made small: equal parts are kept once, and what no plugin reads is not kept at all.

A thousand replicas differ in little more than their names, and a pod that runs reports much that is of no concern here.
"""

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from moorage.objects import Condition, Pod, PodSpec, PodStatus, Volume

_encode = msgspec.msgpack.Encoder().encode

#: Once so many different parts are known the older half is forgotten: sharing saves memory, it must not take it.
_LIMIT: Final = 20_000

#: What pods of one template have in common.
_SPEC_PARTS: Final = (
    "containers",
    "init_containers",
    "volumes",
    "node_selector",
    "tolerations",
    "affinity",
    "topology_spread_constraints",
)

#: The conditions that scheduling reads: its own verdict, and whether the pod was told to make room.
_READ_CONDITIONS: Final = frozenset(("PodScheduled", "DisruptionTarget"))


class PodSharing:
    """Replaces the bulky parts of a pod by equal ones seen before. Use as an informer's `transform`."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}
        self._namespaces: dict[str, str] = {}

    def __call__(self, pod: Pod) -> Pod:
        """The same pod to every plugin, sharing what it can with others."""
        meta = pod.metadata
        metadata = replace(
            meta,
            namespace=self._namespaces.setdefault(meta.namespace, meta.namespace),
            labels=self._share(meta.labels),
            annotations=self._share(meta.annotations),
            owner_references=self._share(meta.owner_references),
        )
        return replace(pod, metadata=metadata, spec=self._spec(pod.spec), status=self._status(pod.status))

    def _spec(self, spec: PodSpec) -> PodSpec:
        """Replicas have all of it in common: it is looked up as a whole, and in parts only where it is new."""
        whole = (
            spec.containers,
            spec.init_containers,
            _sources(spec.volumes),
            spec.node_selector,
            spec.tolerations,
            spec.affinity,
            spec.topology_spread_constraints,
        )
        key = _encode(whole)
        parts = self._known.get(key)
        if parts is None:
            parts = {name: self._share(part) for name, part in zip(_SPEC_PARTS, whole, strict=True)}
            self._remember(key, parts)
        return replace(spec, **parts)

    def _status(self, status: PodStatus) -> PodStatus:
        if not status.conditions and not status.container_statuses:
            return status
        return replace(
            status,
            conditions=_read(status.conditions),
            container_statuses=self._share(status.container_statuses),
            init_container_statuses=self._share(status.init_container_statuses),
        )

    def _share(self, part: Any) -> Any:
        if not part:
            return part
        key = _encode(part)
        known = self._known.get(key)
        if known is None:
            self._remember(key, part)
            known = part
        return known

    def _remember(self, key: bytes, part: Any) -> None:
        if len(self._known) >= _LIMIT:
            self._known = dict(list(self._known.items())[_LIMIT // 2 :])
        self._known[key] = part


def _sources(volumes: tuple[Volume, ...]) -> tuple[Volume, ...]:
    """The volumes whose source says something of the node; tokens, secrets and empty directories do not."""
    return tuple(volume for volume in volumes if volume != Volume(name=volume.name)) if volumes else volumes


def _read(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    return tuple(one for one in conditions if one.type in _READ_CONDITIONS)
