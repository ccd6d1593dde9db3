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
    custom_kind,
)

Anchor = custom_kind("example.org/v1", "Anchor")


class StickToLastNode:
    """Score: everything for the last node."""

    reads: ClassVar = (Anchor,)
    default_weight: ClassVar = 100

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._objects = handle.snapshot.objects

    def pre_score(self, state: CycleState, pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """Look up where the pod's Anchor ran last; nothing to do for the pods of others."""
        if not any(owner.kind == "Anchor" and owner.controller for owner in pod.pod.metadata.owner_references):
            return SKIP
        anchor = self._objects.get(Anchor, pod.key)
        state.write("StickToLastNode", anchor.status.get("lastNode") if anchor is not None else None)
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """The last node, or none."""
        return MAX_SCORE if node.name == state.read("StickToLastNode") else 0
