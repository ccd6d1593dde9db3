"""Times as the API writes them."""

from datetime import UTC, datetime


def micro_time() -> str:
    """Now, with microseconds, in UTC: `MicroTime` of leases and events."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
