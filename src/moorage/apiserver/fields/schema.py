"""Reads the field table into structs."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SCALARS = frozenset({"string", "bool", "int32", "int64", "float64", "bytes"})
SPECIALS = frozenset({"Quantity", "Time", "MicroTime", "Duration", "IntOrString", "Any"})


@dataclass(frozen=True, slots=True)
class Type:
    """A field's type: a scalar or special by name, a struct, or a list or map of another type."""

    name: str = ""
    struct: str = ""
    element: "Type | None" = None
    is_list: bool = False
    is_map: bool = False
    is_wrapped: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct: a line of the table."""

    number: int
    name: str
    type: Type
    is_inline: bool = False
    is_kept: bool = False
    is_pointer: bool = False
    is_required: bool = False
    is_merged: bool = False
    merge_key: str = ""
    retains_keys: bool = False
    is_set: bool = False
    is_atomic: bool = False
    map_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Struct:
    """An API struct. `fields` has the inlined ones too; `own` is as declared, for protobuf."""

    name: str
    fields: dict[str, Field]
    own: tuple[Field, ...]
    is_atomic: bool = False


def struct(name: str) -> Struct:
    """The struct `package.Name`. Raises KeyError where the table has none."""
    return _structs()[name]


def struct_names() -> tuple[str, ...]:
    """Every struct of the table, in its order."""
    return tuple(_structs())


@cache
def _structs() -> dict[str, Struct]:
    declared, atomic = _read(files(__package__).joinpath("table.txt").read_text("utf-8"))
    return {name: Struct(name, _flatten(name, declared), tuple(own), name in atomic) for name, own in declared.items()}


def _read(text: str) -> tuple[dict[str, list[Field]], set[str]]:
    """The declared fields of each struct, and which structs are atomic."""
    declared: dict[str, list[Field]] = {}
    atomic: set[str] = set()
    package, current = "", ""
    for line in text.splitlines():
        if line.startswith("["):
            package = line[1:-1]
        elif line.startswith(" "):
            declared[current].append(_field(line.split(), package))
        else:
            name, *marks = line.split()
            current = f"{package}.{name}"
            declared[current] = []
            if marks:
                atomic.add(current)
    return declared, atomic


def _field(words: list[str], package: str) -> Field:
    number, name, kind, *marks = words
    keyed = dict(mark.split("=", 1) for mark in marks if "=" in mark)
    return Field(
        number=int(number),
        name=name,
        type=_type(kind, package),
        is_inline=name == "=",
        is_kept="keep" in marks,
        is_pointer="ptr" in marks,
        is_required="required" in marks,
        is_merged="merge" in marks or "merge" in keyed,
        merge_key=keyed.get("merge", ""),
        retains_keys="retainKeys" in marks,
        is_set="set" in marks,
        is_atomic="atomic" in marks,
        map_keys=tuple(key for key in keyed.get("map", "").split(",") if key),
    )


@cache
def _type(kind: str, package: str) -> Type:
    if kind.startswith("[]"):
        element = _type(kind[2:].removesuffix("~"), package)
        return Type(element=element, is_list=True, is_wrapped=kind.endswith("~"))
    if kind.startswith("{}"):
        return Type(element=_type(kind[2:], package), is_map=True)
    if kind in SCALARS or kind in SPECIALS:
        return Type(name=kind)
    return Type(struct=kind if "." in kind else f"{package}.{kind}")


def _flatten(name: str, declared: dict[str, list[Field]]) -> dict[str, Field]:
    flat: dict[str, Field] = {}
    for field in declared[name]:
        if field.is_inline:
            flat.update(_flatten(field.type.struct, declared))
        else:
            flat[field.name] = field
    return flat
