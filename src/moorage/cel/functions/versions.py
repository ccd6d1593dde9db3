"""Quantities and semantic versions."""

from collections.abc import Callable
from typing import Any

from moorage.cel.errors import EvaluationError
from moorage.cel.library import declare, traversal
from moorage.cel.semver import Semver, parse, parse_normalized
from moorage.cel.values import MAX_INT, MIN_INT, Quantity
from moorage.errors import InputError
from moorage.values.quantity import ONE, parse_quantity

_QUANTITY, _SEMVER = "kubernetes.Quantity", "kubernetes.Semver"


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(parse_quantity(text))
    except InputError as problem:
        raise EvaluationError(problem.problem) from None


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except InputError:
        return False
    return True


def _is_whole(quantity: Quantity) -> bool:
    return quantity.nano % ONE == 0 and MIN_INT <= quantity.nano // ONE <= MAX_INT


def _whole(quantity: Quantity) -> int:
    if not _is_whole(quantity):
        raise EvaluationError("cannot convert value to integer")
    return quantity.nano // ONE


def _semver(text: str) -> Semver:
    version = parse(text)
    if version is None:
        raise EvaluationError(f'"{text}" is not a semantic version')
    return version


def _semver_normalized(text: str, normalize: bool) -> Semver:
    version = parse_normalized(text) if normalize else parse(text)
    if version is None:
        raise EvaluationError(f'"{text}" is not a semantic version')
    return version


def _compare(key: Callable[[Any], Any]) -> Callable[[Any, Any], int]:
    return lambda a, b: (key(a) > key(b)) - (key(a) < key(b))


declare(f"quantity(string) -> {_QUANTITY}", _quantity, traversal())
declare("isQuantity(string) -> bool", _is_quantity, traversal())
declare(f"sign({_QUANTITY}) -> int", lambda a: (a.nano > 0) - (a.nano < 0))
declare(f"{_QUANTITY}::isGreaterThan({_QUANTITY}) -> bool", lambda a, b: a.nano > b.nano)
declare(f"{_QUANTITY}::isLessThan({_QUANTITY}) -> bool", lambda a, b: a.nano < b.nano)
declare(f"{_QUANTITY}::compareTo({_QUANTITY}) -> int", _compare(lambda one: one.nano))
declare(f"{_QUANTITY}::asApproximateFloat() -> double", lambda a: a.nano / ONE)
declare(f"{_QUANTITY}::asInteger() -> int", _whole)
declare(f"{_QUANTITY}::isInteger() -> bool", _is_whole)
declare(f"{_QUANTITY}::add({_QUANTITY}) -> {_QUANTITY}", lambda a, b: Quantity(a.nano + b.nano))
declare(f"{_QUANTITY}::add(int) -> {_QUANTITY}", lambda a, b: Quantity(a.nano + b * ONE))
declare(f"{_QUANTITY}::sub({_QUANTITY}) -> {_QUANTITY}", lambda a, b: Quantity(a.nano - b.nano))
declare(f"{_QUANTITY}::sub(int) -> {_QUANTITY}", lambda a, b: Quantity(a.nano - b * ONE))

declare(f"semver(string) -> {_SEMVER}", _semver, traversal())
declare(f"semver(string, bool) -> {_SEMVER}", _semver_normalized, traversal())
declare("isSemver(string) -> bool", lambda text: parse(text) is not None, traversal())
declare(
    "isSemver(string, bool) -> bool",
    lambda text, normalize: (parse_normalized(text) if normalize else parse(text)) is not None,
    traversal(),
)
declare(f"{_SEMVER}::isGreaterThan({_SEMVER}) -> bool", lambda a, b: a > b)
declare(f"{_SEMVER}::isLessThan({_SEMVER}) -> bool", lambda a, b: a < b)
declare(f"{_SEMVER}::compareTo({_SEMVER}) -> int", _compare(lambda one: one))
declare(f"{_SEMVER}::major() -> int", lambda a: a.major)
declare(f"{_SEMVER}::minor() -> int", lambda a: a.minor)
declare(f"{_SEMVER}::patch() -> int", lambda a: a.patch)
