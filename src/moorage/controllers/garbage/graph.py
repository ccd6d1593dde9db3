"""Who owns whom, over all kinds of objects, by uid."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from moorage.controllers.objects.meta import Managed, ObjectMeta
from moorage.kube.paths import ApiResource

FOREGROUND_DELETION = "foregroundDeletion"
ORPHAN_DEPENDENTS = "orphan"


@dataclass(frozen=True, slots=True)
class Known:
    """An object as it was last seen."""

    resource: ApiResource
    metadata: ObjectMeta

    @property
    def owner_uids(self) -> frozenset[str]:
        return frozenset(owner.uid for owner in self.metadata.owner_references)

    @property
    def waits_for_dependents(self) -> bool:
        """Whether it is to go after what it owns (propagation policy Foreground)."""
        return self.metadata.is_terminating and FOREGROUND_DELETION in self.metadata.finalizers

    @property
    def orphans_dependents(self) -> bool:
        """Whether it is to leave behind what it owns (propagation policy Orphan)."""
        return self.metadata.is_terminating and ORPHAN_DEPENDENTS in self.metadata.finalizers

    def blocks(self, owner_uid: str) -> bool:
        """Whether the owner may not go in the foreground before this has."""
        return any(owner.uid == owner_uid and owner.block_owner_deletion for owner in self.metadata.owner_references)


class Graph:
    """All objects, and what each owns."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._dependents: dict[str, set[str]] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._known

    def get(self, uid: str) -> Known | None:
        return self._known.get(uid)

    def dependents(self, uid: str) -> Iterator[Known]:
        """What an object owns, whether or not it is still there itself."""
        return (self._known[dependent] for dependent in tuple(self._dependents.get(uid, ())))

    def has_dependents(self, uid: str) -> bool:
        return bool(self._dependents.get(uid))

    def put(self, resource: ApiResource, item: Managed) -> Known:
        """Note an object as it is now."""
        uid = item.metadata.uid
        old = self._known.get(uid)
        new = self._known[uid] = Known(resource, item.metadata)
        before = old.owner_uids if old is not None else frozenset()
        self._unlink(uid, before - new.owner_uids)
        for owner in new.owner_uids - before:
            self._dependents.setdefault(owner, set()).add(uid)
        return new

    def remove(self, uid: str) -> Known | None:
        """Forget an object that is gone. What it owned stays linked to it, until that goes too."""
        old = self._known.pop(uid, None)
        if old is not None:
            self._unlink(uid, old.owner_uids)
        return old

    def _unlink(self, uid: str, owners: Iterable[str]) -> None:
        for owner in owners:
            dependents = self._dependents[owner]
            dependents.discard(uid)
            if not dependents:
                del self._dependents[owner]
