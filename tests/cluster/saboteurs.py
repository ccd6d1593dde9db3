"""Two plugins that do what a pod asks for in its annotation `does`, at the point it names: wrong things alone."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import numpy as np

from moorage.columns import GroupInfo
from moorage.framework import (
    SKIP,
    Action,
    Code,
    EventHint,
    Hint,
    NodeNames,
    Nomination,
    PermitAnswer,
    PodInfo,
    PostFilterAnswer,
    Resource,
    Status,
    Verdicts,
    on,
    unschedulable,
    wait,
)
from moorage.framework.grouping import Domain, PodGroupPostFilterAnswer

NOTHING: Final = object()
"""Nothing wrong is wanted here."""

RAISES, CANCELLED, EXIT, RECURSION = "raises", "CancelledError", "SystemExit", "RecursionError"
TYPE, ASYNC, NAN, JUNK, BLOCKS = "wrong type", "coroutine", "NaN", "junk in fields", "blocks"
KINDS: Final = (RAISES, CANCELLED, EXIT, RECURSION, TYPE, ASYNC, NAN, JUNK, BLOCKS)

BLOCKED_FOR: Final = 0.8


async def _coroutine() -> None: ...


def _deeper(depth: int) -> int:
    return _deeper(depth + 1) + 1


class Annotated(Protocol):
    """A pod, or the metadata of anything else."""

    @property
    def annotations(self) -> Mapping[str, str]: ...


def do(point: str, pod: Annotated, junk: Callable[[], Any] | None = None, other: Any = 7) -> Any:
    """What the pod wants done at this point; NOTHING where it wants nothing here."""
    wanted, _, kind = pod.annotations.get("does", "").partition(": ")
    if wanted != point:
        return NOTHING
    if kind == RAISES:
        raise KeyError("tide")
    if kind == CANCELLED:
        raise asyncio.CancelledError
    if kind == EXIT:
        raise SystemExit(3)
    if kind == RECURSION:
        return _deeper(0)
    if kind == BLOCKS:
        time.sleep(BLOCKED_FOR)
        return NOTHING
    if kind == JUNK:
        return junk() if junk is not None else NOTHING
    if kind == ASYNC:
        return _coroutine()
    return other if kind == TYPE else float("nan")


def _letters() -> Any:
    return Status(Code.UNSCHEDULABLE, "abc")  # type: ignore[arg-type]


class Saboteur:
    """The plain forms."""

    def __init__(self) -> None:
        #: The pods that were refused once, so that a hint is asked.
        self.refused: set[str] = set()

    def events_to_register(self) -> list[EventHint]:
        return [on(Resource.NODE, Action.UPDATE_NODE_LABEL, self._hint)]

    def _hint(self, pod: PodInfo, _old: Any, _new: Any) -> Any:
        done = do("QueueingHint", pod, lambda: "Queue")
        return Hint.SKIP if done is NOTHING else done

    def pre_enqueue(self, pod: PodInfo) -> Any:
        done = do("PreEnqueue", pod, _letters)
        return None if done is NOTHING else done

    def sort_key(self, pod: PodInfo, timestamp: float) -> Any:
        done = do("QueueSort", pod, lambda: ("high", {}), other="seven")
        return (-pod.priority, timestamp) if done is NOTHING else done

    def pre_filter(self, _state: Any, pod: PodInfo, _nodes: Any) -> Any:
        done = do("PreFilter", pod, lambda: NodeNames("node-0"))  # type: ignore[arg-type]
        return None if done is NOTHING else done

    def add_pod(self, *_: Any) -> None: ...

    def remove_pod(self, _state: Any, pod: PodInfo, _removed: Any, _node: Any) -> Any:
        return do("RemovePod", pod)

    def filter(self, _state: Any, pod: PodInfo, _node: Any) -> Any:
        if pod.annotations.get("does", "").startswith("QueueingHint") and pod.uid not in self.refused:
            return unschedulable("not before something happens")
        done = do("Filter", pod, _letters)
        return None if done is NOTHING else done

    def post_filter(self, _state: Any, pod: PodInfo, _statuses: Any) -> Any:
        self.refused.add(pod.uid)
        done = do("PostFilter", pod, lambda: PostFilterAnswer(None, Nomination(7, ("a",))))  # type: ignore[arg-type]
        return PostFilterAnswer(unschedulable()) if done is NOTHING else done

    def pre_score(self, _state: Any, pod: PodInfo, _nodes: Any, _rows: Any) -> Any:
        done = do("PreScore", pod, _letters)
        return None if done is NOTHING else done

    def score(self, _state: Any, pod: PodInfo, _node: Any) -> Any:
        done = do("Score", pod, lambda: 10**30, other="seven")
        return 0 if done is NOTHING else done

    def normalize_scores(self, _state: Any, pod: PodInfo, scores: Any, rows: Any) -> Any:
        done = do("NormalizeScore", pod, lambda: np.full(len(rows), 101))
        return scores if done is NOTHING else done

    def reserve(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("Reserve", pod, _letters)
        return None if done is NOTHING else done

    def unreserve(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        return do("Unreserve", pod)

    def permit(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("Permit", pod, lambda: PermitAnswer(wait(), "abc"))  # type: ignore[arg-type]
        return None if done is NOTHING else done

    def pre_bind_pre_flight(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("PreBindPreFlight", pod, _letters)
        return None if done is NOTHING else done

    def pre_bind(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        if pod.annotations.get("does", "").startswith("Unreserve"):
            return unschedulable("so that it is undone")
        done = do("PreBind", pod, _letters)
        return None if done is NOTHING else done

    def bind(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("Bind", pod, _letters)
        return SKIP if done is NOTHING else done

    def post_bind(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("PostBind", pod, _letters)
        return None if done is NOTHING else done


class Wide:
    """The fast forms, and the async ones."""

    def events_to_register(self) -> list[EventHint]:
        return []

    def filter_nodes(self, _state: Any, pod: PodInfo, _nodes: Any, rows: Any) -> Any:
        done = do("filter_nodes", pod, lambda: Verdicts(np.full(len(rows), 7), ()))
        return Verdicts(np.zeros(len(rows), dtype=np.intp), ()) if done is NOTHING else done

    def score_nodes(self, _state: Any, pod: PodInfo, _nodes: Any, rows: Any) -> Any:
        done = do("score_nodes", pod, lambda: np.full(len(rows), 0.5))
        return np.zeros(len(rows), dtype=np.int64) if done is NOTHING else done

    async def pre_bind(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("async PreBind", pod, _letters)
        return None if done is NOTHING else done

    async def bind(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("async Bind", pod, _letters)
        return SKIP if done is NOTHING else done

    async def post_bind(self, _state: Any, pod: PodInfo, _node_name: str) -> Any:
        done = do("async PostBind", pod, _letters)
        return None if done is NOTHING else done


class ByLess:
    """Orders the queue the other way."""

    def less(self, a: PodInfo, a_timestamp: float, b: PodInfo, b_timestamp: float) -> Any:
        for pod in (a, b):
            done = do("less", pod, lambda: np.array([True, False]), other="yes")
            if done is not NOTHING:
                return done
        return (-a.priority, a_timestamp) < (-b.priority, b_timestamp)


class OfGroups:
    """The points of placing groups; what is wanted stands on the group."""

    def _do(self, point: str, group: GroupInfo, junk: Callable[[], Any], other: Any = 7) -> Any:
        return do(point, group.item.metadata, junk, other)

    def placement_feasible(self, group: GroupInfo, _progress: Any) -> Any:
        done = self._do("PlacementFeasible", group, _letters)
        return None if done is NOTHING else done

    def generate_placements(self, group: GroupInfo, rows: Any) -> Any:
        done = self._do("PlacementGenerate", group, lambda: [Domain("far", np.array([10**6]))])
        return [Domain("low", rows[::2]), Domain("high", rows[1::2])] if done is NOTHING else done

    def score_placement(self, group: GroupInfo, _domain: Any, _assignments: Any) -> Any:
        # What normalizes is handed scores alone: it is told by them.
        if group.item.metadata.annotations.get("does", "").startswith("NormalizePlacementScore"):
            self.group = group
        done = self._do("PlacementScore", group, lambda: 10**30, other="seven")
        return 0 if done is NOTHING else done

    def normalize_placement_scores(self, scores: Any) -> Any:
        group, self.group = self.group, None
        done = NOTHING if group is None else self._do("NormalizePlacementScore", group, lambda: [7])
        return scores if done is NOTHING else done

    group: GroupInfo | None = None

    def post_filter(self, _state: Any, _pod: Any, _statuses: Any) -> Any:
        return PostFilterAnswer(unschedulable())

    def pod_group_post_filter(self, rejected: Any) -> Any:
        done = self._do(
            "PodGroupPostFilter",
            rejected.group,
            lambda: PodGroupPostFilterAnswer(Status(Code.SUCCESS), victims=("a",)),  # type: ignore[arg-type]
        )
        return PodGroupPostFilterAnswer(unschedulable()) if done is NOTHING else done


#: Every point, in the order a pod meets them; those at which wrong answers of some kind cannot be told from right ones.
POINTS: Final[dict[str, tuple[str, ...]]] = {
    "PreEnqueue": (),
    "QueueSort": (),
    "less": (),
    "PreFilter": (),
    "Filter": (),
    "filter_nodes": (),
    "PostFilter": (),
    "RemovePod": (JUNK,),
    "PreScore": (),
    "Score": (),
    "score_nodes": (),
    "NormalizeScore": (),
    "Reserve": (),
    "Unreserve": (JUNK,),
    "Permit": (),
    "PreBindPreFlight": (),
    "PreBind": (ASYNC,),
    "async PreBind": (),
    "Bind": (ASYNC,),
    "async Bind": (),
    "PostBind": (ASYNC,),
    "async PostBind": (),
    "QueueingHint": (),
}

#: The points of placing a group.
GROUP_POINTS: Final[dict[str, tuple[str, ...]]] = {
    "PlacementFeasible": (),
    "PlacementGenerate": (),
    "PlacementScore": (JUNK,),
    "NormalizePlacementScore": (),
    "PodGroupPostFilter": (),
}
