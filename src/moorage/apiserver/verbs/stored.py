"""The last step of every write: conversion to the stored version, the store, dry runs."""

from typing import Any

from moorage.apiserver.history import Item, encode
from moorage.apiserver.registry import Operation

Json = dict[str, Any]


def load(operation: Operation, item: Item) -> Json:
    """The object of an item in the API version of the operation."""
    obj = item.decode()
    convert = operation.resource.from_stored
    return convert(obj) if convert else obj


def store_object(operation: Operation, obj: Json) -> Item:
    """Store an object; in a dry run answer what would have been stored."""
    resource = operation.resource
    if resource.to_stored:
        obj = resource.to_stored(obj)
    if operation.is_dry_run:
        metadata = obj["metadata"]
        return Item(metadata.get("namespace", ""), metadata["name"], 0, encode(obj), {}, ())
    return resource.collection.put(obj)


def remove_object(operation: Operation, item: Item, last: Json) -> Item:
    """Take an object out of the store; in a dry run answer its last state."""
    resource = operation.resource
    if resource.to_stored:
        last = resource.to_stored(last)
    if operation.is_dry_run:
        return Item(item.namespace, item.name, 0, encode(last), {}, ())
    return resource.collection.remove(item.namespace, item.name, last)
