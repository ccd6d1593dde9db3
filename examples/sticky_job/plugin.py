"""Brings the pod of an Anchor back to the node it ran on last, if it fits there."""

from typing import Any, ClassVar

from moorage.framework import (
    MAX_SCORE,
    SKIP,
    CycleState,
    Handle,
    NodeInfo,
    NodeTable,
    PodInfo,
    Rows,
    Status,
)

LAST_NODE = "example.org/last-node"


class StickToLastNode:
    """Score: everything for the last node."""

    default_weight: ClassVar = 100

    def __init__(self, _args: Any, _handle: Handle) -> None:
        """It needs nothing but the pod."""

    def pre_score(self, state: CycleState, pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """See where the pod's Anchor ran last; nothing to do for the pods of others, and for the first."""
        node_name = pod.annotations.get(LAST_NODE)
        if not node_name:
            return SKIP
        state.write("StickToLastNode", node_name)
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """The last node, or none."""
        return MAX_SCORE if node.name == state.read("StickToLastNode") else 0
