"""Tokens of service accounts, made on request."""

import secrets
from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.answering import Answering
from moorage.apiserver.auth import User
from moorage.apiserver.fields.conform import Mismatch, conform
from moorage.apiserver.registry import ServedKind
from moorage.apiserver.requests import Request, Response, Target
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.verbs.update import find

Json = dict[str, Any]

_STRUCT = "authentication/v1.TokenRequest"
_SHORTEST, _DEFAULT = 600, 3600


def serve(api: Answering, resource: ServedKind, target: Target, request: Request, _verb: str) -> Response:
    """POST serviceaccounts/NAME/token."""
    operation = api.operation(resource, target, request)
    account = find(operation).decode()["metadata"]
    wanted = media.read_object(request.body, request.content_type, _STRUCT)
    try:
        conform(wanted, _STRUCT)
    except Mismatch as error:
        raise status.bad_request(error.describe("TokenRequest")) from error
    spec = wanted.setdefault("spec", {})
    seconds = spec.setdefault("expirationSeconds", _DEFAULT)
    if seconds < _SHORTEST:
        faults = Faults()
        faults.invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        raise status.invalid("TokenRequest", "authentication.k8s.io", "", faults)
    user = service_account_user(account["namespace"], account["name"], account["uid"])
    clock = api.registry.clock
    token = api.authenticator.add_token(user, secrets.token_urlsafe(32), expires=clock.now() + seconds)
    wanted |= {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": account["name"], "namespace": account["namespace"]},
        "status": {"token": token, "expirationTimestamp": clock.stamp(seconds)},
    }
    return Response(201, media.encode(wanted))


def service_account_user(namespace: str, name: str, uid: str) -> User:
    """The user that a service account is."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)
