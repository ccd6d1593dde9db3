"""Server-side apply: an object is what its managers want it to be, and each owns what it asked for."""

from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.history import Item
from moorage.apiserver.patch.managers import FIRST, Manager, Ownership
from moorage.apiserver.patch.merging import merge, remove
from moorage.apiserver.patch.ownership import Path, Paths, leaves, path_text
from moorage.apiserver.patch.shapes import Shape
from moorage.apiserver.registry import Operation, shape_of
from moorage.apiserver.requests import Request
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.verbs import bodies
from moorage.apiserver.verbs.create import create
from moorage.apiserver.verbs.update import change, check_place

Json = dict[str, Any]


def apply(operation: Operation, request: Request) -> tuple[Item, bool]:
    """Apply a configuration; answers the object and whether it is new."""
    _check_manager(operation)
    applied = media.read_object(request.body, media.YAML)
    bodies.shape(applied, operation, fills=False)
    check_place(operation, applied)
    if applied["metadata"].get("managedFields"):
        raise status.bad_request("metadata.managedFields must be nil")
    shape = shape_of(operation.resource)
    if operation.subresource == "" and "status" in operation.resource.kind.subresources:
        applied.pop("status", None)
    manager = Manager(operation.field_manager, "Apply", operation.resource.kind.api_version, operation.subresource)
    wanted = frozenset(leaves(applied, shape))
    now = operation.registry.clock.stamp()
    operation.is_apply = True
    if operation.resource.collection.get(operation.namespace, operation.name) is None and not operation.subresource:
        ownership = Ownership()
        ownership.take(manager, wanted, now)
        ownership.write(applied["metadata"])
        return create(operation, bodies.shape(applied, operation)), True
    is_forced = request.flag("force")

    def edit(old: Json) -> Json:
        new = _applied(old, applied, wanted, manager, shape, now, is_forced=is_forced)
        return bodies.shape(new, operation)

    return change(operation, edit), False


def _check_manager(operation: Operation) -> None:
    if not operation.field_manager:
        faults = Faults()
        faults.required("fieldManager", "is required for apply patch")
        raise status.invalid("PatchOptions", "meta.k8s.io", "", faults)


def _applied(
    live: Json, applied: Json, wanted: Paths, manager: Manager, shape: Shape, now: str, *, is_forced: bool
) -> Json:
    """The live object after an apply, with its new owners."""
    ownership = Ownership.read(live["metadata"])
    before = leaves(live, shape)
    if not ownership.owned:
        first = Manager(FIRST, "Update", manager.api_version)
        ownership.take(first, frozenset(before), now)
    had = ownership.owned.get(manager, frozenset())
    version = applied["metadata"].pop("resourceVersion", "")
    merged: Json = merge(live, applied, shape)
    _settle_conflicts(ownership, manager, before, leaves(merged, shape), wanted, is_forced=is_forced)
    others = ownership.others(manager)
    merged = remove(merged, had - wanted - others, wanted | others, shape)
    ownership.take(manager, wanted, now)
    ownership.write(merged["metadata"])
    if version:
        merged["metadata"]["resourceVersion"] = version
    return merged


def _settle_conflicts(
    ownership: Ownership,
    manager: Manager,
    before: dict[Path, Any],
    after: dict[Path, Any],
    wanted: Paths,
    *,
    is_forced: bool,
) -> None:
    """Fields that others own and that would change: refused, or taken from them by force."""
    changed = frozenset(path for path in wanted if path in after and before.get(path, _ABSENT) != after[path])
    conflicts = {
        other: paths & changed for other, paths in ownership.owned.items() if other != manager and paths & changed
    }
    if not conflicts:
        return
    if not is_forced:
        raise _conflict(conflicts)
    for other, paths in conflicts.items():
        ownership.owned[other] -= paths


_ABSENT = object()


def _conflict(conflicts: dict[Manager, Paths]) -> status.Refusal:
    causes, texts = [], []
    for manager, paths in sorted(conflicts.items(), key=lambda each: each[0].name):
        fields = sorted(path_text(path) for path in paths)
        many = len(fields) > 1
        listed = ":\n" + "\n".join(f"- {field}" for field in fields) if many else f": {fields[0]}"
        texts.append(f"conflict{'s' if many else ''} with {manager}{listed}")
        causes += [
            {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": field}
            for field in fields
        ]
    number = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    message = f"Apply failed with {number}: " + "\n".join(texts)
    return status.Refusal(409, "Conflict", message, details={"causes": causes})
