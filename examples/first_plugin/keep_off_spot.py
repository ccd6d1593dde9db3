"""Important pods stay off nodes that may be reclaimed at any time; all others go there first."""

from typing import Any

from moorage.framework import CycleState, Handle, NodeInfo, PodInfo, Status, unresolvable


class KeepOffSpot:
    """Filter and score by a label of nodes; from `fromPriority` on a pod is important."""

    def __init__(self, args: dict[str, Any] | None, _handle: Handle) -> None:
        self.label: str = (args or {}).get("label", "spot")
        self.from_priority: int = (args or {}).get("fromPriority", 1000)

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if self.label in node.labels and pod.priority >= self.from_priority:
            return unresolvable("node(s) may be reclaimed at any time")
        return None

    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        return 100 if self.label in node.labels else 0
