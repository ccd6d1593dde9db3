"""Time as the API writes it. Handed in, so that tests and simulations can set it."""

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall-clock time from a source of seconds since the epoch."""

    now: Callable[[], float] = time.time

    def stamp(self, later: float = 0) -> str:
        """Now, or so many seconds later, as RFC 3339 with seconds."""
        return format_time(self.now() + later)


def format_time(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def parse_time(text: str) -> float:
    """RFC 3339 as seconds since the epoch."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
