"""Kinds that have no class here: read as they are written, in plain dicts."""

from functools import cache
from typing import Any

import msgspec

from moorage.objects.meta import KubeObject


class Untyped(KubeObject, frozen=True):
    """An object of which only the usual parts are known: whatever they hold is as the API server sent it."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}
    data: dict[str, Any] = {}


@cache
def custom_kind(api_version: str, kind: str, plural: str = "", *, namespaced: bool = True) -> type[Untyped]:
    """The class of any kind, built-in or custom: `custom_kind("quota.example.com/v1", "ElasticQuota")`.

    Asked twice it is the same class. `plural` is what the API's path calls it, by default the English plural.
    """
    names = {"API_VERSION": api_version, "KIND": kind, "PLURAL": plural or _plural(kind), "NAMESPACED": namespaced}
    made = msgspec.defstruct(kind, [], bases=(Untyped,), namespace=names, frozen=True, rename="camel")
    assert issubclass(made, Untyped)
    return made


def _plural(kind: str) -> str:
    name = kind.lower()
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return name + "es"
    if name.endswith("y") and name[-2:-1] not in ("a", "e", "i", "o", "u"):
        return name[:-1] + "ies"
    return name + "s"
