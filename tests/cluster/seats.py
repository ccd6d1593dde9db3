"""A plugin for the extender tests: nodes have seats, some are for nobody, and comfort is what a label says."""

from typing import Any

from moorage.framework import CycleState, NodeInfo, PodInfo, Status, unresolvable, unschedulable


class Seats:
    """Filter by the annotation `seats` of nodes, score by `comfort` (0 to 100). It reserves, so it binds."""

    def __init__(self, _args: Any, _handle: Any) -> None: ...

    def filter(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        seats = node.node.metadata.annotations.get("seats")
        if seats is None:
            return unresolvable("node(s) had no seats")
        return None if len(node.pods) < int(seats) else unschedulable("node(s) had no free seat")

    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        return int(node.node.metadata.annotations.get("comfort", "0"))

    def reserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return None

    def unreserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None: ...
