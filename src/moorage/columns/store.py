"""API objects that are neither nodes nor pods: volumes, claims, classes, services, budgets, namespaces.

An assumed object stands in for the API server's version of it until that version changes (see `assume`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from moorage.columns.tentative import UndoLog
from moorage.objects import KubeObject

T = TypeVar("T", bound=KubeObject)


class Follower(Protocol):
    """Is told of every object of a kind, in the order in which they come."""

    @property
    def undoes(self) -> bool:
        """Whether it finds its own way back at the end of a tentative block."""

    def set(self, item: KubeObject) -> None:
        """An object came or changed."""

    def remove(self, item: KubeObject) -> None:
        """An object is gone."""


class ObjectStore:
    """Objects by kind and key (`namespace/name`, or the name). `version(kind)` moves with every change."""

    def __init__(self) -> None:
        self._objects: dict[type[KubeObject], dict[str, KubeObject]] = {}
        self._assumed: dict[type[KubeObject], dict[str, KubeObject]] = {}
        self._versions: dict[type[KubeObject], int] = {}
        self.undo: UndoLog | None = None
        self._followers: dict[type[KubeObject], Follower] = {}
        self._indexes: dict[tuple[type[KubeObject], Callable[..., str]], tuple[int, dict[str, list[KubeObject]]]] = {}

    def follow(self, kind: type[KubeObject], follower: Follower) -> None:
        """Tell somebody of every object of a kind from now on."""
        self._followers[kind] = follower

    def set(self, item: KubeObject) -> None:
        """Add or replace an object, as the API server has it now."""
        kind = type(item)
        key = item.key
        self._save(kind, key, whole=True)
        before = self._objects.setdefault(kind, {}).get(key)
        self._objects[kind][key] = item
        if before is None or before.metadata.resource_version != item.metadata.resource_version:
            self._assumed.get(kind, {}).pop(key, None)
        self._tell(kind, before, item)
        self._moved(kind)

    def remove(self, item: KubeObject) -> None:
        """The object is gone from the API server."""
        kind = type(item)
        self._save(kind, item.key, whole=True)
        before = self._objects.get(kind, {}).pop(item.key, None)
        self._assumed.get(kind, {}).pop(item.key, None)
        self._tell(kind, before, None)
        self._moved(kind)

    def assume(self, item: KubeObject) -> None:
        """Use this version until the API server's changes: what we are about to write counts from now on."""
        self._save(type(item), item.key)
        self._assumed.setdefault(type(item), {})[item.key] = item
        self._moved(type(item))

    def restore(self, item: KubeObject) -> None:
        """Drop an assumption: the API server's version counts again."""
        self._save(type(item), item.key)
        self._assumed.get(type(item), {}).pop(item.key, None)
        self._moved(type(item))

    def get(self, kind: type[T], key: str) -> T | None:
        """The object as it counts now (assumed version first), or None."""
        assumed = self._assumed.get(kind)
        found = assumed.get(key) if assumed else None
        if found is None:
            found = self._objects.get(kind, {}).get(key)
        return found if isinstance(found, kind) else None

    def each(self, kind: type[T]) -> Iterable[T]:
        """All objects of a kind as they count now, in order of arrival."""
        assumed = self._assumed.get(kind, {})
        for key, item in self._objects.get(kind, {}).items():
            counted = assumed.get(key, item)
            if isinstance(counted, kind):
                yield counted

    def everything(self) -> Iterator[KubeObject]:
        """All objects of all kinds as they count now."""
        for kind in list(self._objects):
            yield from self.each(kind)

    def by(self, kind: type[T], group: Callable[[T], str]) -> dict[str, list[T]]:
        """Objects of a kind grouped by a function of them (a plain function, not a lambda made on the spot).

        Made anew only after the kind changed.
        """
        version = self.version(kind)
        known = self._indexes.get((kind, group))
        if known is None or known[0] != version:
            groups: dict[str, list[KubeObject]] = {}
            for item in self.each(kind):
                groups.setdefault(group(item), []).append(item)
            known = self._indexes[(kind, group)] = (version, groups)
        return known[1]  # type: ignore[return-value]  # grouped from objects of this kind just above

    def version(self, kind: type[KubeObject]) -> int:
        """Moves with every change to objects of the kind."""
        return self._versions.get(kind, 0)

    def _tell(self, kind: type[KubeObject], before: KubeObject | None, after: KubeObject | None) -> None:
        """Tell who follows the kind, and tell the way back when that is gone."""
        follower = self._followers.get(kind)
        if follower is None:
            return
        if after is not None:
            follower.set(after)
        elif before is not None:
            follower.remove(before)
        if self.undo is not None and not follower.undoes:
            self.undo.record(lambda: self._tell(kind, after, before))

    def _moved(self, kind: type[KubeObject]) -> None:
        self._versions[kind] = self._versions.get(kind, 0) + 1

    def _save(self, kind: type[KubeObject], key: str, *, whole: bool = False) -> None:
        """Remember the way back; `whole` where the order of the objects may change."""
        if self.undo is None:
            return
        self.undo.record(lambda: self._moved(kind))
        self.undo.save_key(self._assumed.setdefault(kind, {}), key)
        if whole:
            self.undo.save(self._objects.setdefault(kind, {}))
