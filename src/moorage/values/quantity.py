"""Kubernetes quantities: exact, strict about garbage, rounding up where a whole number is asked for.

A quantity is kept as an integer of nano units (10^-9), the finest scale Kubernetes knows; finer input is rounded up.

QUIRK: Go keeps most quantities as an int64 and a power of ten, others as big numbers. What is more than 64 bits hold
reads as 0 from most of the former (`Scaled`) and wraps around from all others.
"""

import re
from functools import lru_cache

from moorage.errors import InputError
from moorage.values.int64 import wrapped

NANO = 1
MILLI = 10**6
ONE = 10**9

MAX_INT64 = 2**63 - 1

_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?[0-9]+)"
)
_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES = {
    **{name: 10 ** (9 + power) for name, power in _POWERS.items()},
    **{name: 10**9 * 1024**power for power, name in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], start=1)},
}
#: Beyond this exponent every number is either more than any cluster has or rounded up to one nano unit.
_EXPONENT_LIMIT = 40
#: How many decimal digits an int64 surely holds.
_DIGITS = 18
#: The powers of ten that Go multiplies by at once, so that too much wraps around; by others it goes digit by digit.
_WRAPPING = frozenset((0, 1, 2, 3, 6, 9))


class Scaled(int):
    """Nano units of a quantity that Go keeps as an int64 and a power of ten, more than can be read in thousandths."""

    exponent: int

    @classmethod
    def of(cls, nano: int, exponent: int) -> "Scaled":
        """So many nano units, kept with this power of ten."""
        scaled = cls(nano)
        scaled.exponent = exponent
        return scaled

    def __add__(self, other: int) -> int:
        total = int(self) + other
        if not other:
            return self
        if isinstance(other, Scaled):
            exponent = min(self.exponent, other.exponent)
            if abs(total) <= MAX_INT64 * 10 ** (9 + exponent):
                return Scaled.of(total, exponent)
        return total

    __radd__ = __add__


def parse_quantity(text: str | int | float) -> int:
    """The quantity in nano units. Raises InputError for anything Kubernetes would refuse."""
    return _parse(text if isinstance(text, str) else repr(text))


@lru_cache(maxsize=65536)
def _parse(text: str) -> int:
    form = _FORM.fullmatch(text)
    # QUIRK: without digits it is 0, but not where Go takes the long way to read it.
    if form is None or not text or not (form["whole"] or form["part"] or form["suffix"] not in ("Pi", "Ei")):
        raise InputError(f'"{text}" is not a quantity (expected a number like 2, 500m, 1.5Gi or 1e3)')
    part = form["part"] or ""
    digits = int((form["whole"] or "") + part or "0")
    suffix = form["suffix"]
    scale = _SUFFIXES.get(suffix)
    if scale is None:
        exponent = max(-_EXPONENT_LIMIT, min(_EXPONENT_LIMIT, int(suffix[1:])))
        nano = _shift(digits, exponent + 9 - len(part))
    else:
        nano = _ceil_div(digits * scale, 10 ** len(part))
    if suffix.endswith("i"):
        nano = min(nano, MAX_INT64 * ONE)
    elif nano > MAX_INT64 * MILLI and len((form["whole"] or "").lstrip("0") + part) <= _DIGITS:
        power = exponent if scale is None else _POWERS[suffix]
        return Scaled.of(-nano if form["sign"] == "-" else nano, power - len(part))
    return -nano if form["sign"] == "-" else nano


def whole(nano: int) -> int:
    """The value rounded up, away from 0, to a whole number (Quantity.Value); too much is read as Go reads it."""
    return _read(nano, _away_from_zero(nano, ONE), 0)


def milli(nano: int) -> int:
    """The value in thousandths, rounded up (Quantity.MilliValue), read like `whole`."""
    return _read(nano, _away_from_zero(nano, MILLI), 3)


def _read(nano: int, value: int, more: int) -> int:
    if isinstance(nano, Scaled) and nano.exponent + more not in _WRAPPING and value != wrapped(value):
        return 0
    return wrapped(value)


def _away_from_zero(number: int, by: int) -> int:
    return _ceil_div(number, by) if number >= 0 else number // by


def _ceil_div(number: int, by: int) -> int:
    return -(-number // by)


def _shift(digits: int, power: int) -> int:
    return digits * 10**power if power >= 0 else _ceil_div(digits, 10**-power)


#: How a quantity is spelled: with powers of 1,000, of 1,024, or of ten.
DECIMAL, BINARY, EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"
_DECIMAL_NAMES = {power: name for name, power in _POWERS.items()}
_BINARY_NAMES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def format_of(text: str | int | float) -> str:
    """How a quantity is spelled."""
    spelled = str(text)
    if spelled.endswith("i"):
        return BINARY
    return EXPONENT if "e" in spelled or ("E" in spelled and not spelled.endswith("E")) else DECIMAL


def is_beyond(text: str | int | float) -> bool:
    """Whether a quantity is larger than any int64."""
    form = _FORM.fullmatch(str(text))
    if form is None or form["sign"] == "-":
        return False
    scale = _SUFFIXES.get(form["suffix"])
    digits = int((form["whole"] or "0") or "0")
    if scale is None:
        exponent = min(_EXPONENT_LIMIT, int(form["suffix"][1:]))
        return bool(digits * 10 ** max(0, exponent) > MAX_INT64)
    return bool(digits * scale > MAX_INT64 * ONE)


def canonical(nano: int, form: str) -> str:
    """A quantity as Kubernetes writes it in one of the three ways."""
    # The smallest int64 has no positive twin to be taken apart.
    if form == BINARY and nano % ONE == 0 and abs(nano) >= 1024 * ONE and nano != (-MAX_INT64 - 1) * ONE:
        value, power = nano // ONE, 0
        while value % 1024 == 0 and power < len(_BINARY_NAMES) - 1:
            value, power = value // 1024, power + 1
        return f"{value}{_BINARY_NAMES[power]}"
    exponent = -9
    while exponent < 18 and nano % 1000 == 0 and nano:
        nano, exponent = nano // 1000, exponent + 3
    if not nano:
        return "0"
    if form == EXPONENT:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_NAMES[exponent]}"
