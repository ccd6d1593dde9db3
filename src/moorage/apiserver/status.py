"""Failures as Kubernetes reports them: Status objects with code, reason, details and causes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from moorage.errors import MoorageError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one field: the path, Kubernetes' name for the fault, and what to say."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Refusal(MoorageError):
    """A request that fails: carries everything a Status object says."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or {}

    def body(self) -> Json:
        """The Status object."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def success(details: Json) -> Json:
    """The Status object that says all went well."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def qualified(resource: str, group: str) -> str:
    """`deployments.apps`, or `pods` where the group is the core one."""
    return f"{resource}.{group}" if group else resource


def _details(resource: str, group: str, name: str) -> Json:
    details: Json = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = resource
    return details


def not_found(resource: str, group: str, name: str) -> Refusal:
    """404: there is no such object."""
    message = f'{qualified(resource, group)} "{name}" not found'
    return Refusal(404, "NotFound", message, details=_details(resource, group, name))


def no_such_path() -> Refusal:
    """404 for a path that serves nothing."""
    return Refusal(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(resource: str, group: str, name: str) -> Refusal:
    """409 on create."""
    message = f'{qualified(resource, group)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, details=_details(resource, group, name))


def conflict(resource: str, group: str, name: str, why: str) -> Refusal:
    """409 on anything but create."""
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return Refusal(409, "Conflict", message, details=_details(resource, group, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(resource: str, group: str, name: str, why: str, *, cause: Json | None = None) -> Refusal:
    """403: understood, and refused."""
    subject = f'{qualified(resource, group)} "{name}"' if name else qualified(resource, group)
    details = _details(resource, group, name)
    if cause:
        details["causes"] = [cause]
    return Refusal(403, "Forbidden", f"{subject} is forbidden: {why}", details=details)


def invalid(kind: str, group: str, name: str, faults: Sequence[Fault]) -> Refusal:
    """422 with a cause for each fault."""
    texts = list(dict.fromkeys(str(fault) for fault in faults))
    summary = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    details = _details(kind, group, name)
    details["causes"] = [{"reason": f.reason, "message": f.message, "field": f.field} for f in faults]
    return Refusal(422, "Invalid", f'{qualified(kind, group)} "{name}" is invalid: {summary}', details=details)


def bad_request(message: str) -> Refusal:
    """400: the request itself makes no sense."""
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    """401: nobody we know."""
    return Refusal(401, "Unauthorized", "Unauthorized", headers={"WWW-Authenticate": "Bearer"})


def method_not_allowed() -> Refusal:
    """405: the resource is there, the verb is not."""
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def unsupported_media_type(accepted: Sequence[str]) -> Refusal:
    """415: we cannot read the body."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return Refusal(415, "UnsupportedMediaType", message)


def not_acceptable(accepted: Sequence[str]) -> Refusal:
    """406: we cannot answer in the format asked for."""
    message = "only the following media types are accepted: " + ", ".join(accepted)
    return Refusal(406, "NotAcceptable", message)


def expired(message: str) -> Refusal:
    """410: the resource version asked for is no longer in the history."""
    return Refusal(410, "Expired", message)


def version_too_large(requested: int, current: int) -> Refusal:
    """504: a resource version from the future."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    details: Json = {"causes": [cause], "retryAfterSeconds": 1}
    return Refusal(504, "Timeout", message, details=details, headers={"Retry-After": "1"})


def too_many_requests(message: str, *, retry_after: int, cause: Json | None = None) -> Refusal:
    """429: come back later."""
    details: Json = {}
    headers: dict[str, str] = {}
    if cause:
        details["causes"] = [cause]
    if retry_after:
        details["retryAfterSeconds"] = retry_after
        headers["Retry-After"] = str(retry_after)
    return Refusal(429, "TooManyRequests", message, details=details, headers=headers)


def internal(message: str) -> Refusal:
    """500: our bug."""
    text = f"Internal error occurred: {message}"
    return Refusal(500, "InternalError", text, details={"causes": [{"message": message}]})
