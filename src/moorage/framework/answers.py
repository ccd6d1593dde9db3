"""What a plugin may answer at each extension point, and what a wrong answer becomes.

Whoever runs a point asks here: the queue, the engine, and the attempt that binds. What a plugin raises, and what it may
not answer, becomes a PluginError that names the plugin, the point, and the line it happened at: that fails the attempt
of one pod and nothing else, be it SystemExit. Two things are let pass, since they are no answers: KeyboardInterrupt,
and a question to extenders that arises inside a plugin.
"""

import inspect
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from moorage.columns import PodInfo
from moorage.errors import ApiError, MoorageError, PluginError, did_you_mean
from moorage.framework.points import NodeNames, Nomination, PermitAnswer, PostFilterAnswer
from moorage.framework.status import Code, Status
from moorage.objects import KubeObject


class DecisionEnds(BaseException):
    """Ends a decision where it stands.

    It unwinds through plugins, too, where it arises inside PostFilter: beside KeyboardInterrupt the one thing that
    nobody may contain.
    """


#: What nobody contains. (GeneratorExit is how Python itself ends a coroutine that is thrown away.)
_PASSING: Final = (KeyboardInterrupt, GeneratorExit, DecisionEnds)

#: Where what runs plugins stands, and what is a plugin all the same.
_PACKAGE: Final = f"{Path(__file__).parents[1]}{os.sep}"
_PLUGINS: Final = f"{_PACKAGE}plugins{os.sep}"

_NO: Final = frozenset((Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING))


@dataclass(frozen=True, slots=True)
class Contract:
    """What may be answered at a point, beside None and SUCCESS, which say yes."""

    #: The method that is asked.
    method: str
    #: The codes a Status may have there. ERROR breaks the attempt in the plugin's words, any other is a wrong answer.
    codes: frozenset[Code]
    #: What may be answered instead of a Status.
    kinds: tuple[type, ...] = ()
    #: Whether the answer may be awaited.
    is_awaited: bool = False


#: By the name kube-scheduler has for a point in its messages. Filter and Score look at whole columns of nodes: the
#: shape of those is checked where they are made uniform (`engine.lifting`).
CONTRACTS: Final[Mapping[str, Contract]] = {
    "PreEnqueue": Contract("pre_enqueue", _NO),
    "PreFilter": Contract("pre_filter", _NO | {Code.SKIP}, (NodeNames,)),
    "Filter": Contract("filter", _NO),
    "PostFilter": Contract("post_filter", _NO | {Code.ERROR}, (PostFilterAnswer,)),
    "PreScore": Contract("pre_score", frozenset((Code.SKIP,))),
    "Reserve": Contract("reserve", _NO),
    "Permit": Contract("permit", _NO | {Code.WAIT}, (PermitAnswer,)),
    "PreBindPreFlight": Contract("pre_bind_pre_flight", frozenset((Code.SKIP,))),
    "PreBind": Contract("pre_bind", _NO, is_awaited=True),
    "Bind": Contract("bind", _NO | {Code.SKIP}, is_awaited=True),
    "PostBind": Contract("post_bind", frozenset(), is_awaited=True),
}

#: The methods of points that answer in numbers, or about groups (`groupanswers`).
_METHODS: Final[Mapping[str, str]] = {
    "Score": "score",
    "NormalizeScore": "normalize_scores",
    "Unreserve": "unreserve",
    "AddPod": "add_pod",
    "RemovePod": "remove_pod",
    "PlacementFeasible": "placement_feasible",
    "PlacementGenerate": "generate_placements",
    "PlacementScore": "score_placement",
    "NormalizePlacementScore": "normalize_placement_scores",
    "PodGroupPostFilter": "pod_group_post_filter",
}


