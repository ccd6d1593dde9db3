"""Finalize: takes finalizers off a namespace; the last one takes it away."""

from typing import Any

from moorage.apiserver.answering import Answering
from moorage.apiserver.history import Item
from moorage.apiserver.registry import Operation, ServedKind
from moorage.apiserver.requests import Request, Target
from moorage.apiserver.responses import Response
from moorage.apiserver.verbs import bodies
from moorage.apiserver.verbs.stored import remove_object, store_object
from moorage.apiserver.verbs.update import check_place, check_version, find

Json = dict[str, Any]


def serve(api: Answering, resource: ServedKind, target: Target, request: Request, _verb: str) -> Response:
    """PUT namespaces/NAME/finalize."""
    operation = api.operation(resource, target, request)
    obj = bodies.read(request.body, request.content_type, operation)
    check_place(operation, obj)
    return api.written(finalize(operation, obj), resource, request)


def finalize(operation: Operation, obj: Json) -> Item:
    """Store the finalizers that the client leaves; a namespace that is to go and has none goes."""
    item = find(operation)
    old = item.decode()
    check_version(operation, obj["metadata"], item, old["metadata"])
    finalizers = (obj.get("spec") or {}).get("finalizers")
    old["spec"] = {"finalizers": finalizers} if finalizers else {}
    metadata = old["metadata"]
    if "deletionTimestamp" in metadata and not finalizers and not metadata.get("finalizers"):
        return remove_object(operation, item, old)
    return store_object(operation, old)
