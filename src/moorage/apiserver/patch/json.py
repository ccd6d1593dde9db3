"""JSON patch (RFC 6902)."""

from typing import Any

from moorage.apiserver import status
from moorage.apiserver.history import encode

LIMIT = 10_000


def apply(document: Any, operations: Any) -> Any:
    """The document after the operations, which are made in place. 400 for a bad patch, 422 for one that fails."""
    if not isinstance(operations, list):
        raise status.bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        )
    if len(operations) > LIMIT:
        raise status.Refusal(413, "RequestEntityTooLarge", f"The allowed maximum operations in a JSON patch is {LIMIT}")
    for operation in operations:
        if not isinstance(operation, dict):
            raise status.bad_request("a JSON patch is a list of objects")
        document = _apply_one(document, operation)
    return document


def _apply_one(document: Any, operation: dict[str, Any]) -> Any:
    verb = operation.get("op")
    path = _pointer(operation.get("path"))
    if verb == "add":
        return _add(document, path, _copy(_value(operation)))
    if verb == "remove":
        return _remove(document, path)[0]
    if verb == "replace":
        _find(document, path)
        return _replace(document, path, _copy(_value(operation)))
    if verb == "move":
        source = _pointer(operation.get("from"))
        document, moved = _remove(document, source)
        return _add(document, path, moved)
    if verb == "copy":
        return _add(document, path, _copy(_find(document, _pointer(operation.get("from")))))
    if verb == "test":
        if _find(document, path) != operation.get("value"):
            raise _failed(f"testing value {operation.get('path')} failed")
        return document
    raise _failed(f"unexpected kind: {verb}")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise _failed(f"the operation lacks a value: {encode(operation).decode()}")
    return operation["value"]


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise _failed("the path of an operation starts with '/'")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _failed(why: str) -> status.Refusal:
    message = f"the server rejected our request due to an error in our request: {why}"
    return status.Refusal(422, "Invalid", message, details={})


def _index(step: str, *, end: int) -> int:
    if not (step.isascii() and step.isdigit() and len(step) < 9) or int(step) >= end:
        raise _failed(f"unable to access invalid index: {step}")
    return int(step)


def _find(document: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list):
            document = document[_index(step, end=len(document))]
        else:
            raise _failed(f"missing path: /{'/'.join(path)}")
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        position = len(parent) if last == "-" else _index(last, end=len(parent) + 1)
        parent.insert(position, value)
    else:
        raise _failed(f"missing path: /{'/'.join(path)}")
    return document


def _replace(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1]), path[-1]
    parent[last if isinstance(parent, dict) else _index(last, end=len(parent))] = value
    return document


def _remove(document: Any, path: list[str]) -> tuple[Any, Any]:
    if not path:
        raise _failed("the whole document cannot be removed")
    removed = _find(document, path)
    parent, last = _find(document, path[:-1]), path[-1]
    del parent[last if isinstance(parent, dict) else _index(last, end=len(parent))]
    return document, removed