def verdict(name: str, plugin: Any, point: str, answer: Any) -> Status | None:
    """The answer of `plugin`, called `name`: None for yes, else a Status the point allows, a no with its name on it.

    Raises PluginError for everything else. For points that answer in Statuses alone; others look at `kinds` first.
    """
    if answer is None:
        return None
    if not isinstance(answer, Status):
        expected = " or ".join(kind.__name__ for kind in (*CONTRACTS[point].kinds, Status))
        raise unfit(name, plugin, point, answer, f"{expected} or None")
    if answer.code is Code.SUCCESS:
        return None
    if answer.code in CONTRACTS[point].codes:
        return answer if answer.code is Code.SKIP else answer.by(name)
    if answer.code is Code.ERROR and answer.reasons:
        # Said on purpose, so the plugin's own words are enough.
        raise PluginError(name, point, answer.message)
    raise wrong(name, plugin, point, answer.message or f"answered {answer.code.label}")


def permit_verdict(name: str, plugin: Any, answer: Any) -> tuple[Status | None, float]:
    """What a Permit plugin says, as `verdict` tells it, and for how many seconds it wants the pod held, if it does."""
    seconds: Any = 0.0
    if isinstance(answer, PermitAnswer):
        answer, seconds = answer.status, answer.timeout_seconds
    status = verdict(name, plugin, "Permit", answer)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
        raise wrong(name, plugin, "Permit", f"answered a timeout of {seconds!r}; expected seconds")
    return status, float(seconds)


def post_filter_verdict(name: str, plugin: Any, answer: Any) -> PostFilterAnswer:
    """What a PostFilter plugin says, found whole. Its status may be an ERROR, too: that is told beside the reasons."""
    if not isinstance(answer, PostFilterAnswer):
        raise unfit(name, plugin, "PostFilter", answer, "PostFilterAnswer")
    status, nomination = answer.status, answer.nomination
    if status is not None and not isinstance(status, Status):
        raise wrong(name, plugin, "PostFilter", f"answered the status {status!r}; expected Status or None")
    if nomination is not None and not _is_whole(nomination):
        raise wrong(name, plugin, "PostFilter", f"answered {nomination!r}; expected a Nomination of a node and pods")
    if answer.effect is not None and not callable(answer.effect):
        raise wrong(name, plugin, "PostFilter", f"answered the effect {answer.effect!r}; expected a function")
    if not isinstance(answer.deallocated, str):
        raise wrong(name, plugin, "PostFilter", f"answered deallocated={answer.deallocated!r}; expected text")
    return answer


def unfit(name: str, plugin: Any, point: str, answer: Any, expected: str) -> PluginError:
    """The error that an answer of a wrong type becomes. A coroutine is put away: nobody will await it."""
    if is_async(answer):
        return wrong(name, plugin, point, f"is async, and nothing is awaited there; expected {expected}")
    return wrong(name, plugin, point, f"answered {answer!r}; expected {expected}")


def check_nothing(name: str, plugin: Any, point: str, answer: Any) -> None:
    """What has nothing to say may not be async: nobody would await it. Whatever else it answers is not looked at."""
    if answer is not None and is_async(answer):
        raise wrong(name, plugin, point, "is async, and nothing is awaited there")


_REASON: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")


def check_event(about: Any, reason: Any, note: Any, action: Any) -> None:
    """Raises TypeError or ValueError, at the plugin's line, where people could not be told this."""
    if not isinstance(about, PodInfo | KubeObject):
        raise TypeError(f"an event is about a pod or an object, not {about!r}")
    if not isinstance(note, str) or not note:
        raise TypeError(f"the note of an event is {note!r}: expected text")
    for name, word in (("reason", reason), ("action", action)):
        if not isinstance(word, str) or not _REASON.fullmatch(word):
            raise ValueError(f"the {name} of an event is {word!r}: expected a word in CamelCase")


def is_async(answer: Any) -> bool:
    """Whether a plugin answered something to be awaited. Where nobody awaits it, it is closed."""
    if not hasattr(answer, "__await__"):
        return False
    if hasattr(answer, "close"):
        answer.close()
    return True


def wrong(name: str, plugin: Any, point: str, problem: str) -> PluginError:
    """The error that an answer becomes which the point does not allow: the line is that of the plugin's method."""
    method = _METHODS.get(point) or CONTRACTS[point].method
    found = getattr(plugin, method, None) or getattr(plugin, f"{method}_nodes", None)
    return PluginError(name, point, problem, where=definition(found))


