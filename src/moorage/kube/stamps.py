"""Times as the API writes them."""

from datetime import UTC, datetime


def micro_time() -> str:
    """Now, with microseconds, in UTC: `MicroTime` of leases and events."""
    return f"{datetime.now(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def time_stamp(at: float) -> str:
    """A moment given in seconds since 1970, in whole seconds, in UTC: `Time` of everything else."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float | None:
    """Seconds since 1970 of a time as the API writes it; None where it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
