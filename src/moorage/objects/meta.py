"""What every API object carries: metadata, references, label selectors, conditions."""

from functools import cache
from typing import Any, ClassVar

import msgspec


class Struct(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, gc=False):
    """The root of all API structs: camelCase on the wire, absent means default, never changed in place.

    What is read from JSON and never changed is a tree, so the garbage collector has no business with it.
    """


#: A resource list as written: a quantity may come as a string or as a bare YAML number.
Quantities = dict[str, str | int | float]


class OwnerReference(Struct, frozen=True):
    """Who owns an object; the one with `controller` true manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Struct, frozen=True):
    """The part of metadata that scheduling reads. Timestamps stay RFC 3339 text."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class KubeObject(Struct, frozen=True):
    """Any API object: it has metadata, and its class knows apiVersion and kind.

    A kind of one's own (a custom resource) also says under which PLURAL the API serves it.
    """

    API_VERSION: ClassVar[str] = ""
    KIND: ClassVar[str] = ""
    PLURAL: ClassVar[str] = ""
    NAMESPACED: ClassVar[bool] = True

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of a cluster-scoped object."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


class LabelSelectorRequirement(Struct, frozen=True):
    """One expression over one key: In, NotIn, Exists, DoesNotExist (node selectors also Gt, Lt)."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Struct, frozen=True):
    """All of matchLabels and all of matchExpressions. Empty matches everything; an absent one nothing."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Condition(Struct, frozen=True):
    """One entry of a status' conditions."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class ObjectReference(Struct, frozen=True):
    """A reference to another object, as in a volume's claimRef or an event's `regarding`."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


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
