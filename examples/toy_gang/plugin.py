"""A toy gang: pods of one gang are bound together or not at all. For real ones see the groups of scheduling.k8s.io."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from moorage.framework import (
    Action,
    CycleState,
    EventHint,
    Handle,
    Hint,
    NodeTable,
    PermitAnswer,
    Pod,
    PodInfo,
    Resource,
    Status,
    WaitingPod,
    on,
    unschedulable,
    wait,
)

GANG: Final = "example.com/gang"
"""The label: which gang of its namespace a pod belongs to."""
SIZE: Final = "example.com/gang-size"
"""The annotation: how many pods make the gang."""


@dataclass(frozen=True)
class ToyGangArgs:
    """How long the first of a gang waits for the last."""

    patience_seconds: float = 30.0


class ToyGang:
    """PreFilter: enough of the gang must be there. Permit: those that have a node wait for the others."""

    args_type: ClassVar = ToyGangArgs

    def __init__(self, args: ToyGangArgs, handle: Handle) -> None:
        self.patience = args.patience_seconds
        self.handle = handle

    def pre_filter(self, _state: CycleState, pod: PodInfo, nodes: NodeTable) -> Status | None:
        """As long as too few are there none takes room from others."""
        size = _size(pod)
        if size < 2:
            return None
        there = {one.pod.uid for one in self.handle.host.pending_pods() if _same_gang(one.pod, pod)}
        there |= {other.uid for node in nodes for other in node.pods.values() if _same_gang(other, pod)}
        return None if len(there) >= size else unschedulable(f"{len(there)} of {size} pods of the gang are there")

    def reserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        """Nothing is taken; `unreserve` is what this point is served for."""

    def unreserve(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        """One that fails takes those that wait for it along: their room is for somebody else."""
        if _size(pod) > 1:
            for waiting in self._waiting(pod):
                waiting.reject("ToyGang", f"pod {pod.name} of the gang failed")

    def permit(self, _state: CycleState, pod: PodInfo, _node_name: str) -> PermitAnswer | None:
        """The last of the gang opens the door for all."""
        size = _size(pod)
        waiting = list(self._waiting(pod))
        placed = 1 + len(waiting) + self._bound(pod)
        if placed >= size:
            for one in waiting:
                one.allow("ToyGang")
            return None
        reason = f"{placed} of {size}"
        for one in waiting:
            one.tell("ToyGang", reason)
        return PermitAnswer(wait(reason), self.patience)

    def events_to_register(self) -> Sequence[EventHint]:
        """A sibling that comes, or one that gets its node, may complete the gang."""
        return [
            on(Resource.UNSCHEDULED_POD, Action.ADD, _is_sibling, reads=_gang_of),
            on(Resource.ASSIGNED_POD, Action.ADD, _is_sibling, reads=_gang_of),
        ]

    def _waiting(self, pod: PodInfo) -> Iterator[WaitingPod]:
        return (one for one in self.handle.host.waiting_pods() if _same_gang(one.pod, pod) and one.pod.uid != pod.uid)

    def _bound(self, pod: PodInfo) -> int:
        """The siblings that run: those on nodes that neither wait here nor are being placed."""
        waiting = {one.pod.uid for one in self._waiting(pod)} | {pod.uid}
        on_nodes = (other for node in self.handle.snapshot.nodes for other in node.pods.values())
        return sum(_same_gang(other, pod) and other.uid not in waiting for other in on_nodes)


def _size(pod: PodInfo) -> int:
    text = pod.annotations.get(SIZE, "")
    return int(text) if GANG in pod.labels and text.isdecimal() else 1


def _gang_of(pod: PodInfo) -> tuple[str, str | None]:
    return pod.namespace, pod.labels.get(GANG)


def _same_gang(one: PodInfo, other: PodInfo) -> bool:
    return GANG in other.labels and _gang_of(one) == _gang_of(other)


def _is_sibling(pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
    if new is None:
        return Hint.SKIP
    gang = new.metadata.namespace, new.metadata.labels.get(GANG)
    return Hint.QUEUE if gang == _gang_of(pod) else Hint.SKIP
