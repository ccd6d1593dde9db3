"""How long plugins take: whole points in every cycle, single calls in every tenth, as kube-scheduler samples them.

Where nobody measures there is no Timing. In cycles whose calls are not measured plugins are called as they are. What is
kept is no call. Kept verdicts and scores are brought up to date together: both count as Filter.
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


_SUCCESS, _ERROR = Code.SUCCESS.label, Code.ERROR.label


class PointObserver(Protocol):
    """Is told what to measure, in seconds."""

    def point(self, point: str, label: str, profile: str) -> Callable[[float], None]:
        """Whom to tell, again and again, how long all plugins of a point took; `label` is how they answered."""

    def called(self, point: str, label: str, plugin: str, seconds: float) -> None:
        """One call of a plugin took so long."""


class PointTimes:
    """How long the points of one profile take, for an observer who is asked only once where to count each."""

    __slots__ = ("_observer", "_profile", "_tell", "clock")

    def __init__(self, *, profile: str, clock: Callable[[], float], observer: PointObserver) -> None:
        """`clock` is what whoever runs the points measures by."""
        self._profile = profile
        self.clock = clock
        self._observer = observer
        self._tell: dict[tuple[str, str], Callable[[float], None]] = {}

    def add(self, point: str, label: str, seconds: float) -> None:
        """The plugins of a point took so long; `label` is how they answered."""
        tell = self._tell.get((point, label))
        if tell is None:
            tell = self._tell[point, label] = self._observer.point(point, label, self._profile)
        tell(seconds)


class Timing:
    """The clock of one profile, and who is told."""

    __slots__ = ("_cycles", "_is_on", "_observer", "_places", "_points", "clock")

    def __init__(self, *, profile: str, clock: Callable[[], float], observer: PointObserver) -> None:
        self._observer = observer
        self._points = PointTimes(profile=profile, clock=clock, observer=observer)
        self._cycles = 0
        self.clock = clock
        self._is_on = False
        #: Where methods of plugins are called from: names, the name, the plain method, the measured one.
        self._places: list[tuple[dict[str, Any], str, Any, Any]] = []

    def begin_cycle(self) -> None:
        """Another cycle begins."""
        is_on = self._cycles % EVERY == 0
        self._cycles += 1
        if is_on is not self._is_on:
            self._is_on = is_on
            for names, name, plain, timed in self._places:
                names[name] = timed if is_on else plain

    def ran(self, point: str, label: str, since: float) -> None:
        """The plugins of a point were asked, from then to now."""
        self._points.add(point, label, self.clock() - since)

    def status(self, point: str, status: Status | None, since: float) -> None:
        """The same, by what they came to."""
        self.ran(point, _SUCCESS if status is None else status.code.label, since)

    def measured(self, name: str, plugin: Any) -> Any:
        """The plugin, with its calls measured in the cycles in which they are."""
        made = _Measured(self, name, plugin)
        self.call_from(made, {method: method for method in METHODS}, made)
        return made

    def call_from(self, caller: object, names: Mapping[str, str], plugin: Any) -> None:
        """The caller keeps methods of a measured plugin under names of its own: attribute -> method."""
        for attribute, method in names.items():
            if method in plugin.plain:
                self._places.append((vars(caller), attribute, plugin.plain[method], plugin.timed[method]))

    def wrap(self, name: str, point: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, measured."""
        clock, observer = self.clock, self._observer

        @functools.wraps(method)
        def call(*given: Any) -> Any:
            started, label = clock(), _ERROR
            try:
                answer = method(*given)
                label = _label(answer)
            finally:
                observer.called(point, label, name, clock() - started)
            return answer

        return call


class _Measured:
    """A plugin whose methods at the points of the cycle can be measured. Everything else is the plugin's own."""

    def __init__(self, timing: Timing, name: str, plugin: Any) -> None:
        self._plugin = plugin
        # A NormalizeByMax is known for what it is: it is no call.
        self.plain = {method: found for method in METHODS if inspect.isroutine(found := getattr(plugin, method, None))}
        self.timed = {method: timing.wrap(name, METHODS[method], found) for method, found in self.plain.items()}
        vars(self).update(self.plain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugin, name)


def _label(answer: Any) -> str:
    if isinstance(answer, PermitAnswer | PostFilterAnswer):
        answer = answer.status
    return answer.code.label if isinstance(answer, Status) else _SUCCESS
