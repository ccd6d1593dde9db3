"""How long plugins take: whole points in every cycle, single calls in every tenth, as kube-scheduler samples them.

Where nobody measures there is no Timing, and plugins are called as they are. What is kept is no call, and a point is
counted where some plugin was asked.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from moorage.framework.points import PermitAnswer, PostFilterAnswer
from moorage.framework.status import Code, Status

EVERY: Final = 10
"""Of so many cycles the calls of one are measured."""

#: The methods that are measured, by the point that kube-scheduler's metrics know.
METHODS: Final[Mapping[str, str]] = {
    "pre_filter": "PreFilter",
    "filter": "Filter",
    "filter_nodes": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "score_nodes": "Score",
    "normalize_scores": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
}


class PointObserver(Protocol):
    """Is told what to measure, in seconds."""

    def ran(self, point: str, label: str, profile: str, seconds: float) -> None:
        """All plugins of a point took so long; `label` is how they answered."""

    def called(self, point: str, label: str, plugin: str, seconds: float) -> None:
        """One call of a plugin took so long."""


class Timing:
    """The clock of one profile, and who is told."""

    __slots__ = ("_cycles", "_observer", "_profile", "clock", "is_on")

    def __init__(self, *, profile: str, clock: Callable[[], float], observer: PointObserver) -> None:
        self._profile = profile
        self._observer = observer
        self._cycles = 0
        self.clock = clock
        #: Whether single calls are measured now.
        self.is_on = False

    def begin_cycle(self) -> None:
        """Another cycle begins."""
        self.is_on = self._cycles % EVERY == 0
        self._cycles += 1

    def ran(self, point: str, label: str, since: float) -> None:
        """The plugins of a point were asked, from then to now."""
        self._observer.ran(point, label, self._profile, self.clock() - since)

    def status(self, point: str, status: Status | None, since: float) -> None:
        """The same, by what they came to."""
        self.ran(point, Code.SUCCESS.label if status is None else status.code.label, since)

    def measured(self, name: str, plugin: Any) -> Any:
        """The plugin, with its calls measured while they are to be."""
        return _Measured(self, name, plugin)

    def wrap(self, name: str, point: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, measured while calls are to be."""
        clock, observer = self.clock, self._observer

        @functools.wraps(method)
        def call(*given: Any) -> Any:
            if not self.is_on:
                return method(*given)
            started, label = clock(), Code.ERROR.label
            try:
                answer = method(*given)
                label = _label(answer)
            finally:
                observer.called(point, label, name, clock() - started)
            return answer

        return call


class _Measured:
    """A plugin whose methods at the points of the cycle are measured. Everything else is the plugin's own."""

    def __init__(self, timing: Timing, name: str, plugin: Any) -> None:
        self._plugin = plugin
        for method, point in METHODS.items():
            found = getattr(plugin, method, None)
            # A NormalizeByMax is known for what it is: it is no call.
            if inspect.isroutine(found):
                setattr(self, method, timing.wrap(name, point, found))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugin, name)


def _label(answer: Any) -> str:
    if isinstance(answer, PermitAnswer | PostFilterAnswer):
        answer = answer.status
    return answer.code.label if isinstance(answer, Status) else Code.SUCCESS.label
