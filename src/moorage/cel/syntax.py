"""The tree of an expression. `at` is where in the text a node stands; the checker adds types and overloads."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.cel.library import Overload


@dataclass(slots=True)
class Literal:
    """A constant."""

    at: int
    value: Any


@dataclass(slots=True)
class Ident:
    """A variable, or the name of a type."""

    at: int
    name: str
    is_type: bool = False


@dataclass(slots=True)
class Select:
    """`operand.field`, or `has(operand.field)`."""

    at: int
    operand: "Node"
    field: str
    test_only: bool = False
    #: Whether it is no field of anything, but the name of a type: `google.protobuf.Timestamp`.
    is_type: bool = False


@dataclass(slots=True)
class Call:
    """A function or an operator. A member function has a target."""

    at: int
    function: str
    args: list["Node"]
    target: "Node | None" = None
    overloads: "tuple[Overload, ...]" = ()
    #: Whether the types alone say which variant of an operator is meant.
    settled: bool = False

    @property
    def operands(self) -> list["Node"]:
        """The target, if there is one, and the arguments."""
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(slots=True)
class ListOf:
    """A list; items at `optional` are left out where they are absent."""

    at: int
    items: list["Node"]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True)
class MapOf:
    """A map; the third of an entry says whether it is left out where its value is absent."""

    at: int
    entries: list[tuple["Node", "Node", bool]] = field(default_factory=list)


@dataclass(slots=True)
class Fold:
    """What all macros over lists and maps come down to: an accumulator that each element changes."""

    at: int
    range: "Node"
    variable: str
    #: The second variable (value by key or index), "" where there is one only.
    second: str
    accumulator: str
    initial: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"


Node = Literal | Ident | Select | Call | ListOf | MapOf | Fold
