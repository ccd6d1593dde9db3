"""What plugins do wrong while pods wait: said once for each plugin, point and line, then counted."""

import logging
import traceback
from collections import Counter
from types import TracebackType
from typing import Final, NamedTuple

_log = logging.getLogger(__name__)

#: A fault that goes on is told again when it was seen so often.
_TELL_AGAIN: Final = frozenset(10**power for power in range(2, 10))


class Fault(NamedTuple):
    """Who did wrong, and where."""

    plugin: str
    point: str
    #: file:line of the plugin's own code, as near as can be told.
    where: str


class Faults:
    """The faults seen so far. Nothing here raises: who waits is treated by rule, and goes on waiting."""

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()

    def see(self, plugin: str, point: str, problem: BaseException, *, outcome: str) -> None:
        """A plugin raised, or answered what cannot be used; `outcome` says what follows."""
        fault = Fault(plugin, point, _origin(problem.__traceback__))
        self.counts[fault] += 1
        seen = self.counts[fault]
        if seen != 1 and seen not in _TELL_AGAIN:
            return
        times = "" if seen == 1 else f" (seen {seen} times)"
        _log.error(
            '%s plugin "%s" failed at %s%s: %s: %s; %s',
            point,
            plugin,
            fault.where or "a place unknown",
            times,
            type(problem).__name__,
            problem,
            outcome,
            exc_info=problem if seen == 1 else None,
        )


def _origin(trace: TracebackType | None) -> str:
    """Where it was raised: the innermost frame, unless that is ours, who merely used the plugin's answer."""
    frames = traceback.extract_tb(trace)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
