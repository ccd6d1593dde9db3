"""Brings a store back to where an earlier process left it."""

from collections.abc import Callable

import msgspec

from moorage.apiserver.durable import Durable, Row
from moorage.apiserver.history import Item
from moorage.apiserver.registry import ServedKinds

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def load(registry: ServedKinds, durable: Durable, install: Callable[[Item], None]) -> None:
    """Restore every object. `install` serves the kinds of a CustomResourceDefinition, before their objects come."""
    by_collection: dict[str, list[Row]] = {}
    for row in durable.rows():
        by_collection.setdefault(row[0], []).append(row)
    definitions = [_restore(registry, row) for row in by_collection.pop(_DEFINITIONS, ())]
    for item in definitions:
        install(item)
    for rows in by_collection.values():
        for row in rows:
            _restore(registry, row)


def _restore(registry: ServedKinds, row: Row) -> Item:
    name, namespace, key, revision, data = row
    collection = registry.store.collection(name)
    obj = msgspec.json.decode(data)
    labels = obj["metadata"].get("labels") or {}
    item = Item(namespace, key, revision, data, labels, collection.read_fields(obj))
    collection.restore(item)
    return item
