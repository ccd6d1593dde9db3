"""What is particular to a kind, as functions: filled in by defaults/, admission/ and validation/.

Objects handed to these functions have the right types in every built-in field (see fields/conform.py) and
always have a `metadata` dict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moorage.apiserver.validation.faults import Faults

if TYPE_CHECKING:
    from moorage.apiserver.operation import Operation

Json = dict[str, Any]
Default = Callable[[Json], None]
OnCreate = Callable[["Operation", Json], None]
OnUpdate = Callable[["Operation", Json, Json], None]
Validate = Callable[[Json, Faults], None]
ValidateUpdate = Callable[[Json, Json, Faults], None]
#: The cells of a table row, and of the wide columns after them.
Cells = Callable[[Json, float], list[Any]]


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
    on_delete: Callable[[Operation, Json], None] | None = None
    grace_period: Callable[[Json, int | None], int] | None = None
