"""A store that follows one kind of object on the cluster, and tells its handlers what changed.

Handlers are called on the event loop, one after another, and never wait: what they learn is what the store holds at
that moment.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from moorage.errors import ObjectError
from moorage.kube.decoding import DELETED, Decoder, T, Unreadable, WatchEvent
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.transport import Client
from moorage.kube.watching import INACTIVITY, Step, Target, watch_forever
from moorage.objects import KubeObject

logger = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace (empty for what has none) and name."""

COLLECTION_LIMIT = 60.0
"""Seconds the garbage collector stays off for the first lists, at most."""


_Seen = TypeVar("_Seen", bound=KubeObject, contravariant=True)


class Handler(Protocol[_Seen]):
    """What an informer tells, once for each change.

    An ObjectError raised by `added` or `updated` is reported as a malformed object is; the store keeps the object.
    Any other exception is a bug and ends the informer.
    """

    def added(self, new: _Seen) -> None: ...

    def updated(self, old: _Seen, new: _Seen) -> None: ...

    def deleted(self, old: _Seen) -> None: ...

    def synced(self) -> None:
        """The store has become whole for the first time."""
        ...


def log_malformed(error: ObjectError) -> None:
    """The default report of an object that cannot be read."""
    logger.warning("left out: %s", error)


class Informer(Generic[T]):
    """Follows the objects of one kind, in all namespaces or one.

    `transform` may replace each object before anybody sees it (to share equal specs, say). `keep` is shown each object
    with the whole of its text, before anybody else and also where nothing of concern changed. `on_malformed` is told of
    objects that do not decode; the last good state of such an object stays until it is deleted.

    A kind of one's own (`PLURAL`) need not be served, nor one that `may_be_missing` (because other versions of the API
    server have it): while it is not, there are no objects of it; one that `is_awaited` is not synced before it is.
    """

    def __init__(
        self,
        client: Client,
        kind: type[T],
        *,
        resource: ApiResource | None = None,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        transform: Callable[[T], T] | None = None,
        keep: Callable[[T, msgspec.Raw], None] | None = None,
        on_malformed: Callable[[ObjectError], None] = log_malformed,
        page_size: int = 500,
        inactivity: float = INACTIVITY,
        may_be_missing: bool = False,
        is_awaited: bool = False,
    ) -> None:
        self.resource = resource or resource_of(kind)
        self.synced = asyncio.Event()
        self._client = client
        self._transform = transform
        self._on_malformed = on_malformed
        self._handlers: list[Handler[T]] = []
        self._store: dict[Key, T] = {}
        self._unlisted: set[Key] | None = None
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        self._target = Target(
            self.resource.path(namespace),
            Decoder(kind, keep),
            selectors={name: selector for name, selector in selectors.items() if selector},
            page_size=page_size,
            inactivity=inactivity,
            may_be_missing=may_be_missing or bool(kind.PLURAL),
            is_awaited=is_awaited,
        )

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._store.get((namespace, name))

    def __len__(self) -> int:
        return len(self._store)

    def __iter__(self) -> Iterator[T]:
        return iter(self._store.values())

    def add_handler(self, handler: Handler[T]) -> None:
        """Tell `handler` from now on. What the store already holds is told at once."""
        self._handlers.append(handler)
        for item in self._store.values():
            handler.added(item)
        if self.synced.is_set():
            handler.synced()

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        async with aclosing(watch_forever(self._client, self._target)) as steps:
            async for step in steps:
                if step is Step.LISTING:
                    self._unlisted = set(self._store)
                elif step is Step.LISTED:
                    self._finish_list()
                else:
                    for item in step:
                        self._apply(item)

    def _apply(self, item: WatchEvent[T] | Unreadable) -> None:
        if isinstance(item, Unreadable):
            self._note_unreadable(item)
            return
        new, meta = item.object, item.object.metadata
        key = meta.namespace, meta.name
        if item.type == DELETED:
            self._remove(key)
            return
        if self._unlisted is not None:
            self._unlisted.discard(key)
        old = self._store.get(key)
        if old is not None and old.metadata.uid != meta.uid:
            # Deleted and made again while we were not looking: two objects that share a name.
            self._remove(key)
            old = None
        if old is not None and old.metadata.resource_version == meta.resource_version:
            return
        if self._transform is not None:
            new = self._transform(new)
        self._store[key] = new
        for handler in self._handlers:
            try:
                if old is None:
                    handler.added(new)
                else:
                    handler.updated(old, new)
            except ObjectError as error:
                self._on_malformed(error)

    def _remove(self, key: Key) -> None:
        old = self._store.pop(key, None)
        if old is None:
            return
        for handler in self._handlers:
            handler.deleted(old)

    def _note_unreadable(self, item: Unreadable) -> None:
        self._on_malformed(item.error)
        key = item.namespace, item.name
        if item.type == DELETED:
            self._remove(key)
        elif self._unlisted is not None:
            self._unlisted.discard(key)

    def _finish_list(self) -> None:
        """What the list did not hold was deleted while nobody watched."""
        for key in self._unlisted or ():
            self._remove(key)
        self._unlisted = None
        if not self.synced.is_set():
            self.synced.set()
            for handler in self._handlers:
                handler.synced()


async def run_informers(informers: Iterable[Informer[Any]], *, on_synced: Callable[[], None] | None = None) -> None:
    """Run informers together until cancelled, and call `on_synced` once all of them hold the cluster.

    The first lists are read with the garbage collector off, and what they brought is then frozen: walking through a
    hundred thousand objects that stay would stop everything else for a second each time.
    """
    informers = list(informers)
    async with asyncio.TaskGroup() as group:
        for informer in informers:
            group.create_task(informer.run(), name=f"informer {informer.resource.plural}")
        await _first_sync(informers)
        if on_synced is not None:
            on_synced()


async def _first_sync(informers: list[Informer[Any]]) -> None:
    collecting = gc.isenabled()
    gc.disable()
    try:
        async with asyncio.timeout(COLLECTION_LIMIT):
            for informer in informers:
                await informer.synced.wait()
        gc.collect()
        gc.freeze()
    except TimeoutError:
        logger.info("the cluster has not been read after %.0f s: still trying", COLLECTION_LIMIT)
    finally:
        if collecting:
            gc.enable()
    for informer in informers:
        await informer.synced.wait()
