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

#: The conditions that scheduling reads: its own verdict, and whether the pod was told to make room.
_READ_CONDITIONS: Final = frozenset(("PodScheduled", "DisruptionTarget"))


class PodSharing:
    """Replaces the bulky parts of a pod by equal ones seen before. Use as an informer's `transform`."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def __call__(self, pod: Pod) -> Pod:
        """The same pod to every plugin, sharing what it can with others."""
        meta = pod.metadata
        metadata = replace(
            meta,
            namespace=self._share(meta.namespace),
            labels=self._share(meta.labels),
            annotations=self._share(meta.annotations),
            owner_references=self._share(meta.owner_references),
        )
        return replace(pod, metadata=metadata, spec=self._spec(pod.spec), status=self._status(pod.status))

    def _spec(self, spec: PodSpec) -> PodSpec:
        return replace(
            spec,
            containers=self._share(spec.containers),
            init_containers=self._share(spec.init_containers),
            volumes=self._share(_sources(spec.volumes)),
            node_selector=self._share(spec.node_selector),
            tolerations=self._share(spec.tolerations),
            affinity=self._share(spec.affinity),
            topology_spread_constraints=self._share(spec.topology_spread_constraints),
        )

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
            if len(self._known) >= _LIMIT:
                self._known = dict(list(self._known.items())[_LIMIT // 2 :])
            known = self._known[key] = part
        return known


def _sources(volumes: tuple[Volume, ...]) -> tuple[Volume, ...]:
    """The volumes whose source says something of the node; tokens, secrets and empty directories do not."""
    return tuple(volume for volume in volumes if volume != Volume(name=volume.name)) if volumes else volumes


def _read(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    return tuple(one for one in conditions if one.type in _READ_CONDITIONS)
