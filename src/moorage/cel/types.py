"""Static types, written as Kubernetes prints them: `list(string)`, `map(A, B)`, `optional_type(int)`.

A single capital letter is a type variable. `dyn` fits everything.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A type with its parameters."""

    name: str
    of: tuple["Type", ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name

    @property
    def is_variable(self) -> bool:
        """Whether it stands for a type that is yet to be found."""
        return self.name[0] == "$" or (len(self.name) == 1 and self.name.isupper())


DYN = Type("dyn")
ANY = Type("any")
BOOL = Type("bool")
INT = Type("int")
STRING = Type("string")
NULL = Type("null_type")
QUANTITY = Type("kubernetes.Quantity")
DEVICE = Type("kubernetes.DRADevice")
LITERALS = {"uint": Type("uint"), "double": Type("double"), "bytes": Type("bytes")}

_PIECE = re.compile(r"[\w.@]+|[(),]")


def optional(of: Type) -> Type:
    """An optional value of a type."""
    return Type("optional_type", (of,))


def list_of(of: Type) -> Type:
    """A list."""
    return Type("list", (of,))


def map_of(key: Type, value: Type) -> Type:
    """A map."""
    return Type("map", (key, value))


def is_open(type_: Type) -> bool:
    """Whether nothing is known of a value of this type before it is there."""
    return type_.name in ("dyn", "any")


def shown(type_: Type) -> str:
    """The type as messages have it: times without the name of their package."""
    return str(type_).replace("google.protobuf.Timestamp", "timestamp").replace("google.protobuf.Duration", "duration")


def parse_type(text: str) -> Type:
    """A type as it is written in the library's signatures."""
    pieces = _PIECE.findall(text)
    type_, end = _parse(pieces, 0)
    assert end == len(pieces), text
    return type_


def _parse(pieces: list[str], at: int) -> tuple[Type, int]:
    name, at = pieces[at], at + 1
    of = []
    if at < len(pieces) and pieces[at] == "(":
        while pieces[at] != ")":
            inner, at = _parse(pieces, at + 1)
            of.append(inner)
        at += 1
    return Type(name, tuple(of)), at


class Bindings:
    """What type variables turned out to be."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}
        self._fresh = 0

    def fresh(self) -> Type:
        """A new variable."""
        self._fresh += 1
        return Type(f"${self._fresh}")

    def renamed(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """The types with their variables replaced by new ones, the same by the same."""
        names: dict[str, Type] = {}
        return tuple(self._rename(one, names) for one in types)

    def _rename(self, type_: Type, names: dict[str, Type]) -> Type:
        if type_.is_variable:
            if type_.name not in names:
                names[type_.name] = self.fresh()
            return names[type_.name]
        return Type(type_.name, tuple(self._rename(one, names) for one in type_.of)) if type_.of else type_

    def resolve(self, type_: Type, *, final: bool = False) -> Type:
        """The type with what is known filled in; unknown variables become dyn in the end."""
        if type_.is_variable:
            known = self._known.get(type_.name)
            if known is not None:
                return self.resolve(known, final=final)
            return DYN if final else type_
        return Type(type_.name, tuple(self.resolve(one, final=final) for one in type_.of)) if type_.of else type_

    def fit(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        """Whether values of the given types can stand where the others are wanted. Learns variables if so."""
        before = dict(self._known)
        if len(given) == len(wanted) and all(self._assignable(w, g) for w, g in zip(wanted, given, strict=True)):
            return True
        self._known = before
        return False

    def _assignable(self, wanted: Type, given: Type) -> bool:
        wanted, given = self.resolve(wanted), self.resolve(given)
        if given.is_variable or wanted.is_variable:
            return self._learn(wanted, given)
        if is_open(wanted) or is_open(given):
            return True
        if wanted.name != given.name:
            return False
        if wanted.name == "type" or not wanted.of or not given.of:
            return True
        return all(self._assignable(w, g) for w, g in zip(wanted.of, given.of, strict=True))

    def _learn(self, wanted: Type, given: Type) -> bool:
        variable, other = (wanted, given) if wanted.is_variable else (given, wanted)
        if variable == other:
            return True
        if _occurs(variable, other):
            return False
        self._known[variable.name] = other
        return True


def _occurs(variable: Type, within: Type) -> bool:
    return variable == within or any(_occurs(variable, one) for one in within.of)
