"""Brings a decoded body into the shape of its struct: types checked, nulls dropped, values canonical.

After this, everything behind may trust the types of built-in fields. A field of the wrong type is refused;
unknown fields are reported, and dropped, as Kubernetes does.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from moorage.apiserver.fields import values
from moorage.apiserver.fields.schema import SCALARS, Field, Type, struct

Json = dict[str, Any]
Check = Callable[[Any, "Finding"], Any]


class Mismatch(Exception):
    """A value of the wrong type. `path` grows from the inside out as the error rises."""

    def __init__(self, found: Any, expected: str) -> None:
        super().__init__(expected)
        self.found = found
        self.expected = expected
        self.struct = ""
        self.path: list[str] = []

    def describe(self, kind: str) -> str:
        """The sentence clients know from Go's decoder."""
        path = ".".join(reversed(self.path))
        if self.expected.startswith("error: "):
            return f"{self.expected.removeprefix('error: ')} (field {path})"
        found = _json_type(self.found)
        return (
            f"json: cannot unmarshal {found} into Go struct field {self.struct or kind}.{path} of type {self.expected}"
        )


class Finding:
    """What the walk is to do, and what it noticed: whether any field is unknown (a second walk then says which)."""

    __slots__ = ("fills", "has_unknown")

    def __init__(self, fills: bool) -> None:
        self.fills = fills
        self.has_unknown = False


def conform(obj: Json, struct_name: str, *, fills: bool = True) -> list[str]:
    """Check and clean an object in place. Answers the paths of unknown fields, now dropped. Raises Mismatch.

    With `fills`, what Kubernetes always writes is there afterwards, if only empty: `spec: {}`, `replicas: 0`."""
    finding = Finding(fills)
    _struct_check(struct_name)(obj, finding)
    return _prune(obj, Type(struct=struct_name), "") if finding.has_unknown else []


@cache
def _struct_check(name: str) -> Check:
    checks: dict[str, Check] | None = None
    optional: frozenset[str] = frozenset()
    kept: tuple[Field, ...] = ()

    def check(value: Any, finding: Finding) -> Any:
        nonlocal checks, optional, kept
        if checks is None:  # built on first use: structs refer to one another in circles
            fields = struct(name).fields.values()
            checks = {field.name: _type_check(field.type) for field in fields}
            optional = frozenset(field.name for field in fields if _is_omitted_empty(field))
            kept = tuple(field for field in fields if _zero(field) is not None)
        if type(value) is not dict:
            raise Mismatch(value, _go_name(name))
        nulls: list[str] = []
        for key, inner in value.items():
            field_check = checks.get(key)
            if field_check is None:
                finding.has_unknown = True
            elif inner is None:
                nulls.append(key)
            else:
                try:
                    value[key] = checked = field_check(inner, finding)
                except Mismatch as error:
                    error.struct = error.struct or name.rpartition(".")[2]
                    error.path.append(key)
                    raise
                if not checked and key in optional:
                    nulls.append(key)
        for key in nulls:
            del value[key]
        if finding.fills:
            for field in kept:
                if field.name not in value:
                    value[field.name] = _zero(field)
        return value

    return check


_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0}


def _zero(field: Field) -> Any:
    """What is written for a field that is always written and has no value; None for one that is not."""
    if not field.is_kept or field.is_pointer:
        return None
    return zero_struct(field.type.struct) if field.type.struct else _ZEROS.get(field.type.name)


def zero_struct(name: str) -> Json:
    """A struct with nothing but what is always written."""
    fields = struct(name).fields.values()
    return {field.name: zero for field in fields if (zero := _zero(field)) is not None}


def _is_omitted_empty(field: Field) -> bool:
    """Whether Kubernetes leaves the field out where it is empty or zero: then nobody can tell it from an absent one."""
    kind = field.type
    return not field.is_kept and not field.is_pointer and (kind.is_list or kind.is_map or kind.name in SCALARS)


def _go_name(name: str) -> str:
    """A struct as Go's messages call it: `v1.Container`."""
    return f"v1.{name.removeprefix('meta.')}" if name.startswith("meta.") else name.rpartition("/")[2]


def _type_check(kind: Type) -> Check:
    if kind.struct:
        return _struct_check(kind.struct)
    if kind.is_list:
        assert kind.element is not None
        return _list_check(_type_check(kind.element), kind.element)
    if kind.is_map:
        assert kind.element is not None
        return _map_check(_amount if kind.element.name == "Quantity" else _type_check(kind.element))
    return _SCALAR_CHECKS[kind.name]


def _list_check(check: Check, element: Type) -> Check:
    empty: Callable[[], Any] = dict if element.struct or element.is_map else str

    def check_list(value: Any, finding: Finding) -> Any:
        if type(value) is not list:
            raise Mismatch(value, "[]" + (_go_name(element.struct) if element.struct else element.name))
        for position, inner in enumerate(value):
            value[position] = check(empty() if inner is None else inner, finding)
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
            value[key] = check(inner, finding)
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


_amount = _special(values.check_amount)

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
