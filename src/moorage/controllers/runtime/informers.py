"""One informer for each kind, shared by all controllers, and indexes over what informers hold."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from moorage.controllers.objects.meta import Managed
from moorage.kube.informer import Informer, Key
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.transport import Client

T = TypeVar("T", bound=Managed)

Change = Callable[[T | None, T | None], None]
"""Told (old, new): old is None for what is new, new is None for what is gone."""


class _Teller(Generic[T]):
    """Passes on what an informer tells to one function."""

    def __init__(self, change: Change[T]) -> None:
        self._change = change

    def added(self, new: T) -> None:
        self._change(None, new)

    def updated(self, old: T, new: T) -> None:
        self._change(old, new)

    def deleted(self, old: T) -> None:
        self._change(old, None)

    def synced(self) -> None:
        """Controllers begin when all informers are synced, not one by one."""


class Informers:
    """All that is followed on the cluster. Kinds may be asked for at any time; those that are new are run at once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._informers: dict[ApiResource, Informer[Any]] = {}
        self._tasks: dict[ApiResource, asyncio.Task[None]] = {}
        self._indexes: dict[tuple[ApiResource, Callable[..., Any]], Index[Any]] = {}
        self._group: asyncio.TaskGroup | None = None

    def of(self, kind: type[T]) -> Informer[T]:
        """The informer of a kind. A kind is read in one way only: the first that asks says in which."""
        return self.following(resource_of(kind), kind)

    def following(self, resource: ApiResource, kind: type[T]) -> Informer[T]:
        """The informer of a resource; where nobody follows it yet, its objects are read as `kind`."""
        known: Informer[T] | None = self._informers.get(resource)
        if known is None:
            missing = kind.MAY_BE_MISSING
            known = self._informers[resource] = Informer(self._client, kind, resource=resource, may_be_missing=missing)
            if self._group is not None:
                self._start(self._group, known)
        return known

    def watch(self, kind: type[T], change: Change[T]) -> Informer[T]:
        """Have a function told of every change of a kind."""
        informer = self.of(kind)
        informer.add_handler(_Teller(change))
        return informer

    def watch_resource(self, resource: ApiResource, change: Change[Managed]) -> Informer[Managed]:
        """The same for any resource, of which only the metadata may be known."""
        informer = self.following(resource, Managed)
        informer.add_handler(_Teller(change))
        return informer

    def index(self, kind: type[T], labels_of: Callable[[T], Iterable[str]]) -> "Index[T]":
        """An index over a kind, shared by all who ask for the same function."""
        informer = self.of(kind)
        known: Index[T] | None = self._indexes.get((informer.resource, labels_of))
        if known is None:
            known = self._indexes[informer.resource, labels_of] = Index(informer, labels_of)
        return known

    async def run(self, *, on_synced: Callable[[], None]) -> None:
        """Follow the cluster until cancelled; call `on_synced` once all that was asked for so far is known."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            informers = list(self._informers.values())
            for informer in informers:
                self._start(group, informer)
            for informer in informers:
                await informer.synced.wait()
            on_synced()

    def unfollow(self, resource: ApiResource) -> list[Managed]:
        """The server has the resource no more. Gives what was known of it, which nobody is told is gone."""
        informer = self._informers.pop(resource, None)
        task = self._tasks.pop(resource, None)
        if task is not None:
            task.cancel()
        return list(informer) if informer is not None else []

    def _start(self, group: asyncio.TaskGroup, informer: Informer[Any]) -> None:
        task = group.create_task(informer.run(), name=f"informer {informer.resource.plural}")
        self._tasks[informer.resource] = task


class Index(Generic[T]):
    """The objects of an informer by whatever a function says of them (several things, or none)."""

    def __init__(self, informer: Informer[T], labels_of: Callable[[T], Iterable[str]]) -> None:
        self._labels_of = labels_of
        self._objects: dict[str, dict[Key, T]] = {}
        informer.add_handler(_Teller(self._change))

    def __getitem__(self, label: str) -> list[T]:
        """All objects under a label, in no order."""
        return list(self._objects.get(label, {}).values())

    def count(self, label: str) -> int:
        """How many objects are under a label."""
        return len(self._objects.get(label, ()))

    def _change(self, old: T | None, new: T | None) -> None:
        if old is not None:
            for label in self._labels_of(old):
                under = self._objects[label]
                del under[key_of(old)]
                if not under:
                    del self._objects[label]
        if new is not None:
            for label in self._labels_of(new):
                self._objects.setdefault(label, {})[key_of(new)] = new


def key_of(item: Managed) -> Key:
    """Namespace and name."""
    return item.metadata.namespace, item.metadata.name
