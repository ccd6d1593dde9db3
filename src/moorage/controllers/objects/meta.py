"""What every object carries, as controllers read it."""

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from moorage import objects
from moorage.objects import KubeObject, Struct


class OwnerReference(objects.OwnerReference, frozen=True, gc=False):
    """An owner, and whether it may not go in the foreground before this object has."""

    block_owner_deletion: bool = False


class ObjectMeta(objects.ObjectMeta, frozen=True):
    """Metadata with owners in full."""

    owner_references: tuple[OwnerReference, ...] = ()
    deletion_grace_period_seconds: int = 0

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def is_terminating(self) -> bool:
        return bool(self.deletion_timestamp)


class Managed(KubeObject, frozen=True):
    """Any object: of kinds nobody here reads more of, this is all there is."""

    #: Whether there are API servers that do not serve the kind: then it has no objects.
    MAY_BE_MISSING: ClassVar[bool] = False

    metadata: ObjectMeta = ObjectMeta()


class Condition(Struct, frozen=True):
    """One entry of a status' conditions, with both its times."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    last_update_time: str = ""
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None
    observed_generation: int = 0


class NamespaceSpec(Struct, frozen=True):
    """spec: who must have finished before the namespace goes."""

    finalizers: tuple[str, ...] = ()


class Namespace(Managed, frozen=True):
    """A namespace."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Namespace"
    NAMESPACED: ClassVar[bool] = False

    spec: NamespaceSpec = NamespaceSpec()


def condition_of(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of a type, if it is there."""
    return next((condition for condition in conditions if condition.type == kind), None)


Json = dict[str, Any]


def with_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions with one set. Its time of transition stays where its status does."""
    old = condition_of(conditions, new.type)
    if old is not None and (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return conditions
    if old is not None and old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    return (*without_condition(conditions, new.type), new)


def without_condition(conditions: Iterable[Condition], kind: str) -> tuple[Condition, ...]:
    """The conditions but for one type."""
    return tuple(condition for condition in conditions if condition.type != kind)


def as_json(conditions: Iterable[Condition]) -> list[Json]:
    """As the API takes them."""
    return [msgspec.to_builtins(condition) for condition in conditions]
