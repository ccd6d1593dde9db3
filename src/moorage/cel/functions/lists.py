"""Functions over lists, maps and sets."""

from collections.abc import Iterator
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from moorage.cel.errors import NO_OVERLOAD, EvaluationError
from moorage.cel.library import Cost, declare, elements
from moorage.cel.values import NONE, Duration, Optional, UInt, compare, contains, equal, kind_of

_DURATION = "google.protobuf.Duration"
_SUMMABLE = {"int": 0, "uint": UInt(0), "double": 0.0}
_COMPARABLE = ("int", "uint", "double", "bool", "string", "bytes", "google.protobuf.Timestamp", _DURATION)


def _in_order(items: list[Any]) -> bool:
    return all(compare(a, b) <= 0 for a, b in pairwise(items))


def _extreme(name: str, sign: int) -> Any:
    def call(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if compare(item, best) * sign > 0:
                best = item
        return best

    return call


def _sum(items: list[Any]) -> Any:
    if any(kind_of(item) not in _SUMMABLE or kind_of(item) != kind_of(items[0]) for item in items):
        raise EvaluationError(NO_OVERLOAD)
    total = sum(items, start=_SUMMABLE[kind_of(items[0])] if items else 0)
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise EvaluationError("integer overflow")
    return UInt(total) if items and isinstance(items[0], UInt) else total


def _sum_of_durations(items: list[Duration]) -> Duration:
    total = sum(item.nanos for item in items)
    if not -(2**63) <= total < 2**63:
        raise EvaluationError("duration overflow")
    return Duration(total)


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], wanted)), -1)


def _includes(value: Any, wanted: Any) -> bool:
    return contains(value, wanted) if isinstance(value, list) else equal(value, wanted)


def _distinct(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if not contains(kept, item):
            kept.append(item)
    return kept


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    return list(_flat(items, depth))


def _flat(items: list[Any], depth: int) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list) and depth > 0:
            yield from _flat(item, depth - 1)
        else:
            yield item


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _sort_by(items: list[Any], keys: list[Any]) -> list[Any]:
    if len(items) != len(keys):
        raise EvaluationError("@sortByAssociatedKeys() expected a list of the same size as the associated keys list")
    if any(kind_of(key) != kind_of(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    rank = cmp_to_key(compare)
    order = sorted(range(len(items)), key=lambda index: rank(keys[index]))
    return [items[index] for index in order]


def _range(count: int) -> list[int]:
    if count > 1_000_000:
        raise EvaluationError("lists.range: too many elements")
    return list(range(count))


def _inserted(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if key in mapping:
        raise EvaluationError(f"insert failed: key {key} already exists")
    return {**mapping, key: value}


def _merged(mapping: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    for key in other:
        if key in mapping:
            raise EvaluationError(f"insert failed: key {key} already exists")
    return {**mapping, **other}


def _allocated(_args: Any, result: Any) -> int:
    return len(result) + 11


def _flattened(args: Any, _result: Any) -> int:
    return len(args[0]) * (args[1] if len(args) == 2 else 1) + 11


def _compared(keys: int) -> Cost:
    """The cost of comparing each element with each; `keys` says which argument is compared."""

    def cost(args: Any, _result: Any) -> int:
        items = args[keys]
        factor = 2.1 if items and isinstance(items[0], str | bytes) else 2.0
        return int(len(items) ** 2 * factor) + 11

    return cost


def _sets(factor: float) -> Cost:
    return lambda args, _result: 1 + int(len(args[0]) * len(args[1]) * factor)


def _has_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(items, one) for one in wanted)


for _signature in ("size(list(A)) -> int", "list(A)::size() -> int"):
    declare(_signature, len)
for _signature in ("size(map(A, B)) -> int", "map(A, B)::size() -> int"):
    declare(_signature, len)
for _type in _COMPARABLE:
    declare(f"list({_type})::isSorted() -> bool", _in_order, elements)
    declare(f"list({_type})::max() -> {_type}", _extreme("max", 1), elements)
    declare(f"list({_type})::min() -> {_type}", _extreme("min", -1), elements)
    declare(f"list({_type})::sort() -> list({_type})", lambda items: _sort_by(items, items), _compared(0))
    declare(f"list(A)::@sortByAssociatedKeys(list({_type})) -> list(A)", _sort_by, _compared(1))
for _type in _SUMMABLE:
    declare(f"list({_type})::sum() -> {_type}", _sum, elements)
declare(f"list({_DURATION})::sum() -> {_DURATION}", _sum_of_durations, elements)
declare("list(A)::indexOf(A) -> int", _index_of, elements)
declare("list(A)::lastIndexOf(A) -> int", _last_index_of, elements)
declare("dyn::includes(dyn) -> bool", _includes, elements)
declare("list(A)::distinct() -> list(A)", _distinct, _compared(0))
declare("list(list(A))::flatten() -> list(A)", _flatten, _flattened)
declare("list(dyn)::flatten(int) -> list(dyn)", _flatten, _flattened)
declare("list(A)::slice(int, int) -> list(A)", _slice, _allocated)
declare("list(A)::reverse() -> list(A)", lambda items: items[::-1], _allocated)
declare("list(A)::first() -> optional_type(A)", lambda items: Optional(True, items[0]) if items else NONE)
declare("list(A)::last() -> optional_type(A)", lambda items: Optional(True, items[-1]) if items else NONE)
declare("lists.range(int) -> list(int)", _range, _allocated)
declare("sets.contains(list(A), list(A)) -> bool", _has_all, _sets(1))
declare("sets.equivalent(list(A), list(A)) -> bool", lambda a, b: _has_all(a, b) and _has_all(b, a), _sets(2))
declare("sets.intersects(list(A), list(A)) -> bool", lambda a, b: any(contains(b, item) for item in a), _sets(1))
declare("cel.@mapInsert(map(A, B), A, B) -> map(A, B)", _inserted)
declare("cel.@mapInsert(map(A, B), map(A, B)) -> map(A, B)", _merged)
