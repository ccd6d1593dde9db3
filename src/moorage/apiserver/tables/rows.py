"""Tables, rows and cells, and the ways of writing ages and counts that kubectl's users know."""

from collections.abc import Callable
from typing import Any

from moorage.apiserver.registry import Column, Table
from moorage.values.time import parse_time

Json = dict[str, Any]

NAME = Column("Name", format="name")
AGE = Column("Age")
NONE = "<none>"
UNKNOWN = "<unknown>"


def wide(name: str, kind: str = "string") -> Column:
    """A column that only `-o wide` shows."""
    return Column(name, kind, priority=1)


def columns(*names: str) -> tuple[Column, ...]:
    """Name, some columns, age."""
    return (NAME, *(Column(name) for name in names), AGE)


def cells_of(*read: Callable[[Json], Any]) -> Callable[[Json, float], list[Any]]:
    """The cells of such columns, each read from the object."""

    def cells(obj: Json, now: float) -> list[Any]:
        return [obj["metadata"]["name"], *(each(obj) for each in read), age(obj, now)]

    return cells


def age(obj: Json, now: float) -> str:
    """How old an object is."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(stamp: str | None, now: float) -> str:
    """How long ago a time was, in kubectl's short form."""
    if not stamp:
        return UNKNOWN
    try:
        return short_duration(now - parse_time(stamp))
    except ValueError:
        return "<invalid>"


def short_duration(seconds: float) -> str:
    """`45s`, `3m20s`, `12m`, `5h10m`, `2d3h`, `40d`, `2y`: two units while they matter."""
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    if total < 0:
        return "0s"
    if total < 120:
        return f"{total}s"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if minutes < 10:
        return _two(minutes, "m", total % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(first: int, first_unit: str, second: int, second_unit: str) -> str:
    return f"{first}{first_unit}{second}{second_unit}" if second else f"{first}{first_unit}"


def fallback_table() -> Table:
    """Name and age: for kinds that have nothing better."""
    return _FALLBACK


_FALLBACK = Table((NAME, AGE), lambda obj, now: [obj["metadata"]["name"], age(obj, now)])


def table_columns(table: Table) -> list[Json]:
    """The columnDefinitions of a table."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in table.columns
    ]


def table_row(table: Table, obj: Json, now: float) -> Json:
    """One row, without the object that may go with it."""
    return {"cells": table.cells(obj, now)}


def selector_text(selector: Json | None) -> str:
    """A label selector in one line."""
    if not selector:
        return NONE
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or ():
        values = ",".join(term.get("values") or ())
        forms = {"In": f"{term['key']} in ({values})", "NotIn": f"{term['key']} notin ({values})"}
        forms |= {"Exists": term["key"], "DoesNotExist": f"!{term['key']}"}
        parts.append(forms.get(term["operator"], term["key"]))
    return ",".join(parts) or NONE


def labels_text(labels: Json | None) -> str:
    """A label map in one line."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE
