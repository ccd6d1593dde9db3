"""Brings a decoded body into the shape of its struct: types checked, nulls dropped, values canonical.

After this, everything behind may trust the types of built-in fields. A field of the wrong type is refused;
unknown fields are reported, and dropped, as Kubernetes does.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from moorage.apiserver.fields import values
from moorage.apiserver.fields.schema import Field, Type, struct

Json = dict[str, Any]
Check = Callable[[Any, "Finding"], Any]


class Mismatch(Exception):
    """A value of the wrong type. `path` grows from the inside out as the error rises."""

    def __init__(self, found: Any, expected: str) -> None:
        super().__init__(expected)
        self.found = found
        self.expected = expected
        self.path: list[str] = []

    def describe(self, kind: str) -> str:
        """The sentence clients know from Go's decoder."""
        path = "".join(reversed(self.path)).removeprefix(".")
        if self.expected.startswith("error: "):
            return f"{self.expected.removeprefix('error: ')} (field {path})"
        found = _json_type(self.found)
        return f"json: cannot unmarshal {found} into Go struct field {kind}.{path} of type {self.expected}"


class Finding:
    """What the walk noticed: whether any field is unknown (a second walk then says which)."""

    __slots__ = ("has_unknown",)

    def __init__(self) -> None:
        self.has_unknown = False


def conform(obj: Json, struct_name: str) -> list[str]:
    """Check and clean an object in place. Answers the paths of unknown fields, now dropped. Raises Mismatch."""
    finding = Finding()
    _struct_check(struct_name)(obj, finding)
    return _prune(obj, Type(struct=struct_name), "") if finding.has_unknown else []


@cache
def _struct_check(name: str) -> Check:
    checks: dict[str, Check] | None = None

    def check(value: Any, finding: Finding) -> Any:
        nonlocal checks
        if checks is None:  # built on first use: structs refer to one another in circles
            checks = {field.name: _type_check(field.type) for field in struct(name).fields.values()}
        if type(value) is not dict:
            raise Mismatch(value, name.rpartition("/")[2])
        nulls: list[str] = []
        for key, inner in value.items():
            field_check = checks.get(key)
            if field_check is None:
                finding.has_unknown = True
            elif inner is None:
                nulls.append(key)
            else:
                try:
                    value[key] = field_check(inner, finding)
                except Mismatch as error:
                    error.path.append(f".{key}")
                    raise
        for key in nulls:
            del value[key]
        return value

    return check


def _type_check(kind: Type) -> Check:
    if kind.struct:
        return _struct_check(kind.struct)
    if kind.is_list:
        assert kind.element is not None
        return _list_check(_type_check(kind.element), kind.element)
    if kind.is_map:
        assert kind.element is not None
        return _map_check(_type_check(kind.element))
    return _SCALAR_CHECKS[kind.name]


def _list_check(check: Check, element: Type) -> Check:
    empty: Callable[[], Any] = dict if element.struct or element.is_map else str

    def check_list(value: Any, finding: Finding) -> Any:
        if type(value) is not list:
            raise Mismatch(value, "[]" + (element.struct.rpartition("/")[2] or element.name))
        for position, inner in enumerate(value):
            try:
                value[position] = check(empty() if inner is None else inner, finding)
            except Mismatch as error:
                error.path.append(f"[{position}]")
                raise
        return value

    return check_list


def _map_check(check: Check) -> Check:
    def check_map(value: Any, finding: Finding) -> Any:
        if type(value) is not dict:
            raise Mismatch(value, "map[string]")
        nulls = []
        for key, inner in value.items():
            if inner is None:
                nulls.append(key)
                continue
            try:
                value[key] = check(inner, finding)
            except Mismatch as error:
                error.path.append(f".{key}")
                raise
        for key in nulls:
            del value[key]
        return value

    return check_map


def _string(value: Any, _: Finding) -> Any:
    if type(value) is not str:
        raise Mismatch(value, "string")
    return value


def _bool(value: Any, _: Finding) -> Any:
    if type(value) is not bool:
        raise Mismatch(value, "bool")
    return value


def _float(value: Any, _: Finding) -> Any:
    if type(value) not in (int, float):
        raise Mismatch(value, "float64")
    return value


def _integer(bits: int) -> Check:
    limit = 1 << (bits - 1)

    def check(value: Any, _: Finding) -> Any:
        if type(value) is not int or not -limit <= value < limit:
            raise Mismatch(value, f"int{bits}")
        return value

    return check


def _special(read: Callable[[Any], Any]) -> Check:
    def check(value: Any, _: Finding) -> Any:
        try:
            return read(value)
        except (ValueError, OverflowError) as error:
            raise Mismatch(value, f"error: {error}") from error

    return check


_SCALAR_CHECKS: dict[str, Check] = {
    "string": _string,
    "bool": _bool,
    "int32": _integer(32),
    "int64": _integer(64),
    "float64": _float,
    "bytes": _special(values.check_bytes),
    "Quantity": _special(values.check_quantity),
    "Time": _special(values.check_time),
    "MicroTime": _special(values.check_micro_time),
    "Duration": _special(values.check_duration),
    "IntOrString": _special(values.check_int_or_string),
    "Any": lambda value, _: value,
}


def _prune(value: Any, kind: Type, path: str) -> list[str]:
    """Drop what no struct declares; answer the paths dropped."""
    if kind.struct:
        return _prune_struct(value, struct(kind.struct).fields, path)
    unknown: list[str] = []
    if kind.is_list and kind.element is not None:
        for position, inner in enumerate(value):
            unknown += _prune(inner, kind.element, f"{path}[{position}]")
    elif kind.is_map and kind.element is not None:
        for key, inner in value.items():
            unknown += _prune(inner, kind.element, f"{path}.{key}")
    return unknown


def _prune_struct(value: Json, fields: dict[str, Field], path: str) -> list[str]:
    unknown: list[str] = []
    for key in list(value):
        here = f"{path}.{key}" if path else key
        if key in fields:
            unknown += _prune(value[key], fields[key].type, here)
        else:
            del value[key]
            unknown.append(here)
    return unknown


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if abs(value) >= 2**31 else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
