"""`"%s has %d".format([name, count])`: clauses, what they make of values, and which of them a value fits.

A call that is written out in full is checked where it is compiled: `call_problem`.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from moorage.cel.errors import EvaluationError
from moorage.cel.functions.numbers import text_of
from moorage.cel.functions.texts import quoted
from moorage.cel.functions.times import text_of_duration, text_of_time
from moorage.cel.library import declare, traversal
from moorage.cel.values import TypeValue, kind_of

_TIME, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_CLAUSE = re.compile(r"%(?:(\.)([0-9]*))?")
_DIGITS = 6
_MOST_DIGITS = 10_000
"""More would only cost memory: here we refuse what upstream goes on with."""
_SUPERSCRIPT = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")
_NUMBER_NAMES = ("NaN", "Infinity", "-Infinity")
_PRINTABLE = ("int", "uint", "double", "bool", "string", "bytes", _TIME, _DURATION, "type", "null_type")

#: What may be formatted by a clause; what is said of anything else.
ACCEPTED: dict[str, tuple[tuple[str, ...], str]] = {
    "s": (
        (*_PRINTABLE, "list", "map"),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps, was given {}",
    ),
    "d": (("int", "uint"), "decimal clause can only be used on integers, was given {}"),
    "f": (("double", "string"), "fixed-point clause can only be used on doubles, was given {}"),
    "e": (("double", "string"), "scientific clause can only be used on doubles, was given {}"),
    "b": (("int", "uint", "bool"), "only integers and bools can be formatted as binary, was given {}"),
    "x": (
        ("int", "uint", "string", "bytes"),
        "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    ),
    "o": (("int", "uint"), "octal clause can only be used on integers, was given {}"),
}


class FormatProblem(EvaluationError):
    """A text to format with that is malformed, or asks for more than there is."""


def clauses(text: str, count: int) -> list[str | tuple[str, int | None]]:
    """The parts of a text to format `count` values with: literally, or a clause with its digits.

    Raises FormatProblem.
    """
    parts: list[str | tuple[str, int | None]] = []
    at, used = 0, 0
    while at < len(text):
        if text[at] != "%":
            end = text.find("%", at)
            parts.append(text[at:end] if end >= 0 else text[at:])
            at = end if end >= 0 else len(text)
        elif text.startswith("%%", at):
            parts.append("%")
            at += 2
        else:
            if used >= count:
                raise FormatProblem(f"index {used} out of range")
            found = _clause(text, at)
            parts.append((found[0], found[1]))
            at, used = found[2], used + 1
    return parts


def _clause(text: str, at: int) -> tuple[str, int | None, int]:
    """The letter, the digits asked for, where the clause ends."""
    found = _CLAUSE.match(text, at)
    assert found is not None
    if at + 1 >= len(text):
        raise FormatProblem("unexpected end of string")
    if found.end() >= len(text):
        raise _unreadable("error while parsing precision: could not find end of precision specifier")
    digits = None
    if found[1]:
        if not found[2] or int(found[2]) > _MOST_DIGITS:
            raise _unreadable(f"error while parsing precision: {found[2]!r} is no number of digits")
        digits = int(found[2])
    letter = text[found.end()]
    if letter.lower() not in ACCEPTED:
        raise _unreadable(f'unrecognized formatting clause "{letter}"')
    return letter, digits, found.end() + 1


def _unreadable(why: str) -> FormatProblem:
    return FormatProblem(f"could not parse formatting clause: {why}")


def unfit(letter: str, kind: str) -> FormatProblem:
    """A clause was given a value that it cannot format."""
    return FormatProblem("error during formatting: " + ACCEPTED[letter.lower()][1].format(kind))


def _format(text: str, values: list[Any]) -> str:
    left = iter(values)
    return "".join(part if isinstance(part, str) else _apply(*part, next(left)) for part in clauses(text, len(values)))


def _apply(letter: str, digits: int | None, value: Any) -> str:
    kind = kind_of(value)
    is_number_name = kind == "string" and letter in "fe"
    if kind not in ACCEPTED[letter.lower()][0] or (is_number_name and value not in _NUMBER_NAMES):
        raise unfit(letter, kind)
    return _WRITERS[letter](value, _DIGITS if digits is None else digits)


def _fixed(value: Any, digits: int) -> str:
    """As in English: thousands in groups, and no sign to a zero."""
    number = float(value)
    return f"{number or 0.0:,.{digits}f}" if math.isfinite(number) else _not_finite(number)


def _scientific(value: Any, width: int) -> str:
    """QUIRK: what is given as the number of digits is how wide the whole is made; digits are always six."""
    number = float(value)
    if not math.isfinite(number):
        return _not_finite(number).rjust(width)
    mantissa, _, exponent = f"{number or 0.0:.{_DIGITS}e}".partition("e")
    return f"{mantissa}×10{exponent.removeprefix('+').translate(_SUPERSCRIPT)}".rjust(width)


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _hexadecimal(value: Any, _digits: int) -> str:
    if isinstance(value, str):
        value = value.encode()
    return value.hex() if isinstance(value, bytes) else f"{int(value):x}"


_WRITERS: dict[str, Callable[[Any, int], str]] = {
    "s": lambda value, _: _text(value),
    "d": lambda value, _: str(int(value)),
    "f": _fixed,
    "e": _scientific,
    "b": lambda value, _: f"{int(value):b}",
    "x": _hexadecimal,
    "X": lambda value, digits: _hexadecimal(value, digits).upper(),
    "o": lambda value, _: f"{int(value):o}",
}


def _text(value: Any) -> str:
    match kind_of(value):
        case "list":
            return f"[{', '.join(map(_literal, value))}]"
        case "map":
            pairs = sorted(((_key(key), _literal(value[key])) for key in value), key=lambda pair: pair[0].encode())
            return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"
        case "null_type":
            return "null"
        case "google.protobuf.Timestamp":
            return text_of_time(value)
        case "google.protobuf.Duration":
            return text_of_duration(value)
        case _:
            return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, TypeValue):
        return value.name
    try:
        return text_of(value)
    except EvaluationError as problem:
        raise FormatProblem(f'error during formatting: could not convert argument "{problem}" to string') from None


def _literal(value: Any) -> str:
    """A value within a list or a map, as one would write it down."""
    kind = kind_of(value)
    if kind not in ACCEPTED["s"][0]:
        raise FormatProblem(f"error during formatting: no formatting function for {kind}")
    match kind:
        case "double":
            return f"{value:.{_DIGITS}f}" if math.isfinite(value) else quoted(text_of(value))
        case "string":
            return quoted(value)
        case "bytes":
            return f"b{quoted(_text(value))}"
        case "google.protobuf.Timestamp":
            return f"timestamp({quoted(_text(value))})"
        case "google.protobuf.Duration":
            return f"duration({quoted(_text(value))})"
        case _:
            return _text(value)


def _key(key: Any) -> str:
    kind = kind_of(key)
    if kind not in ("string", "bool", "int", "uint"):
        raise FormatProblem(f"error during formatting: no formatting function for map key of type {kind}")
    return _literal(key)


declare("string::format(list(dyn)) -> string", _format, traversal())


def call_problems(text: str, count: int) -> tuple[Sequence[str], str]:
    """The clauses of a call that is written out, value by value; and what is wrong with the text as such."""
    try:
        letters = [part[0] for part in clauses(text, count) if not isinstance(part, str)]
    except FormatProblem as problem:
        return (), str(problem)
    if count > len(letters):
        return letters, f"too many arguments supplied to string.format (expected {len(letters)}, got {count})"
    return letters, ""
