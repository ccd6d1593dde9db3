"""Takes a patch of any kind to an object: the stored one is read, patched, and stored as an update."""

from collections.abc import Callable
from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.history import Item
from moorage.apiserver.patch import json as json_patch
from moorage.apiserver.patch import strategic
from moorage.apiserver.patch.apply import apply
from moorage.apiserver.registry import Operation
from moorage.apiserver.requests import Request
from moorage.apiserver.verbs import bodies
from moorage.apiserver.verbs.update import change, check_place
from moorage.values.merging import merge_patch

Json = dict[str, Any]
Edit = Callable[[Json], Json]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patch_object(operation: Operation, request: Request) -> tuple[Item, bool]:
    """Patch the object of the operation. Answers it, and whether it is new (server-side apply creates)."""
    if request.content_type.partition(";")[0].strip() == APPLY_PATCH:
        return apply(operation, request)
    patched = editor(request, operation.resource.kind.struct)

    def edit(old: Json) -> Json:
        new = patched(old)
        bodies.shape(new, operation)
        check_place(operation, new)
        return new

    return change(operation, edit), False


def edit_document(document: Json, request: Request, struct: str) -> Json:
    """A document of a built-in struct after a patch."""
    return editor(request, struct)(document)


def editor(request: Request, struct: str) -> Edit:
    """The function that a patch is: from the old object to the new one. Custom kinds have no struct."""
    media_type = request.content_type.partition(";")[0].strip()
    accepted = [JSON_PATCH, MERGE_PATCH, *([STRATEGIC_PATCH] if struct else []), APPLY_PATCH]
    if media_type not in accepted[:-1]:
        raise status.unsupported_media_type(accepted)
    patch = media.read_json(request.body)
    if media_type == JSON_PATCH:
        return lambda old: _as_object(json_patch.apply(old, patch))
    patch = media.as_object(patch)
    if media_type == MERGE_PATCH:
        return lambda old: _as_object(merge_patch(old, patch))
    return lambda old: strategic.merge(old, patch, struct)


def _as_object(value: Any) -> Json:
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        raise status.Refusal(422, "Invalid", "the patched object is no object with metadata any more")
    return value
