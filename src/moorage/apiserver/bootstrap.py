"""How a server begins: with what an earlier process left, and what every cluster has: namespaces, priority classes."""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.apiserver.admission.namespaces import AT_START
from moorage.apiserver.admission.priority import DESCRIPTIONS, SYSTEM_CLASSES
from moorage.apiserver.auth import ADMIN_GROUP, User
from moorage.apiserver.durable import Durable, Row
from moorage.apiserver.history import Item
from moorage.apiserver.registry import Operation, ServedKinds
from moorage.apiserver.verbs.create import create

Json = dict[str, Any]

_SERVER = User("system:apiserver", (ADMIN_GROUP,))


def bootstrap(registry: ServedKinds) -> None:
    """Create what is not there yet."""
    for name in AT_START:
        ensure(registry, "namespaces", "", {"metadata": {"name": name}})
    for name, value in SYSTEM_CLASSES.items():
        obj = {"metadata": {"name": name}, "value": value, "description": DESCRIPTIONS[name]}
        ensure(registry, "priorityclasses", "scheduling.k8s.io", obj)


def ensure(registry: ServedKinds, plural: str, group: str, obj: Json) -> None:
    """Create an object unless there is one of its name."""
    resource = registry.resource(plural, group)
    metadata = obj["metadata"]
    if resource.collection.get(metadata.get("namespace", ""), metadata["name"]) is not None:
        return
    obj = {"kind": resource.kind.kind, "apiVersion": resource.kind.api_version, **obj}
    create(Operation(registry, resource, metadata.get("namespace", ""), _SERVER), obj)


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
