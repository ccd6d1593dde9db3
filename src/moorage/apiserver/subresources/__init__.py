"""Verbs on parts of an object: binding, eviction, scale, tokens, finalize, and the reviews that store nothing."""

from collections.abc import Callable
from typing import Any

from moorage.apiserver.answering import Answering
from moorage.apiserver.registry import Operation, ServedKind
from moorage.apiserver.requests import Request, Target
from moorage.apiserver.responses import Response
from moorage.apiserver.subresources import binding, eviction, logs, namespaces, reviews, scale, tokens

Json = dict[str, Any]

#: Subresources with a handler of their own; the others are the object itself.
SUBRESOURCES: dict[str, Callable[[Answering, ServedKind, Target, Request, str], Response]] = {
    "binding": binding.serve,
    "eviction": eviction.serve,
    "finalize": namespaces.serve,
    "log": logs.serve,
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
