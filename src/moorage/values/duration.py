"""Durations as Go writes them: "10s", "1m30s", "1.5h"."""

import re
from decimal import Decimal
from functools import total_ordering

from moorage.errors import InputError

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


@total_ordering
class Duration:
    """A span of time, in whole nanoseconds."""

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanoseconds == other.nanoseconds

    def __lt__(self, other: "Duration") -> bool:
        return self.nanoseconds < other.nanoseconds

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __hash__(self) -> int:
        return hash(self.nanoseconds)

    def __repr__(self) -> str:
        return f"Duration({self})"

    @classmethod
    def of_seconds(cls, seconds: int) -> "Duration":
        """So many seconds."""
        return cls(seconds * _UNITS["s"])

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Read Go's notation: numbers with units, "0" alone without. Raises InputError."""
        sign = -1 if text.startswith("-") else 1
        rest = text[1:] if text[:1] in ("+", "-") else text
        if rest == "0":
            return cls(0)
        total = 0
        position = 0
        for part in _PART.finditer(rest):
            if part.start() != position:
                break
            total += int(Decimal(part[1]) * _UNITS[part[2]])
            position = part.end()
        if not rest or position != len(rest) or total > 2**63 - (sign > 0):
            raise InputError(f'"{text}" is not a duration; write it like "10s" or "1m30s"')
        return cls(sign * total)

    @property
    def seconds(self) -> float:
        """The same in seconds."""
        return self.nanoseconds / _UNITS["s"]

    def __str__(self) -> str:
        """Go's notation, the shortest: "1m30s", "1.5s", "100ms"."""
        size = abs(self.nanoseconds)
        sign = "-" if self.nanoseconds < 0 else ""
        if size == 0:
            return "0s"
        for unit in ("ns", "µs", "ms"):
            if size < _UNITS[unit] * 1000:
                return f"{sign}{_decimal(size, _UNITS[unit])}{unit}"
        minutes, rest = divmod(size, _UNITS["m"])
        hours, minutes = divmod(minutes, 60)
        text = f"{_decimal(rest, _UNITS['s'])}s"
        if hours or minutes:
            text = f"{minutes}m{text}"
        if hours:
            text = f"{hours}h{text}"
        return sign + text


def _decimal(size: int, unit: int) -> str:
    return f"{(Decimal(size) / unit).normalize():f}"
