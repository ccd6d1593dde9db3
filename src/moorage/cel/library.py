"""The functions that expressions may call: signatures, what they do, what they cost.

A signature reads `string::contains(string) -> bool` for a member, `size(list(A)) -> int` for a global function. A value
whose type is only known when it is there is matched to the first signature that fits it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from moorage.cel.errors import NO_OVERLOAD, EvaluationError
from moorage.cel.types import Type, is_open, parse_type
from moorage.cel.values import kind_of, size_of

#: (arguments, result) -> cost units.
Cost = Callable[[Sequence[Any], Any], int]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function; for a member the target is the first parameter."""

    params: tuple[Type, ...]
    result: Type
    is_member: bool
    call: Callable[..., Any]
    cost: Cost
    #: The kinds the arguments must have when they are there, "" for any.
    kinds: tuple[str, ...]

    def takes(self, args: Sequence[Any]) -> bool:
        """Whether the arguments are what this signature wants."""
        return len(args) == len(self.kinds) and all(
            not kind or kind == kind_of(arg) for kind, arg in zip(self.kinds, args, strict=True)
        )


FUNCTIONS: dict[str, list[Overload]] = {}


def one(_args: Sequence[Any], _result: Any) -> int:
    """The cost of what takes no longer for longer arguments."""
    return 1


def nothing(_args: Sequence[Any], _result: Any) -> int:
    """The cost of what upstream does not count."""
    return 0


def traversal(times: float = 1.0, argument: int = 0) -> Cost:
    """The cost of going through a text so many times."""
    return lambda args, _result: math.ceil(size_of(args[argument]) * times * 0.1)


def pattern(args: Sequence[Any], _result: Any) -> int:
    """The cost of matching a regular expression."""
    return math.ceil((1.0 + size_of(args[0])) * 0.1) * math.ceil(size_of(args[1]) * 0.25)


def elements(args: Sequence[Any], _result: Any) -> int:
    """The cost of going through everything a value holds."""
    return _traversed(args[0])


def _traversed(value: Any) -> int:
    if isinstance(value, str):
        return int(len(value.encode()) * 0.1)
    if isinstance(value, bytes):
        return int(len(value) * 0.1)
    if isinstance(value, list):
        return sum(map(_traversed, value))
    if kind_of(value) == "map":
        return sum(_traversed(key) + _traversed(value[key]) for key in value)
    return 1


def declare(signature: str, call: Callable[..., Any], cost: Cost = one) -> None:
    """Add a function to the library."""
    head, _, result = signature.rpartition(" -> ")
    target_and_name, params = _parameters(head)
    is_member = target_and_name[0] != ""
    types = tuple(parse_type(text) for text in ([target_and_name[0]] if is_member else []) + params)
    kinds = tuple("" if type_.is_variable or is_open(type_) else type_.name for type_ in types)
    overload = Overload(types, parse_type(result), is_member, call, cost, kinds)
    FUNCTIONS.setdefault(target_and_name[1], []).append(overload)


def declare_all(signatures: Iterable[str], call: Callable[..., Any], cost: Cost = one) -> None:
    """Add several signatures of one function."""
    for signature in signatures:
        declare(signature, call, cost)


def dispatch(overloads: Sequence[Overload], args: Sequence[Any]) -> Overload:
    """The overload for these arguments. Raises EvaluationError if there is none."""
    for overload in overloads:
        if overload.takes(args):
            return overload
    raise EvaluationError(NO_OVERLOAD)


def _parameters(head: str) -> tuple[tuple[str, str], list[str]]:
    """((target, name), parameters): a target ends at the colons before the name of a member function."""
    opening = _opening(head)
    path, inside = head[:opening], head[opening + 1 : -1]
    target, _, name = path.rpartition("::")
    return (target, name), _split(inside)


def _opening(head: str) -> int:
    depth = 0
    for index in range(len(head) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(head[index], 0)
        if depth == 0:
            return index
    raise ValueError(head)


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()] if text.strip() else []
