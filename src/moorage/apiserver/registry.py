"""Which resources are served, what is particular to each, and the writes to them.

A strategy is made of functions: those of defaults/, admission/ and validation/. Objects handed to them have the right
types in every built-in field (see fields/conform.py) and always have a `metadata` dict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from moorage.apiserver import status
from moorage.apiserver.auth import User
from moorage.apiserver.kinds import BUILT_IN, Kind
from moorage.apiserver.patch.shapes import Built, ObjectShape, Shape
from moorage.apiserver.selectors import SELECTABLE, FieldPaths
from moorage.apiserver.store import Collection, Store
from moorage.apiserver.validation.faults import Faults
from moorage.config import DEFAULT_FEATURES, Features
from moorage.values.time import format_time

Json = dict[str, Any]
Convert = Callable[[Json], Json]
#: From and to what is stored, and the selectable fields by the names of this version, where those differ.
Conversion = tuple[Convert, Convert, tuple[str, ...] | None]
Default = Callable[[Json], None]
OnCreate = Callable[["Operation", Json], None]
OnUpdate = Callable[["Operation", Json, Json], None]
Validate = Callable[[Json, Faults], None]
ValidateUpdate = Callable[[Json, Json, Faults], None]
#: The cells of a table row, and of the wide columns after them.
Cells = Callable[[Json, float], list[Any]]


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall-clock time from a source of seconds since the epoch. Handed in, so that tests and simulations can set it."""

    now: Callable[[], float] = time.time

    def stamp(self, later: float = 0) -> str:
        """Now, or so many seconds later, as RFC 3339 with seconds."""
        return format_time(self.now() + later)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """How `kubectl get` shows a kind."""

    columns: tuple[Column, ...]
    cells: Cells


@dataclass(frozen=True, slots=True)
class Strategy:
    """The behaviour of one kind.

    defaults: fill in what was left out. on_create, on_update, on_status: what the server sets by itself, after
    defaults. validate: refuse an object, validate_update: refuse a change (new, old). `keeps_status_on_create`: a
    status given with a new object stays. `demands_version`: an update must name the version it was made from.
    `creates_on_update`: an update of nothing creates.
    `validate_name`: the rule for names, DNS subdomains unless said."""

    defaults: tuple[Default, ...] = ()
    on_create: tuple[OnCreate, ...] = ()
    on_update: tuple[OnUpdate, ...] = ()
    on_status: tuple[OnUpdate, ...] = ()
    validate: tuple[Validate, ...] = ()
    validate_create: tuple[Validate, ...] = ()
    validate_update: tuple[ValidateUpdate, ...] = ()
    validate_status: tuple[ValidateUpdate, ...] = ()
    validate_name: Callable[[str], str] | None = None
    keeps_status_on_create: bool = False
    creates_on_update: bool = False
    demands_version: bool = False
    on_delete: OnCreate | None = None
    grace_period: Callable[[Json, int | None], int] | None = None


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A served resource: its kind, where its objects are, and how they behave.

    `from_stored` and `to_stored` convert between this API version and the stored one, where they differ;
    `field_names` are the selectable fields by this version's names."""

    kind: Kind
    collection: Collection
    strategy: Strategy
    field_names: tuple[str, ...] = ()
    from_stored: Convert | None = None
    to_stored: Convert | None = None
    table: Table | None = None
    custom: Any = None

    def not_found(self, name: str) -> status.Refusal:
        """404 for an object of this resource."""
        return status.not_found(self.kind.plural, self.kind.group, name)

    def conflict(self, name: str, why: str = status.MODIFIED) -> status.Refusal:
        """409 for an object of this resource."""
        return status.conflict(self.kind.plural, self.kind.group, name, why)

    def forbidden(self, name: str, why: str) -> status.Refusal:
        """403 for an object of this resource."""
        return status.forbidden(self.kind.plural, self.kind.group, name, why)


def shape_of(resource: ServedKind) -> Shape:
    """How objects of a resource take part in server-side apply."""
    if resource.custom is not None:
        return ObjectShape(resource.custom.schema)
    return Built(resource.kind.struct)


@dataclass(slots=True)
class ServedKinds:
    """Every resource by group, version and plural name."""

    store: Store
    clock: Clock
    #: Which release's gates are on.
    features: Features = DEFAULT_FEATURES
    _resources: dict[tuple[str, str, str], ServedKind] = field(default_factory=dict)
    #: Counts changes to the set of resources: caches of discovery and OpenAPI compare it.
    generation: int = 0

    def add(self, resource: ServedKind) -> None:
        """Serve a resource."""
        kind = resource.kind
        self._resources[kind.group, kind.version, kind.plural] = resource
        self.generation += 1

    def discard(self, kind: Kind) -> None:
        """Serve a resource no longer."""
        self._resources.pop((kind.group, kind.version, kind.plural), None)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """The resource, or None."""
        return self._resources.get((group, version, plural))

    def resource(self, plural: str, group: str = "", version: str = "v1") -> ServedKind:
        """The resource; KeyError where it is not served."""
        return self._resources[group, version, plural]

    def resources(self) -> tuple[ServedKind, ...]:
        """Everything served."""
        return tuple(self._resources.values())


@dataclass(slots=True)
class Operation:
    """What admission and the verbs know about a write."""

    registry: ServedKinds
    resource: ServedKind
    namespace: str
    user: User
    name: str = ""
    subresource: str = ""
    is_dry_run: bool = False
    field_validation: str = ""
    field_manager: str = ""
    is_apply: bool = False
    warnings: list[str] = field(default_factory=list)


def collection_for(store: Store, name: str) -> Collection:
    """The collection of a built-in stored resource, with the fields its selectors may name."""
    names = SELECTABLE.get(name, ())
    return store.collection(name, names, FieldPaths(names))


#: Resources whose objects are those of another one, under other names.
STORED_AS = {"events.events.k8s.io": "events"}


def add_built_in(
    registry: ServedKinds,
    strategies: Callable[[Kind], Strategy],
    tables: Callable[[Kind], Table | None],
    conversions: Callable[[Kind], Conversion | None],
) -> None:
    """Serve every kind of the table that the features let be served."""
    for kind in BUILT_IN:
        if not kind.is_served(registry.features):
            continue
        collection = collection_for(registry.store, STORED_AS.get(kind.resource, kind.resource))
        from_stored, to_stored, names = conversions(kind) or (None, None, None)
        if names is None:
            names = collection.field_names
        registry.add(ServedKind(kind, collection, strategies(kind), names, from_stored, to_stored, tables(kind)))
