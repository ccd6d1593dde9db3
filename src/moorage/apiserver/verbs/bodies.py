"""From a request's bytes to an object of the right kind and shape."""

from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.fields.conform import Mismatch, conform
from moorage.apiserver.kinds import Kind
from moorage.apiserver.registry import Operation

Json = dict[str, Any]


def read(body: bytes, content_type: str, operation: Operation) -> Json:
    """Decode and check an object of the operation's resource."""
    kind = operation.resource.kind
    obj = media.read_object(body, content_type, kind.struct)
    return shape(obj, operation)


def shape(obj: Json, operation: Operation, *, fills: bool = True) -> Json:
    """Check kind, types and unknown fields of a decoded object; fill in what is always written, if only empty."""
    resource = operation.resource
    check_kind(obj, resource.kind)
    if resource.custom is not None:
        resource.custom.shape(obj, operation)
    else:
        check_fields(obj, resource.kind.struct, resource.kind, operation, fills=fills)
    obj.setdefault("metadata", {})
    return obj


def check_kind(obj: Json, kind: Kind) -> None:
    """Fill in kind and apiVersion, or refuse those of another."""
    api_version = obj.get("apiVersion") or kind.api_version
    name = obj.get("kind") or kind.kind
    if api_version != kind.api_version or name != kind.kind:
        raise status.bad_request(
            f'{name} in version "{kind.version}" cannot be handled as a {kind.kind}: no kind "{name}" is registered'
            f' for version "{api_version}"'
        )
    obj["kind"], obj["apiVersion"] = name, api_version


def check_fields(obj: Json, struct: str, kind: Kind, operation: Operation, *, fills: bool = True) -> None:
    """Types are always checked; unknown fields as the client's fieldValidation says."""
    try:
        unknown = conform(obj, struct, fills=fills)
    except Mismatch as error:
        raise status.bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error.describe(kind.kind)}'
        ) from error
    report_unknown(unknown, kind, operation)


def report_unknown(paths: list[str], kind: Kind, operation: Operation) -> None:
    """Refuse, mention or pass over unknown fields."""
    if not paths:
        return
    words = [f'unknown field "{path}"' for path in paths]
    if operation.field_validation == "Strict":
        raise status.bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
            f"strict decoding error: {', '.join(words)}"
        )
    if operation.field_validation != "Ignore":
        operation.warnings += words
