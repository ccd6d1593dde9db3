"""Points in time, as API objects write them."""

from datetime import UTC, datetime
from functools import lru_cache

from moorage.errors import InputError


@lru_cache(maxsize=65536)
def parse_time(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time. Raises InputError for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f'"{text}" is not a time (expected one like 2026-01-31T12:00:00Z)') from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def time_of(text: str) -> float | None:
    """The same for whom anything else is no time at all."""
    try:
        return parse_time(text)
    except InputError:
        return None


def format_time(seconds: float) -> str:
    """The RFC 3339 time of so many seconds since the epoch, to the second: `Time`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(seconds: float) -> str:
    """The same with microseconds: `MicroTime`, of leases and events."""
    whole, micros = divmod(round(seconds * 1e6), 1_000_000)
    return f"{_second(whole)}.{micros:06d}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    """Every event has one, and thousands come in the same second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
