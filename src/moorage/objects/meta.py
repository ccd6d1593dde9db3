"""What every API object carries: metadata, references, label selectors, conditions."""

from typing import ClassVar

import msgspec


class Struct(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """The root of all API structs: camelCase on the wire, absent means default, never changed in place."""


#: A resource list as written: a quantity may come as a string or as a bare YAML number.
Quantities = dict[str, str | int | float]


class OwnerReference(Struct, frozen=True, gc=False):
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


class ObjectReference(Struct, frozen=True, gc=False):
    """A reference to another object, as in a volume's claimRef or an event's `regarding`."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
