"""The arguments of plugins from elsewhere, read into the type that the plugin declares: a dataclass or msgspec Struct.

Fields are matched by the names the type has; those of a dataclass also in Kubernetes' spelling (max_load as maxLoad).
"""

import dataclasses
import enum
import re
import types
import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.config.fields import Fault, child, shown
from moorage.errors import InputError, did_you_mean

_AT = re.compile(r" - at `\$?([^`]*)`$")


def read_args(kind: type, value: Any, path: str, faults: list[Fault]) -> Any:
    """What the file says as `kind`. Faults are appended, each with a cure; the result is of use only without any."""
    value = {} if value is None else value
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        faults.append(_fault(path, f"expected an object with the fields of {kind.__name__}, got {shown(value)}"))
        return None
    types = field_types(kind)
    before = len(faults)
    given: dict[str, Any] = {}
    for name, item in value.items():
        field = _field(kind, str(name), types)
        if field is None:
            faults.append(_fault(child(path, str(name)), _unknown(str(name), types)))
        else:
            given[field] = _converted(item, types[field], child(path, str(name)), faults)
    missing = [name for name in required_fields(kind) if name not in given]
    faults += (_fault(child(path, name), f"missing: {kind.__name__} needs it") for name in missing)
    return _made(kind, given, path, faults) if len(faults) == before else None


def field_types(kind: type) -> dict[str, Any]:
    """The fields of a declared type as a file spells them, with their types. Raises InputError where it is no such."""
    if issubclass(kind, msgspec.Struct):
        return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
    raise InputError(f"args_type is {kind!r}: expected a dataclass or a msgspec Struct")


def required_fields(kind: type) -> list[str]:
    """The fields that a file must give, in order."""
    if issubclass(kind, msgspec.Struct):
        return [field.encode_name for field in msgspec.structs.fields(kind) if field.required]
    missing = dataclasses.MISSING
    fields: Any = dataclasses.fields(kind)  # type: ignore[arg-type]
    return [one.name for one in fields if one.init and one.default is missing and one.default_factory is missing]


def _field(kind: type, name: str, types: Mapping[str, Any]) -> str | None:
    if name in types:
        return name
    if issubclass(kind, msgspec.Struct):
        return None
    return next((known for known in types if _camel(known) == name), None)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _unknown(name: str, types: Mapping[str, Any]) -> str:
    expected = f"; expected {' or '.join(types)}" if types else "; the plugin takes none"
    return f"unknown field{did_you_mean(name, types) or expected}"


def _converted(item: Any, kind: Any, path: str, faults: list[Fault]) -> Any:
    if isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind)):
        return read_args(kind, item, path, faults)
    origin, inside_of = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict and isinstance(item, Mapping):
        return {
            _converted(key, inside_of[0], path, faults): _converted(value, inside_of[1], child(path, str(key)), faults)
            for key, value in item.items()
        }
    if origin is list and isinstance(item, list):
        return [_converted(one, inside_of[0], f"{path}[{place}]", faults) for place, one in enumerate(item)]
    if origin in (typing.Union, types.UnionType) and len(inside_of) == 2 and type(None) in inside_of:
        (wanted,) = (one for one in inside_of if one is not type(None))
        return None if item is None else _converted(item, wanted, path, faults)
    try:
        return msgspec.convert(item, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        inside = _AT.search(text)
        problem = text[: inside.start()] if inside else text
        where = path + (inside.group(1) if inside else "")
        problem = problem[:1].lower() + problem[1:].replace("`", "")
        problem = problem if inside else f"{problem}: {shown(item)}"
        faults.append(_fault(where, problem if inside else problem + _of_choices(kind, item)))
        return None


def _of_choices(kind: Any, item: Any) -> str:
    """What there is to choose from, where a type has few values."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        choices = [str(one.value) for one in kind]
    elif typing.get_origin(kind) is typing.Literal:
        choices = [str(one) for one in typing.get_args(kind)]
    else:
        return ""
    return did_you_mean(str(item), choices) or f"; expected {' or '.join(choices)}"


def _made(kind: type, given: Mapping[str, Any], path: str, faults: list[Fault]) -> Any:
    """The arguments. What the type itself refuses (in __post_init__) is a fault in its own words."""
    names = {one.encode_name: one.name for one in msgspec.structs.fields(kind)} if _is_struct(kind) else {}
    try:
        return kind(**{names.get(name, name): value for name, value in given.items()})
    except InputError as error:
        faults.append(_fault(child(path, error.where) if error.where else path, error.problem))
    except (ValueError, TypeError) as error:
        faults.append(_fault(path, str(error)))
    return None


def _is_struct(kind: type) -> bool:
    return issubclass(kind, msgspec.Struct)


def _fault(path: str, problem: str) -> Fault:
    return Fault(path, problem, "decode")
