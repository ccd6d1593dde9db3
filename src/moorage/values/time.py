"""Points in time, as API objects write them."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=65536)
def parse_time(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