def wrong_await(method: Callable[..., Any]) -> TypeError:
    """What a method that has to be async is answered, and is not."""
    return TypeError(f"{method.__qualname__} is not async (at {definition(method)})")


def let_pass(problem: BaseException) -> None:
    """Raise what is not for anybody to contain."""
    if isinstance(problem, _PASSING):
        raise problem


def broken(plugin: str, point: str, problem: BaseException | str) -> PluginError:
    """The error that what a plugin raised becomes: the line is the last one of the plugin's own file.

    Raises what is not for anybody to contain.
    """
    if isinstance(problem, BaseException):
        let_pass(problem)
    if isinstance(problem, PluginError):
        return problem
    if isinstance(problem, str | ApiError):
        # A refusal of the API server is no mistake of the plugin's.
        return PluginError(plugin, point, str(problem))
    # What we made of something else (a cancellation) tells of that.
    origin = problem.__cause__ if isinstance(problem, MoorageError) and problem.__cause__ is not None else problem
    return PluginError(plugin, point, in_words(problem), where=raised_at(origin.__traceback__))


def in_words(problem: BaseException) -> str:
    """What was raised: its kind, what it says, and the name that was probably meant where one is not there."""
    kind, said = type(problem).__name__, str(problem)
    text = f"{kind}: {said}" if said else kind
    if isinstance(problem, AttributeError) and isinstance(problem.name, str):
        owner = problem.obj if isinstance(problem.obj, type) else type(problem.obj)
        if said == problem.name:  # all that an enumeration says
            text = f"{kind}: {owner.__name__} has no {said}"
        text += did_you_mean(problem.name, (name for name in dir(owner) if not name.startswith("_")))
    return text


def is_skip(name: str, plugin: Any, point: str, answer: Any) -> bool:
    """Whether the plugin skips itself, at a point where it may do nothing else but go on. Raises PluginError."""
    return verdict(name, plugin, point, answer) is not None


class blame:  # noqa: N801 - reads as a statement: `with blame(...)`
    """Turns whatever a plugin raises inside the block into a PluginError that names it."""

    __slots__ = ("_plugin", "_point")

    def __init__(self, plugin: str, point: str) -> None:
        self._plugin = plugin
        self._point = point

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None and not isinstance(error, (*_PASSING, PluginError)):
            raise broken(self._plugin, self._point, error) from error


def _is_whole(nomination: Any) -> bool:
    return (
        isinstance(nomination, Nomination)
        and isinstance(nomination.node_name, str)
        and isinstance(nomination.victims, tuple | list)
        and all(isinstance(victim, PodInfo) for victim in nomination.victims)
    )


def definition(what: Any) -> str:
    """Where a plugin's method or class begins; "" where that is not known."""
    if isinstance(what, type):
        try:
            return _place(inspect.getfile(what), inspect.findsource(what)[1] + 1)
        except (OSError, TypeError):
            return ""
    code = getattr(inspect.unwrap(what), "__code__", None) if callable(what) else None
    return "" if code is None else _place(code.co_filename, code.co_firstlineno)


def place_of(what: Any) -> str:
    """The same as the end of a sentence."""
    where = definition(what)
    return f" (at {where})" if where else ""


def raised_at(trace: TracebackType | None) -> str:
    """The innermost line of the file that our call led to: what a plugin calls is seldom where its mistake is."""
    if trace is None:
        return ""
    trace = trace.tb_next or trace
    while trace.tb_next is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    line = trace.tb_lineno
    while (trace := trace.tb_next) is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
    return _place(file, line)


def _is_ours(file: str) -> bool:
    """Whether it runs plugins, and is none."""
    return file.startswith(_PACKAGE) and not file.startswith(_PLUGINS)


def _place(file: str, line: int) -> str:
    """A file by its last two names: enough to find it, and the same wherever it is installed."""
    return f"{Path(*Path(file).parts[-2:])}:{line}"
