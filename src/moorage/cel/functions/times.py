"""Points in time and durations."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from moorage.cel.errors import EvaluationError
from moorage.cel.library import declare
from moorage.cel.values import MAX_INT, MIN_INT, Duration, Timestamp, compare

_TIME, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_SECOND = 10**9
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": _SECOND, "m": 60 * _SECOND}
_UNITS["h"] = 60 * _UNITS["m"]
_PIECE = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIME_TEXT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_OFFSET = re.compile(r"([+-]?[0-9]+):([+-]?[0-9]+)")
#: From year 1 to the end of year 9999.
_FIRST, _LAST = -62135596800 * _SECOND, 253402300800 * _SECOND - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _time(nanos: int, offset: int = 0) -> Timestamp:
    if not _FIRST <= nanos <= _LAST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos, offset)


def _duration(nanos: int) -> Duration:
    if not MIN_INT <= nanos <= MAX_INT:
        raise EvaluationError("duration overflow")
    return Duration(nanos)


def _time_of(text: str) -> Timestamp:
    form = _TIME_TEXT.fullmatch(text)
    if form is None:
        raise EvaluationError(f"type conversion error from 'string' to '{_TIME}'")
    year, month, day, hour, minute, second = (int(one) for one in form.groups()[:6])
    offset = (int(form[9]) * 3600 + int(form[10]) * 60) * (-1 if form[8] == "-" else 1) if form[8] else 0
    try:
        if form[8] and not (int(form[9]) <= 24 and int(form[10]) < 60):
            raise ValueError
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise EvaluationError(f"type conversion error from 'string' to '{_TIME}'") from None
    fraction = int((form[7] or "").ljust(9, "0")[:9])
    return _time((round((moment - _EPOCH).total_seconds()) - offset) * _SECOND + fraction, offset)


def text_of_time(moment: Timestamp) -> str:
    """As RFC 3339 has it, in the zone it was given in."""
    shown = _EPOCH + timedelta(seconds=moment.nanos // _SECOND + moment.offset)
    fraction = f"{moment.nanos % _SECOND:09}".rstrip("0")
    sign, minutes = "-" if moment.offset < 0 else "+", abs(moment.offset) // 60
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}" if moment.offset else "Z"
    return f"{shown.year:04}-{shown:%m-%dT%H:%M:%S}{'.' if fraction else ''}{fraction}{zone}"


def _duration_of(text: str) -> Duration:
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    total, at = Decimal(0), 0
    while at < len(rest):
        piece = _PIECE.match(rest, at)
        if piece is None or not (piece[1] or piece[2]):
            break
        total += Decimal(f"{piece[1] or 0}.{piece[2] or 0}") * _UNITS[piece[3]]
        at = piece.end()
    if rest != "0" and (at < len(rest) or not rest):
        raise EvaluationError(f"type conversion error from 'string' to '{_DURATION}'")
    return _duration(sign * int(total))


def text_of_duration(span: Duration) -> str:
    """In seconds."""
    whole, part = divmod(abs(span.nanos), _SECOND)
    seconds = (whole + part / _SECOND) * (-1 if span.nanos < 0 else 1)
    shown = f"{Decimal(repr(seconds)):f}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + "s"


def _zone(name: str) -> tzinfo:
    if ":" not in name:
        try:
            return UTC if name in ("", "UTC") else ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            raise EvaluationError(f"unknown time zone {name}") from None
    form = _OFFSET.fullmatch(name)
    if form is None:
        raise EvaluationError(f"timezone offset {name} is none")
    hours, minutes = int(form[1]), int(form[2])
    try:
        return timezone(timedelta(minutes=hours * 60 - minutes if name[0] == "-" else hours * 60 + minutes))
    except ValueError:
        raise EvaluationError(f"timezone offset {name} is none") from None


def _local(moment: Timestamp, zone: str) -> datetime:
    # Nanoseconds are cut, never rounded: a second has the same parts whatever follows.
    exact = _EPOCH + timedelta(seconds=moment.nanos // _SECOND, microseconds=moment.nanos % _SECOND // 1000)
    try:
        return exact.astimezone(_zone(zone))
    except (OverflowError, ValueError):
        raise EvaluationError("timestamp overflow") from None


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
_LENGTHS = {"getHours": _UNITS["h"], "getMinutes": _UNITS["m"], "getSeconds": _SECOND, "getMilliseconds": 10**6}


def _in(span: Duration, unit: int) -> int:
    """How often the unit is in it, rounded towards 0."""
    return abs(span.nanos) // unit * (-1 if span.nanos < 0 else 1)


for _name, _part in _PARTS.items():
    declare(f"{_TIME}::{_name}() -> int", lambda at, part=_part: part(_local(at, "")))
    declare(f"{_TIME}::{_name}(string) -> int", lambda at, zone, part=_part: part(_local(at, zone)))
for _name, _unit in _LENGTHS.items():
    declare(f"{_DURATION}::{_name}() -> int", lambda span, unit=_unit: _in(span, unit))
for _name, _holds in (
    ("<", lambda sign: sign < 0),
    ("<=", lambda sign: sign <= 0),
    (">", lambda sign: sign > 0),
    (">=", lambda sign: sign >= 0),
):
    for _type in (_TIME, _DURATION):
        declare(f"_{_name}_({_type}, {_type}) -> bool", lambda a, b, holds=_holds: holds(compare(a, b)))


def _later(moment: Timestamp, span: Duration) -> Timestamp:
    return _time(moment.nanos + span.nanos, moment.offset)


def _identity(value: Any) -> Any:
    return value


declare(f"timestamp({_TIME}) -> {_TIME}", _identity)
declare(f"timestamp(int) -> {_TIME}", lambda seconds: _time(seconds * _SECOND))
declare(f"timestamp(string) -> {_TIME}", _time_of)
declare(f"duration({_DURATION}) -> {_DURATION}", _identity)
declare(f"duration(string) -> {_DURATION}", _duration_of)
declare(f"int({_TIME}) -> int", lambda at: at.nanos // _SECOND)
declare(f"int({_DURATION}) -> int", lambda span: span.nanos)
declare(f"string({_TIME}) -> string", text_of_time)
declare(f"string({_DURATION}) -> string", text_of_duration)
declare(f"_+_({_TIME}, {_DURATION}) -> {_TIME}", _later)
declare(f"_+_({_DURATION}, {_TIME}) -> {_TIME}", lambda span, at: _later(at, span))
declare(f"_+_({_DURATION}, {_DURATION}) -> {_DURATION}", lambda a, b: _duration(a.nanos + b.nanos))
declare(f"_-_({_TIME}, {_DURATION}) -> {_TIME}", lambda at, span: _time(at.nanos - span.nanos, at.offset))
declare(f"_-_({_TIME}, {_TIME}) -> {_DURATION}", lambda a, b: _duration(a.nanos - b.nanos))
declare(f"_-_({_DURATION}, {_DURATION}) -> {_DURATION}", lambda a, b: _duration(a.nanos - b.nanos))
