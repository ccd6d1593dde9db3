"""Equal parts of pods kept once: a thousand replicas differ in little more than their names."""

from typing import Any

import msgspec
from msgspec.structs import replace

from moorage.objects import Pod

_encode = msgspec.msgpack.Encoder().encode

#: Once so many different parts are known the oldest half is forgotten: sharing saves memory, it must not take it.
_LIMIT = 20_000


class SpecSharing:
    """Replaces the bulky parts of a pod's spec by equal ones seen before. Use as an informer's `transform`."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def __call__(self, pod: Pod) -> Pod:
        """The same pod, sharing what it can with others."""
        spec = pod.spec
        shared = replace(
            spec,
            containers=self._share(spec.containers),
            init_containers=self._share(spec.init_containers),
            tolerations=self._share(spec.tolerations),
            affinity=self._share(spec.affinity),
            topology_spread_constraints=self._share(spec.topology_spread_constraints),
            volumes=self._share(spec.volumes),
        )
        metadata = replace(pod.metadata, labels=self._share(pod.metadata.labels))
        return replace(pod, metadata=metadata, spec=shared)

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
