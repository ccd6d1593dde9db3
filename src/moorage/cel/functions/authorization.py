"""Kubernetes' authorizer: its functions are known wherever expressions are, so that a call of one compiles.

Device selectors have no authorizer to call them on: every such call breaks when it is made.
"""

from typing import Any

from moorage.cel.library import declare

_AUTHORIZER, _PATH, _GROUP, _RESOURCE, _DECISION = (
    f"kubernetes.authorization.{name}"
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
_SIGNATURES = (
    f"{_AUTHORIZER}::path(string) -> {_PATH}",
    f"{_AUTHORIZER}::group(string) -> {_GROUP}",
    f"{_AUTHORIZER}::serviceAccount(string, string) -> {_AUTHORIZER}",
    f"{_GROUP}::resource(string) -> {_RESOURCE}",
    *(
        f"{_RESOURCE}::{name}(string) -> {_RESOURCE}"
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    ),
    f"{_PATH}::check(string) -> {_DECISION}",
    f"{_RESOURCE}::check(string) -> {_DECISION}",
    f"{_DECISION}::allowed() -> bool",
    f"{_DECISION}::errored() -> bool",
    f"{_DECISION}::error() -> string",
    f"{_DECISION}::reason() -> string",
)


def _unreachable(*_args: Any) -> Any:
    raise AssertionError("no value is an authorizer, or came from one")


for _signature in _SIGNATURES:
    declare(_signature, _unreachable)
