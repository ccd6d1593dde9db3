"""Operators over numbers, order, and conversions between the basic types."""

import math
import re
from collections.abc import Callable
from typing import Any

from moorage.cel.errors import EvaluationError
from moorage.cel.library import declare, declare_all, one, traversal
from moorage.cel.values import MAX_INT, MAX_UINT, MIN_INT, TypeValue, UInt, compare, kind_of, size_of

_INT_TEXT = re.compile(r"[+-]?[0-9]+")
_UINT_TEXT = re.compile(r"[0-9]+")
_DOUBLE_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity|nan)")
_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")


def _int(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        raise EvaluationError("integer overflow")
    return value


def _uint(value: int) -> UInt:
    if not 0 <= value <= MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero, as Go divides."""
    if b == 0:
        raise EvaluationError("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    """With the sign of the dividend."""
    if b == 0:
        raise EvaluationError("modulus by zero")
    return int(math.copysign(abs(a) % abs(b), a)) if abs(a) < 2**52 else (abs(a) % abs(b)) * (-1 if a < 0 else 1)


def _ratio(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


for _name, _op in (("+", int.__add__), ("-", int.__sub__), ("*", int.__mul__), ("/", _quotient), ("%", _remainder)):
    declare(f"_{_name}_(int, int) -> int", lambda a, b, op=_op: _int(op(a, b)))
    declare(f"_{_name}_(uint, uint) -> uint", lambda a, b, op=_op: _uint(op(int(a), int(b))))
for _name, _operation in (("+", float.__add__), ("-", float.__sub__), ("*", float.__mul__), ("/", _ratio)):
    declare(f"_{_name}_(double, double) -> double", _operation)
declare("-_(int) -> int", lambda a: _int(-a))
declare("-_(double) -> double", lambda a: -a)
declare(
    "_+_(string, string) -> string", lambda a, b: a + b, lambda args, _: math.ceil((len(args[0]) + len(args[1])) * 0.1)
)
declare(
    "_+_(bytes, bytes) -> bytes", lambda a, b: a + b, lambda args, _: math.ceil((len(args[0]) + len(args[1])) * 0.1)
)
declare("_+_(list(A), list(A)) -> list(A)", lambda a, b: a + b)


def _shorter(args: Any, _result: Any) -> int:
    return math.ceil(min(size_of(args[0]), size_of(args[1])) * 0.1)


_ORDERS: tuple[tuple[str, Callable[[int], bool]], ...] = (
    ("<", lambda sign: sign < 0),
    ("<=", lambda sign: sign <= 0),
    (">", lambda sign: sign > 0),
    (">=", lambda sign: sign >= 0),
)
for _name, _holds in _ORDERS:
    for _type in ("bool", "string", "bytes"):
        declare(
            f"_{_name}_({_type}, {_type}) -> bool",
            lambda a, b, holds=_holds: holds(compare(a, b)),
            one if _type == "bool" else _shorter,
        )
    for _left in ("int", "uint", "double"):
        for _right in ("int", "uint", "double"):
            declare(
                f"_{_name}_({_left}, {_right}) -> bool",
                # A comparison with NaN is always false.
                lambda a, b, holds=_holds: a == a and b == b and holds((a > b) - (a < b)),
            )


def _conversion_error(value: Any, wanted: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{kind_of(value)}' to '{wanted}'")


def _int_of(value: Any) -> int:
    if isinstance(value, str):
        if not _INT_TEXT.fullmatch(value) or not MIN_INT <= int(value) <= MAX_INT:
            raise _conversion_error(value, "int")
        return int(value)
    if isinstance(value, float) and not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return _int(int(value))


def _uint_of(value: Any) -> UInt:
    if isinstance(value, str):
        if not _UINT_TEXT.fullmatch(value) or int(value) > MAX_UINT:
            raise _conversion_error(value, "uint")
        return UInt(value)
    if isinstance(value, float) and not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return _uint(int(value))


def _double_of(value: Any) -> float:
    if isinstance(value, str) and not _DOUBLE_TEXT.fullmatch(value):
        raise _conversion_error(value, "double")
    return float(value)


def _bool_of(value: Any) -> bool:
    if value in _TRUE or value is True:
        return True
    if value in _FALSE or value is False:
        return False
    raise _conversion_error(value, "bool")


def text_of(value: Any) -> str:
    """A basic value as a text. Raises EvaluationError for bytes that are none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of_double(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    return str(int(value)) if isinstance(value, int) else str(value)


def text_of_double(value: float) -> str:
    """The shortest text that reads back as the same number, in Go's spelling."""
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else '+'}Inf"
    digits, _, exponent = repr(value).partition("e")
    if not exponent and (value == 0 or 1e-4 <= abs(value) < 1e21):
        return digits.removesuffix(".0")
    if exponent and abs(value) < 1e21 and abs(value) >= 1:
        return str(int(value))
    mantissa, power = f"{value:.17e}".split("e") if not exponent else (digits, exponent)
    if not exponent:
        return digits
    return f"{mantissa.removesuffix('.0')}e{power[0] if power[0] == '-' else '+'}{power.lstrip('+-'):0>2}"


declare_all((f"int({one_of}) -> int" for one_of in ("int", "uint", "double", "string")), _int_of)
declare_all((f"uint({one_of}) -> uint" for one_of in ("int", "uint", "double", "string")), _uint_of)
declare_all((f"double({one_of}) -> double" for one_of in ("int", "uint", "double", "string")), _double_of)
declare_all(("bool(bool) -> bool", "bool(string) -> bool"), _bool_of)
declare_all((f"string({one_of}) -> string" for one_of in ("string", "bool", "double", "int", "uint")), text_of)
declare("string(bytes) -> string", text_of, traversal())
declare("bytes(bytes) -> bytes", lambda value: value)
declare("bytes(string) -> bytes", str.encode, traversal())
declare("dyn(A) -> dyn", lambda value: value)
declare("type(A) -> type(A)", lambda value: TypeValue(kind_of(value)))
