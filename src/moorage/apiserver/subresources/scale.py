"""Scale: the replica count of a workload, whatever its kind."""

from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.answering import Answering
from moorage.apiserver.fields.conform import Mismatch, conform
from moorage.apiserver.patch.patching import edit_document
from moorage.apiserver.registry import Operation, ServedKind
from moorage.apiserver.requests import Request, Response, Target
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.rules import not_negative
from moorage.apiserver.verbs.stored import load
from moorage.apiserver.verbs.update import change, find

Json = dict[str, Any]
Path = tuple[str, ...]

_STRUCT = "autoscaling/v1.Scale"
_BUILT_IN: tuple[Path, Path, Path] = (("spec", "replicas"), ("status", "replicas"), ("spec", "selector"))


def serve(api: Answering, resource: ServedKind, target: Target, request: Request, verb: str) -> Response:
    """GET, PUT and PATCH of NAME/scale."""
    operation = api.operation(resource, target, request)
    operation.subresource = ""  # the write goes through the workload's own rules
    if verb == "get":
        return Response(200, media.encode(scale_of(operation, load(operation, find(operation)))))
    item = change(operation, lambda old: _with_replicas(operation, old, _wanted(operation, old, request, verb)))
    return Response(200, media.encode(scale_of(operation, load(operation, item))), is_write=True)


def scale_of(operation: Operation, obj: Json) -> Json:
    """The Scale of a workload."""
    wanted, actual, selector = _paths(operation)
    metadata = {key: obj["metadata"][key] for key in _SHOWN if key in obj["metadata"]}
    found: Json = {"replicas": _read(obj, actual) or 0}
    text = _selector_text(_read(obj, selector))
    if text:
        found["selector"] = text
    spec: Json = {"replicas": _read(obj, wanted) or 0}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": found}


_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _paths(operation: Operation) -> tuple[Path, Path, Path]:
    custom = operation.resource.custom
    return _BUILT_IN if custom is None else custom.scale_paths()


def _read(obj: Json, path: Path) -> Any:
    value: Any = obj if path else None
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _selector_text(selector: Any) -> str:
    if not isinstance(selector, dict):
        return selector if isinstance(selector, str) else ""
    labels = (
        selector.get("matchLabels", {}) if "matchLabels" in selector or "matchExpressions" in selector else selector
    )
    parts = [f"{key}={value}" for key, value in sorted(labels.items())]
    for term in selector.get("matchExpressions", ()) if labels is not selector else ():
        operator, values = term.get("operator"), ",".join(term.get("values", ()))
        words = {"In": f"{term['key']} in ({values})", "NotIn": f"{term['key']} notin ({values})"}
        parts.append(words.get(operator) or (term["key"] if operator == "Exists" else f"!{term['key']}"))
    return ",".join(parts)


def _wanted(operation: Operation, old: Json, request: Request, verb: str) -> Json:
    """The Scale that the client wants, checked."""
    if verb == "update":
        scale = media.read_object(request.body, request.content_type, _STRUCT)
    else:
        scale = edit_document(scale_of(operation, old), request, _STRUCT)
    try:
        conform(scale, _STRUCT)
    except Mismatch as error:
        raise status.bad_request(error.describe("Scale")) from error
    faults = Faults()
    not_negative((scale.get("spec") or {}).get("replicas"), "spec.replicas", faults)
    if faults:
        raise status.invalid("Scale", "autoscaling", operation.name, faults)
    return scale


def _with_replicas(operation: Operation, obj: Json, scale: Json) -> Json:
    path, _, _ = _paths(operation)
    parent = obj
    for step in path[:-1]:
        parent = parent.setdefault(step, {})
    parent[path[-1]] = (scale.get("spec") or {}).get("replicas", 0)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        obj["metadata"]["resourceVersion"] = version
    return obj
