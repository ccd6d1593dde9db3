"""Whether an informer has caught up with what we have written to an object ourselves."""

from typing import Any

from moorage.controllers.objects.meta import Managed
from moorage.controllers.runtime.informers import key_of
from moorage.kube.informer import Key

Json = dict[str, Any]


class Freshness:
    """The last version written of each object. Acting on an older one would undo, or do twice, what was done."""

    def __init__(self) -> None:
        self._written: dict[Key, tuple[str, str]] = {}

    def wrote(self, answer: Json) -> None:
        """The server answered a write with this object."""
        meta = answer["metadata"]
        self._written[meta.get("namespace", ""), meta["name"]] = meta["uid"], meta["resourceVersion"]

    def is_fresh(self, seen: Managed) -> bool:
        """Whether what is seen of an object dates from our last write of it, or later."""
        key, meta = key_of(seen), seen.metadata
        uid, version = self._written.get(key, ("", ""))
        # Versions are to be compared as numbers; where a server has others, what we see has to do.
        if uid != meta.uid or not (version.isdigit() and meta.resource_version.isdigit()):
            return True
        if int(meta.resource_version) < int(version):
            return False
        del self._written[key]
        return True

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._written.pop(key, None)
