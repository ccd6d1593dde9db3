"""Create: names, system metadata, defaults, admission, validation, storage."""

import random
import uuid
from typing import Any

from moorage.apiserver import status
from moorage.apiserver.admission import namespaces
from moorage.apiserver.fields.conform import zero_struct
from moorage.apiserver.fields.schema import struct
from moorage.apiserver.history import Item
from moorage.apiserver.kinds import Kind
from moorage.apiserver.registry import Operation
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import validate_metadata
from moorage.apiserver.verbs.stored import store_object

Json = dict[str, Any]

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_names = random.Random()


def create(operation: Operation, obj: Json) -> Item:
    """Store a new object of the operation's resource; the object is in this API version's shape."""
    resource = operation.resource
    place(operation, obj)
    namespaces.admit(operation)
    metadata = obj["metadata"]
    prepare_metadata(operation, metadata)
    strategy = resource.strategy
    if "status" in resource.kind.subresources and not strategy.keeps_status_on_create:
        reset_status(resource.kind, obj)
    admit(operation, obj)
    validate(operation, obj)
    collection = resource.collection
    if collection.get(metadata.get("namespace", ""), metadata["name"]) is not None:
        raise status.already_exists(resource.kind.plural, resource.kind.group, metadata["name"])
    return store_object(operation, obj)


def reset_status(kind: Kind, obj: Json) -> None:
    """A new object brings no status; where one is always written it starts empty."""
    obj.pop("status", None)
    if kind.struct:
        field = struct(kind.struct).fields.get("status")
        if field is not None and field.is_kept:
            obj["status"] = zero_struct(field.type.struct)


def admit(operation: Operation, obj: Json) -> None:
    """Fill in defaults, then what the server sets by itself."""
    strategy = operation.resource.strategy
    for default in strategy.defaults:
        default(obj)
    for step in strategy.on_create:
        step(operation, obj)


def place(operation: Operation, obj: Json) -> None:
    """Agree on namespace and name between the path and the body, and make up a name from generateName."""
    metadata = obj["metadata"]
    if operation.resource.kind.is_namespaced:
        if metadata.setdefault("namespace", operation.namespace) != operation.namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
    elif metadata.pop("namespace", ""):
        raise status.bad_request("namespace is not allowed on this type")
    if not metadata.get("name"):
        metadata.pop("name", None)
        if metadata.get("generateName"):
            metadata["name"] = generate_name(metadata["generateName"])
    operation.name = metadata.get("name", "")


def generate_name(base: str) -> str:
    """The base and five random letters; what is too long is cut."""
    return base[:58] + "".join(_names.choices(_SUFFIX_LETTERS, k=5))


def prepare_metadata(operation: Operation, metadata: Json) -> None:
    """Set what only the server may set, drop what nobody may bring along."""
    if metadata.get("resourceVersion"):
        raise status.bad_request("resourceVersion should not be set on objects to be created")
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"):
        metadata.pop(name, None)
    if not operation.is_apply:
        metadata.pop("managedFields", None)
    metadata["uid"] = str(uuid.UUID(int=_names.getrandbits(128), version=4))
    metadata["creationTimestamp"] = operation.registry.clock.stamp()
    if operation.resource.kind.counts_generations:
        metadata["generation"] = 1


def validate(operation: Operation, obj: Json) -> None:
    """Refuse a faulty object with 422 and a cause for each fault."""
    faults = Faults()
    resource = operation.resource
    validate_metadata(obj["metadata"], resource.kind.is_namespaced, resource.strategy.validate_name, faults)
    for check in (*resource.strategy.validate, *resource.strategy.validate_create):
        check(obj, faults)
    if faults:
        raise status.invalid(resource.kind.kind, resource.kind.group, operation.name, faults)
