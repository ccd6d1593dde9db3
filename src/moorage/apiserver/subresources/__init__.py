"""Verbs on parts of an object: binding, eviction, scale, tokens, finalize, and the reviews that store nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moorage.apiserver.subresources import binding

if TYPE_CHECKING:
    from moorage.apiserver.api import Api, Response
    from moorage.apiserver.operation import Operation
    from moorage.apiserver.registry import Resource
    from moorage.apiserver.requests import Request, Target

Json = dict[str, Any]

#: Subresources with a handler of their own; the others are the object itself.
SUBRESOURCES: dict[str, Callable[[Api, Resource, Target, Request, str], Response]] = {
    "binding": binding.serve,
}
#: Resources whose create answers something and stores nothing.
CREATES_NOTHING: dict[str, Callable[[Operation, Json], Json]] = {}
