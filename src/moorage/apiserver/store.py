"""Objects as encoded bytes, one collection for each stored resource, under one counter of revisions.

Single-threaded: a caller that does not await between reading and writing sees and makes a consistent change.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from moorage.apiserver.history import Change, History, Item, Json, Key, encode


class Journal(Protocol):
    """Where changes go to outlive the process."""

    def record(self, collection: str, item: Item, *, deleted: bool) -> None:
        """Take note of a change; it is durable once the journal says so."""


#: Reads the values that field selectors may ask for, in the order of Collection.field_names.
FieldReader = Callable[[Json], tuple[str, ...]]


class Collection:
    """All objects of one stored resource, and the history of their changes."""

    def __init__(self, store: "Store", name: str, field_names: tuple[str, ...], read_fields: FieldReader) -> None:
        self.store = store
        self.name = name
        self.field_names = field_names
        self.read_fields = read_fields
        self.history = History(store.revision, store.history_limit)
        self._items: dict[Key, Item] = {}
        self._sorted: list[Key] = []
        self._is_sorted = True

    def __len__(self) -> int:
        return len(self._items)

    def get(self, namespace: str, name: str) -> Item | None:
        """The object, or None."""
        return self._items.get((namespace, name))

    def items(self, namespace: str | None = None) -> Iterator[Item]:
        """Every object, of one namespace if asked, in the order of their keys."""
        if not self._is_sorted:
            self._sorted = sorted(self._items)
            self._is_sorted = True
        items = self._items
        if namespace is None:
            return (items[key] for key in self._sorted)
        start = bisect_left(self._sorted, (namespace, ""))
        end = bisect_left(self._sorted, (namespace + "\0", ""))
        return (items[key] for key in self._sorted[start:end])

    def items_at(self, revision: int, namespace: str | None = None) -> Iterable[Item]:
        """Every object as it was at a past revision, which the history must still reach."""
        past = self.history.before(revision)
        if not past:
            return self.items(namespace)
        found = {item.key: item for item in self.items(namespace) if item.key not in past}
        found |= {
            key: item for key, item in past.items() if item is not None and (namespace is None or key[0] == namespace)
        }
        return [found[key] for key in sorted(found)]

    def put(self, obj: Json) -> Item:
        """Store an object under the next revision, which is stamped into its metadata."""
        store = self.store
        metadata = obj["metadata"]
        store.revision += 1
        metadata["resourceVersion"] = str(store.revision)
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        key = (namespace, name)
        item = Item(namespace, name, store.revision, encode(obj), metadata.get("labels") or {}, self.read_fields(obj))
        previous = self._items.get(key)
        self._items[key] = item
        if previous is None:
            self._is_sorted = False
        self._publish(Change("MODIFIED" if previous else "ADDED", item, previous))
        return item

    def remove(self, namespace: str, name: str, last: Json) -> Item:
        """Take an object out. `last` is its final state, stamped with the deletion's revision."""
        store = self.store
        key = (namespace, name)
        previous = self._items.pop(key)
        self._is_sorted = False
        store.revision += 1
        last["metadata"]["resourceVersion"] = str(store.revision)
        item = Item(namespace, name, store.revision, encode(last), previous.labels, previous.fields)
        self._publish(Change("DELETED", item, previous))
        return item

    def restore(self, item: Item) -> None:
        """Put back an object that an earlier process stored: no new revision, no event."""
        self._items[item.key] = item
        self._is_sorted = False

    def _publish(self, change: Change) -> None:
        if self.store.journal is not None:
            self.store.journal.record(self.name, change.item, deleted=change.type == "DELETED")
        self.history.append(change)


class Store:
    """The collections and the counter they share."""

    def __init__(self, *, history_limit: int = 20_000, revision: int = 1) -> None:
        self.history_limit = history_limit
        self.revision = revision
        self.journal: Journal | None = None
        self._collections: dict[str, Collection] = {}

    def collection(
        self, name: str, field_names: tuple[str, ...] = (), read_fields: FieldReader = lambda _: ()
    ) -> Collection:
        """The collection of that name (`deployments.apps`), made on first use."""
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(self, name, field_names, read_fields)
        return found

    def collections(self) -> tuple[Collection, ...]:
        """Every collection that was ever asked for."""
        return tuple(self._collections.values())

    def drop(self, name: str) -> None:
        """Forget a collection: its kind is no longer served."""
        collection = self._collections.pop(name, None)
        if collection is not None:
            collection.history.close()
