"""The values an expression works with, and what it is for two of them to be equal or ordered.

int, bool, str, bytes, float, list, dict and None stand for themselves; what Python lacks is here.
"""

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult

from moorage.cel.errors import NO_OVERLOAD, EvaluationError
from moorage.cel.semver import Semver

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """An unsigned number."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be there."""

    present: bool
    value: Any = None


NONE = Optional(False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What `type(x)` gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes quantity, in nano units."""

    nano: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, in nanoseconds since 1970; how far its text was from UTC, in seconds, makes no difference."""

    nanos: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time, in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Ip:
    """An IP address."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address with the length of its network's prefix."""

    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class Url:
    """A URL, taken apart."""

    parts: SplitResult


@dataclass(frozen=True, slots=True)
class Format:
    """What texts may be required to look like: it says what is wrong with one. `weight` is what checking takes."""

    name: str
    problems: Callable[[str], list[str]] = field(compare=False)
    weight: int = field(compare=False)


class Domains(Mapping[str, dict[str, Any]]):
    """Attributes or capacities by domain. An unknown domain reads as an empty map, yet it is not `in` here."""

    __slots__ = ("_known",)

    def __init__(self, known: dict[str, dict[str, Any]]) -> None:
        self._known = known

    def __getitem__(self, domain: str) -> dict[str, Any]:
        return self._known.get(domain, {})

    def __contains__(self, domain: object) -> bool:
        return domain in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


_KINDS: dict[type, str] = {
    int: "int",
    UInt: "uint",
    float: "double",
    bool: "bool",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    Domains: "map",
    type(None): "null_type",
    Optional: "optional_type",
    TypeValue: "type",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Ip: "net.IP",
    Cidr: "net.CIDR",
    Url: "kubernetes.URL",
    Format: "kubernetes.NamedFormat",
}
_NUMBERS = frozenset(("int", "uint", "double"))
#: These refuse to be compared with anything else; other values are merely not equal.
_STRICT = frozenset(
    ("kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR", "kubernetes.URL", "kubernetes.NamedFormat")
)
_ORDERED = frozenset(("bool", "string", "bytes", "google.protobuf.Timestamp", "google.protobuf.Duration"))


def kind_of(value: Any) -> str:
    """The name of a value's type."""
    return _KINDS[type(value)]


def equal(a: Any, b: Any) -> bool:
    """Whether two values are equal. Raises EvaluationError where the question makes no sense."""
    first, second = _KINDS[type(a)], _KINDS[type(b)]
    if first != second:
        if first in _NUMBERS and second in _NUMBERS:
            return bool(a == b)
        if first in _STRICT and b is not None:
            raise EvaluationError(NO_OVERLOAD)
        return False
    if first == "list":
        return len(a) == len(b) and all(_not_unequal(x, y) for x, y in zip(a, b, strict=True))
    if first == "map":
        return len(a) == len(b) and all(key in b and _not_unequal(value, b[key]) for key, value in a.items())
    if first == "optional_type":
        return a.present == b.present and (not a.present or equal(a.value, b.value))
    return bool(a == b)


def _not_unequal(a: Any, b: Any) -> bool:
    """As upstream compares what lists and maps hold: what cannot be compared counts as equal there."""
    try:
        return equal(a, b)
    except EvaluationError:
        return True


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1. Raises EvaluationError for values without an order."""
    first, second = _KINDS[type(a)], _KINDS[type(b)]
    if (first == second and first in _ORDERED) or (first in _NUMBERS and second in _NUMBERS):
        return int(a > b) - int(a < b)
    raise EvaluationError(NO_OVERLOAD)


def contains(items: list[Any], value: Any) -> bool:
    """Whether the value is in the list."""
    failure: EvaluationError | None = None
    for item in items:
        try:
            if equal(value, item):
                return True
        except EvaluationError as error:
            failure = error
    if failure is not None:
        raise failure
    return False


def lookup(mapping: Mapping[Any, Any], key: Any) -> tuple[bool, Any]:
    """Whether a map has the key, and its value. Numbers of different types are the same key."""
    kind = _KINDS[type(key)]
    if kind == "string":
        if type(mapping) is Domains:
            return True, mapping[key]
        return (True, mapping[key]) if key in mapping else (False, None)
    if kind not in _NUMBERS and kind != "bool":
        return False, None
    if kind == "double" and not key.is_integer():
        return False, None
    for known, value in mapping.items():
        if known == key and (type(known) is bool) == (kind == "bool"):
            return True, value
    return False, None


def size_of(value: Any) -> int:
    """How much a value counts for in costs: its length, or one."""
    return len(value) if type(value) in _SIZED else 1


_SIZED = frozenset((str, bytes, list, dict, Domains))
