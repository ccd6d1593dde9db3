"""How long plugins take: whole points in every cycle, single calls in one of ten, as kube-scheduler samples them.

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

IN_A_ROW: Final = 5
"""To begin with it and to end it costs more than to go on."""

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


#: Takes down how many seconds something took.
PutDown = Callable[[float], None]

#: Points put down at most before they are summed up.
_MOST_PUT_DOWN: Final = 1_000


class PointObserver(Protocol):
    """Says where to put down what is measured: asked once for each series, since a pod makes a dozen entries."""

    def point(self, point: str, label: str, profile: str) -> PutDown:
        """For how long all plugins of a point take; `label` is how they answered."""

    def call(self, point: str, label: str, plugin: str) -> PutDown:
        """For how long one call of a plugin takes; not all calls are measured."""

    def sum_up(self) -> None:
        """Much has been put down: sum it up."""


class Timing:
    """The clock of one profile, and who is told. Told is put down, and summed up now and then."""

    __slots__ = ("_calls", "_cycles", "_is_on", "_observer", "_places", "_points", "_profile", "_put_down", "clock")

    def __init__(self, *, profile: str, clock: Callable[[], float], observer: PointObserver) -> None:
        self._profile = profile
        self._observer = observer
        self._points: dict[tuple[str, str], PutDown] = {}
        self._calls: dict[tuple[str, str, str], PutDown] = {}
        self._put_down = 0
        self._cycles = 0
        self.clock = clock
        self._is_on = False
        #: Where methods of plugins are called from: an object, the attribute, the plain method, the measured one.
        self._places: list[tuple[object, str, Any, Any]] = []

    def begin_cycle(self) -> None:
        """Another cycle begins."""
        is_on = self._cycles // IN_A_ROW % EVERY == 0
        self._cycles += 1
        if is_on is not self._is_on:
            self._is_on = is_on
            for caller, name, plain, timed in self._places:
                setattr(caller, name, timed if is_on else plain)

    def ran(self, point: str, label: str, since: float) -> None:
        """The plugins of a point were asked, from then to now; `label` is how they answered."""
        self.add(point, label, self.clock() - since)

    def status(self, point: str, status: Status | None, since: float) -> None:
        """The same, by what they came to."""
        self.add(point, _SUCCESS if status is None else status.code.label, self.clock() - since)

    def add(self, point: str, label: str, seconds: float) -> None:
        """The plugins of a point took so long."""
        put_down = self._points.get((point, label))
        if put_down is None:
            put_down = self._points[point, label] = self._observer.point(point, label, self._profile)
        put_down(seconds)
        self._put_down += 1
        if self._put_down >= _MOST_PUT_DOWN:
            self._put_down = 0
            self._observer.sum_up()

    def add_call(self, point: str, label: str, plugin: str, seconds: float) -> None:
        """One call of a plugin took so long."""
        put_down = self._calls.get((point, label, plugin))
        if put_down is None:
            put_down = self._calls[point, label, plugin] = self._observer.call(point, label, plugin)
        put_down(seconds)

    def measured(self, name: str, plugin: Any) -> Any:
        """The plugin, with its calls measured in the cycles in which they are."""
        made = _Measured(self, name, plugin)
        self.call_from(made, {method: method for method in METHODS}, made)
        return made

    def call_from(self, caller: object, names: Mapping[str, str], plugin: Any) -> None:
        """The caller keeps methods of a measured plugin under names of its own: attribute -> method."""
        for attribute, method in names.items():
            if method in plugin.plain:
                # Not by way of vars(): an object whose dict was once looked at is slower ever after.
                self._places.append((caller, attribute, plugin.plain[method], plugin.timed[method]))

    def wrap(self, name: str, point: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, measured."""
        clock, add_call = self.clock, self.add_call

        @functools.wraps(method)
        def call(*given: Any) -> Any:
            started, label = clock(), _ERROR
            try:
                answer = method(*given)
                label = _SUCCESS if answer is None else _label(answer)
            finally:
                add_call(point, label, name, clock() - started)
            return answer

        return call


class _Measured:
    """A plugin whose methods at the points of the cycle can be measured. Everything else is the plugin's own."""

    def __init__(self, timing: Timing, name: str, plugin: Any) -> None:
        self._plugin = plugin
        # A NormalizeByMax is known for what it is: it is no call.
        self.plain = {method: found for method in METHODS if inspect.isroutine(found := getattr(plugin, method, None))}
        self.timed = {method: timing.wrap(name, METHODS[method], found) for method, found in self.plain.items()}
        for method, found in self.plain.items():
            setattr(self, method, found)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugin, name)


def _label(answer: Any) -> str:
    if isinstance(answer, PermitAnswer | PostFilterAnswer):
        answer = answer.status
    return answer.code.label if isinstance(answer, Status) else _SUCCESS
