"""What plugins do wrong: said once for each plugin, point and line, then counted."""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from moorage.errors import ApiError, PluginError

_log = logging.getLogger(__name__)

#: A fault that goes on is told again when it was seen so often.
_TELL_AGAIN: Final = frozenset(10**power for power in range(2, 10))


class Fault(NamedTuple):
    """Who did wrong, and where."""

    plugin: str
    point: str
    #: file:line of the plugin, "" where that is not known.
    where: str


class Faults:
    """The faults seen so far. Nothing here raises: the pod concerned is treated by rule, and goes on waiting."""

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()

    def by_point(self) -> Mapping[tuple[str, ...], float]:
        """How many faults each plugin has shown at each point."""
        found: Counter[tuple[str, ...]] = Counter()
        for fault, count in self.counts.items():
            found[fault.plugin, fault.point] += count
        return {point: float(count) for point, count in found.items()}

    def see(self, error: PluginError, outcome: str) -> None:
        """A plugin raised, or answered what cannot be used; `outcome` says what follows."""
        if isinstance(error.__cause__, ApiError):
            # The API server said no: nobody's mistake, and the pod's own events tell of it.
            _log.info("%s; %s", error, outcome)
            return
        # Notes say what the message, which is kube-scheduler's in places, has no room for.
        what = "; ".join((str(error), *getattr(error, "__notes__", ())))
        fault = Fault(error.plugin, error.point, error.where)
        self.counts[fault] += 1
        seen = self.counts[fault]
        if seen == 1:
            _log.error("%s; %s", what, outcome, exc_info=error.__cause__)
        elif seen in _TELL_AGAIN:
            _log.error("%s; %s (seen %d times)", what, outcome, seen)
