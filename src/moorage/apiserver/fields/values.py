"""Values with a form of their own: quantities, times, durations. Each check answers the canonical form."""

import binascii
import datetime
import re
from functools import lru_cache
from typing import Any

from moorage.errors import InputError
from moorage.values.quantity import ONE, milli, parse_quantity

_DECIMAL = {-3: "n", -2: "u", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P", 6: "E"}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")


@lru_cache(maxsize=16384)
def canonical_quantity(text: str) -> str:
    """The form Kubernetes writes: the largest unit without fractions. Raises ValueError for garbage."""
    try:
        nano = parse_quantity(text)
    except InputError as error:
        raise ValueError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from error
    if text.endswith("i") and abs(nano) >= 1024 * ONE and nano % ONE == 0:
        return _with_unit(nano // ONE, 1024, 0, dict(enumerate(_BINARY)))
    if re.search(r"[eE][+-]?\d+$", text):
        return _with_unit(nano, 1000, -3, {step: f"e{3 * step}" if step else "" for step in range(-3, 40)})
    return _with_unit(nano, 1000, -3, _DECIMAL)


def _with_unit(number: int, base: int, step: int, units: dict[int, str]) -> str:
    if number == 0:
        return "0"
    while number % base == 0 and step + 1 in units:
        number //= base
        step += 1
    return f"{number}{units[step]}"


def check_quantity(value: Any) -> str:
    """A quantity, written as a string or a number."""
    if type(value) is str:
        return canonical_quantity(value)
    if type(value) in (int, float):
        return canonical_quantity(repr(value))
    raise ValueError("expected a quantity")


def check_amount(value: Any) -> str:
    """An amount of a resource: finer than a thousandth is rounded up."""
    text = check_quantity(value)
    return text if text[-1] not in "nu" else canonical_quantity(f"{milli(parse_quantity(text))}m")


def check_time(value: Any) -> str:
    """A time with seconds, in UTC."""
    if type(value) is str and _SECONDS.fullmatch(value):
        _stamp(value)
        return value
    return _stamp(value).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_micro_time(value: Any) -> str:
    """A time with microseconds, in UTC."""
    return _stamp(value).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _stamp(value: Any) -> datetime.datetime:
    if type(value) is not str or not _STAMP.fullmatch(value):
        raise ValueError("expected a time like 2006-01-02T15:04:05Z")
    whole, fraction, zone = re.fullmatch(r"(.{19})(\.\d+)?(.+)", value).groups()  # type: ignore[union-attr]
    micro = (fraction or ".0")[1:7].ljust(6, "0")
    return datetime.datetime.fromisoformat(f"{whole}.{micro}{zone}").astimezone(datetime.UTC)


def check_duration(value: Any) -> str:
    """A duration as Go writes it, like 1h30m."""
    if type(value) is not str or not _DURATION.fullmatch(value):
        raise ValueError("expected a duration like 1h30m")
    return value


def check_bytes(value: Any) -> str:
    """Base64."""
    if type(value) is not str:
        raise ValueError("expected base64")
    try:
        binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("illegal base64 data") from error
    return value


def check_int_or_string(value: Any) -> int | str:
    """A number of 32 bits, or a string."""
    if type(value) is str or (type(value) is int and -(2**31) <= value < 2**31):
        return value
    raise ValueError("expected a number or a string")
