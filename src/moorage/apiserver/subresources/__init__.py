"""Verbs on parts of an object: binding, eviction, scale, tokens, finalize, and the reviews that store nothing."""

from collections.abc import Callable
from typing import Any

from moorage.apiserver import status
from moorage.apiserver.answering import Answering
from moorage.apiserver.registry import Operation, ServedKind
from moorage.apiserver.requests import Request, Response, Target
from moorage.apiserver.subresources import binding, eviction, reviews, scale, tokens
from moorage.apiserver.verbs import bodies
from moorage.apiserver.verbs.delete import finalize
from moorage.apiserver.verbs.update import check_place, find

Json = dict[str, Any]


def _finalize(api: Answering, resource: ServedKind, target: Target, request: Request, _verb: str) -> Response:
    """PUT namespaces/NAME/finalize."""
    operation = api.operation(resource, target, request)
    obj = bodies.read(request.body, request.content_type, operation)
    check_place(operation, obj)
    return api.written(finalize(operation, obj), resource, request)


def _log(api: Answering, resource: ServedKind, target: Target, request: Request, _verb: str) -> Response:
    """GET pods/NAME/log: there are no containers behind these pods, and no kubelet to ask."""
    pod = find(api.operation(resource, target, request)).decode()
    if not pod["spec"].get("nodeName"):
        raise status.bad_request(f"pod {target.name} does not have a host assigned")
    return Response(200, b"", "text/plain")


#: Subresources with a handler of their own; the others are the object itself.
SUBRESOURCES: dict[str, Callable[[Answering, ServedKind, Target, Request, str], Response]] = {
    "binding": binding.serve,
    "eviction": eviction.serve,
    "finalize": _finalize,
    "log": _log,
    "scale": scale.serve,
    "token": tokens.serve,
}
#: Resources whose create answers something and stores nothing.
REVIEWS: dict[str, Callable[[Operation, Json], Json]] = {
    "localsubjectaccessreviews.authorization.k8s.io": reviews.access_review,
    "selfsubjectaccessreviews.authorization.k8s.io": reviews.access_review,
    "subjectaccessreviews.authorization.k8s.io": reviews.access_review,
    "selfsubjectrulesreviews.authorization.k8s.io": reviews.rules_review,
    "selfsubjectreviews.authentication.k8s.io": reviews.self_review,
}
