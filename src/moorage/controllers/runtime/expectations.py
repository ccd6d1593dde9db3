"""What a controller has written and has not seen come back yet.

Informers lag behind writes. A controller that counted its pods in between would make them twice; so it waits until
all it has made and deleted has come back, or has not for so long that something must have been missed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from moorage.controllers.objects.meta import Managed
from moorage.controllers.runtime.informers import key_of
from moorage.kube.informer import Key

PATIENCE = 60.0
"""Seconds after which a controller goes on without having seen its own writes."""


@dataclass(slots=True)
class _Expected:
    created: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    since: float = 0.0


class Expectations:
    """Uids of what was created and deleted, by the key of whom it was done for."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._expected: dict[Key, _Expected] = {}

    def created(self, key: Key, uid: str) -> None:
        """An object was created, and will appear. Not to be said of one that has: watches can outrun answers."""
        self._of(key).created.add(uid)

    def deleted(self, key: Key, uids: Iterable[str]) -> None:
        """Objects are about to be deleted, and will go."""
        self._of(key).deleted.update(uids)

    def saw(self, key: Key, uid: str) -> None:
        """An object has appeared."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.created.discard(uid)

    def saw_gone(self, key: Key, uid: str) -> None:
        """An object has gone, or is going."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.created.discard(uid)
            expected.deleted.discard(uid)

    def are_met(self, key: Key) -> bool:
        """Whether all has come back, or it is too late to wait."""
        expected = self._expected.get(key)
        if expected is None:
            return True
        if expected.created or expected.deleted:
            return self._clock() - expected.since > PATIENCE
        del self._expected[key]
        return True

    def forget(self, key: Key) -> None:
        """Whom it was done for is gone."""
        self._expected.pop(key, None)

    def _of(self, key: Key) -> _Expected:
        expected = self._expected.setdefault(key, _Expected())
        expected.since = self._clock()
        return expected


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
