"""Update: conflict detection, what may not change, defaults, admission, validation, storage."""

from collections.abc import Callable
from typing import Any

from moorage.apiserver import status
from moorage.apiserver.history import Item
from moorage.apiserver.patch.managers import Manager, track_update
from moorage.apiserver.registry import Operation, shape_of
from moorage.apiserver.requests import parse_revision
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import validate_metadata, validate_metadata_update
from moorage.apiserver.verbs.create import create
from moorage.apiserver.verbs.stored import load, remove_object, store_object

Json = dict[str, Any]

#: Metadata that an update cannot touch: it keeps the old value whatever the client sends.
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")


def find(operation: Operation) -> Item:
    """The object that the operation names, or 404."""
    item = operation.resource.collection.get(operation.namespace, operation.name)
    if item is None:
        raise operation.resource.not_found(operation.name)
    return item


def replace(operation: Operation, obj: Json) -> tuple[Item, bool]:
    """Put: the object replaces the stored one, if it was made from the same version. Says whether it is new."""
    check_place(operation, obj)
    resource = operation.resource
    is_missing = resource.collection.get(operation.namespace, operation.name) is None
    if is_missing and resource.strategy.creates_on_update and not operation.subresource:
        obj["metadata"].pop("resourceVersion", None)
        return create(operation, obj), True
    return change(operation, lambda _: obj), False


def change(operation: Operation, edit: Callable[[Json], Json]) -> Item:
    """Read, edit, store: one step for everybody else. `edit` gets the old object and may change and answer it."""
    item = find(operation)
    old = load(operation, item)
    new = edit(load(operation, item))
    check_version(operation, new["metadata"], item, old["metadata"])
    return store_change(operation, item, new, old)


def check_place(operation: Operation, obj: Json) -> None:
    """The body must be about the object on the path."""
    metadata = obj["metadata"]
    if metadata.setdefault("name", operation.name) != operation.name:
        raise status.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({operation.name})"
        )
    if not operation.resource.kind.is_namespaced:
        metadata.pop("namespace", None)
    elif metadata.setdefault("namespace", operation.namespace) != operation.namespace:
        raise status.bad_request(
            f"the namespace of the object ({metadata['namespace']}) does not match the namespace on the URL "
            f"({operation.namespace})"
        )


def check_version(operation: Operation, metadata: Json, item: Item, old: Json) -> None:
    """Refuse a change that was made from another version, or to another object of the same name."""
    version = parse_revision(metadata.get("resourceVersion", "")) or 0
    if version and version != item.revision:
        raise operation.resource.conflict(operation.name)
    if not version and operation.resource.strategy.demands_version:
        faults = Faults()
        faults.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        kind = operation.resource.kind
        raise status.invalid(kind.plural, kind.group, operation.name, faults)  # so kube-apiserver calls it here
    if metadata.get("uid", old["uid"]) != old["uid"]:
        why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {old['uid']}"
        raise operation.resource.conflict(operation.name, why)


def store_change(operation: Operation, item: Item, new: Json, old: Json) -> Item:
    """Prepare, validate and store a changed object; nothing is written where nothing changed."""
    _keep_metadata(new["metadata"], old["metadata"])
    if operation.subresource == "status":
        _prepare_status(operation, new, old)
    else:
        _prepare(operation, new, old)
    _track(operation, new, old)
    _validate(operation, new, old)
    if new == old:
        return item
    if _is_finished(new["metadata"], old["metadata"]):
        return remove_object(operation, item, new)
    return store_object(operation, new)


def _keep_metadata(new: Json, old: Json) -> None:
    for name in _KEPT:
        if name in old:
            new[name] = old[name]
        else:
            new.pop(name, None)
    if "generateName" in old:
        new.setdefault("generateName", old["generateName"])
    for name in ("labels", "annotations", "finalizers", "ownerReferences"):
        if name in new and not new[name]:
            del new[name]
    new["resourceVersion"] = old["resourceVersion"]


def _prepare(operation: Operation, new: Json, old: Json) -> None:
    resource = operation.resource
    if "status" in resource.kind.subresources:
        _copy_field(new, old, "status")
    for default in resource.strategy.defaults:
        default(new)
    for step in resource.strategy.on_update:
        step(operation, new, old)
    if resource.kind.counts_generations and _is_new_generation(new, old, resource.kind.subresources):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _track(operation: Operation, new: Json, old: Json) -> None:
    """Keep account of who owns which field, where anybody asked for it."""
    metadata = new["metadata"]
    if operation.is_apply or not (metadata.get("managedFields") or old["metadata"].get("managedFields")):
        return
    manager = Manager(
        operation.field_manager or "unknown", "Update", operation.resource.kind.api_version, operation.subresource
    )
    track_update(new, old, manager, shape_of(operation.resource), operation.registry.clock.stamp())


def _is_new_generation(new: Json, old: Json, subresources: tuple[str, ...]) -> bool:
    """Whether anything but metadata, and a status that is written apart, differs."""
    names = (new.keys() | old.keys()) - {"metadata"}
    if "status" in subresources:
        names.discard("status")
    return any(new.get(name) != old.get(name) for name in names)


def _prepare_status(operation: Operation, new: Json, old: Json) -> None:
    for name in (new.keys() | old.keys()) - {"metadata", "status", "kind", "apiVersion"}:
        _copy_field(new, old, name)
    _copy_field(new["metadata"], old["metadata"], "ownerReferences")
    _copy_field(new["metadata"], old["metadata"], "finalizers")
    for default in operation.resource.strategy.defaults:
        default(new)
    for step in operation.resource.strategy.on_status:
        step(operation, new, old)


def _copy_field(new: Json, old: Json, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def _validate(operation: Operation, new: Json, old: Json) -> None:
    faults = Faults()
    resource = operation.resource
    strategy = resource.strategy
    validate_metadata(new["metadata"], resource.kind.is_namespaced, strategy.validate_name, faults)
    validate_metadata_update(new["metadata"], old["metadata"], faults)
    if operation.subresource == "status":
        for check in strategy.validate_status:
            check(new, old, faults)
    else:
        for rule in strategy.validate:
            rule(new, faults)
        for check in strategy.validate_update:
            check(new, old, faults)
    if faults:
        raise status.invalid(resource.kind.kind, resource.kind.group, operation.name, faults)


def _is_finished(new: Json, old: Json) -> bool:
    """Whether this change took the last finalizer off an object that is to go."""
    if "deletionTimestamp" not in new or new.get("deletionGracePeriodSeconds", 0) != 0:
        return False
    return bool(old.get("finalizers")) and not new.get("finalizers")
