"""The StickyJob plugin at its extension points."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.points import MAX_SCORE, NodeNames, Verdicts
from moorage.framework.status import SKIP, Code, Status, unschedulable
from moorage.objects import KubeObject, Node, Pod, PriorityClass, StickyJob
from moorage.plugins.sticky_job.homes import home_of, job_uid
from moorage.plugins.sticky_job.seats import Seat, Seats, leaves_room
from moorage.plugins.sticky_job.trouble import may_make_room, shortage_on, trouble_with

_PLAN = "StickyJob"

KEPT = unschedulable("node(s) had their room kept for a sticky job")

_MOST_WAKES = 10_000
_WAKE_MARGIN = 0.1
"""Seconds after a moment at which a pod is looked at again: clocks round."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one pod is to do in one cycle."""

    #: The node it is to go to if it fits there.
    preferred: str = ""
    kept: Mapping[str, list[Seat]] = field(default_factory=dict)


class StickyJobPlugin:
    """Brings the pod of a StickyJob back to the node it last ran on, and keeps its room there for a while.

    A pod that waits for its node does so under this plugin's name alone, so that only events of that node, its pods
    and its job wake it, or the end of the time it waits.
    """

    name: ClassVar[str] = "StickyJob"
    reads: ClassVar[tuple[type[KubeObject], ...]] = (PriorityClass,)
    #: Where the definition is not there, nobody has StickyJobs.
    may_read: ClassVar[tuple[type[KubeObject], ...]] = (StickyJob,)
    #: More than all that the default plugins can say for another node.
    default_weight: ClassVar[int] = 100

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle
        self._objects = handle.snapshot.objects
        self._seats = Seats(handle.snapshot, handle.now)
        #: Uid of a pod -> when it will be woken.
        self._wakes: dict[str, float] = {}

    # -------------------------------------------------------------------------------------------------------- Filter

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Status | NodeNames | None:
        """Find out which node the pod wants back. While it waits for that, no other will do."""
        kept = self._seats.kept_from(pod)
        if kept:
            self._wake(pod, min(seat.until for seats in kept.values() for seat in seats))
        home = home_of(pod, self._objects)
        plan, answer = _Plan(kept=kept), None
        node = home.among(nodes) if home is not None else None
        if home is not None and node is not None:
            now = self._handle.now()
            wrong = trouble_with(node, pod, now)
            if now < home.deadline:
                self._wake(pod, home.deadline)
                short = shortage_on(node, pod)
                if wrong or (short and not may_make_room(node, pod)):
                    return Status(Code.PENDING, (f"waiting for sticky node {node.name}: {wrong or short}",))
                reason = f"waiting for sticky node {node.name}{f': {short}' if short else ''}"
                answer = NodeNames(frozenset((node.name,)), reason)
            elif not wrong:
                plan = _Plan(preferred=node.name, kept=kept)
        state.write(_PLAN, plan)
        return answer if kept or answer is not None else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse nodes where the pod would take a seat that is kept."""
        plan: _Plan = state.read(_PLAN)
        seats = plan.kept.get(node.name)
        return KEPT if seats and not leaves_room(pod, node, seats) else None

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows."""
        plan: _Plan = state.read(_PLAN)
        codes = np.zeros(len(rows), dtype=np.intp)
        for node_name, seats in plan.kept.items():
            node = nodes.get(node_name)
            if node is not None and not leaves_room(pod, node, seats):
                codes[rows == node.row] = 1
        return Verdicts(codes, (KEPT,))

    # --------------------------------------------------------------------------------------------------------- Score

    def pre_score(self, state: CycleState, _pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """SKIP where no node is better than the others."""
        plan: _Plan | None = state.get(_PLAN)
        return None if plan is not None and plan.preferred else SKIP

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """All for the last node."""
        plan: _Plan = state.read(_PLAN)
        return MAX_SCORE if node.name == plan.preferred else 0

    # -------------------------------------------------------------------------------------------------------- events

    def events_to_register(self) -> Sequence[EventHint]:
        """Whatever happens to the node a pod waits for, to pods there, and to its job."""
        gone = Action.DELETE | Action.UPDATE_POD_SCALE_DOWN
        return (
            on(Resource.NODE, Action.ADD | Action.DELETE | Action.UPDATE, self._after_node),
            on(Resource.ASSIGNED_POD, gone, self._after_pod),
            on(StickyJob, Action.ADD | Action.DELETE | Action.UPDATE, self._after_job),
        )

    def _after_node(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        changed = new if new is not None else old
        return Hint.QUEUE if changed is not None and self._concerns(pod, changed.metadata.name) else Hint.SKIP

    def _after_pod(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        changed = old if old is not None else new
        return Hint.QUEUE if changed is not None and self._concerns(pod, changed.spec.node_name) else Hint.SKIP

    def _concerns(self, pod: PodInfo, node_name: str) -> bool:
        home = home_of(pod, self._objects)
        return (home is not None and home.node_name == node_name) or node_name in self._seats.jobs_of

    def _after_job(self, pod: PodInfo, old: StickyJob | None, new: StickyJob | None) -> Hint:
        changed = new if new is not None else old
        if changed is None:
            return Hint.SKIP
        is_own = job_uid(pod.pod) == changed.metadata.uid
        if not is_own and not any(one is not None and one.spec.seat_seconds for one in (old, new)):
            return Hint.SKIP
        is_same = old is not None and new is not None and _wishes(old) == _wishes(new)
        return Hint.SKIP if is_same else Hint.QUEUE

    def _wake(self, pod: PodInfo, at: float) -> None:
        """Have the pod looked at again at a moment at which nothing happens but that time is over."""
        now = self._handle.now()
        if not self._handle.has_host or math.isinf(at) or now < self._wakes.get(pod.uid, 0.0) <= at:
            return
        if len(self._wakes) >= _MOST_WAKES:
            self._wakes = {uid: moment for uid, moment in self._wakes.items() if moment > now}
        self._wakes[pod.uid] = at
        self._handle.host.activate_after(at - now + _WAKE_MARGIN, (pod,))


def _wishes(job: StickyJob) -> tuple[object, ...]:
    spec, status = job.spec, job.status
    return spec.stickiness, spec.wait_seconds, spec.seat_seconds, status.last_node, status.last_node_uid, status.phase
