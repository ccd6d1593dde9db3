"""NodeUnschedulable: keeps pods off cordoned nodes."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config.gates import NODE_NAME_PRE_FILTER
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on, spec_of_pod
from moorage.framework.handle import Handle
from moorage.framework.points import Scope, Verdicts
from moorage.framework.status import Status, unresolvable
from moorage.objects import Node, Pod
from moorage.values.taint import UNSCHEDULABLE, tolerated

CORDONED = unresolvable("node(s) were unschedulable")


class NodeUnschedulable:
    """Filter: spec.unschedulable, unless the pod tolerates the taint that goes with it."""

    points_by_feature = MappingProxyType({NODE_NAME_PRE_FILTER: ("preFilter",)})
    filter_scope = Scope.NODE

    def __init__(self, _args: Any, _handle: Handle) -> None: ...

    def pre_filter(self, _state: CycleState, _pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """Nothing to prepare: since 1.37 the point is there for bound pods that wait for a resize."""
        return None

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a cordoned node."""
        if node.node.spec.unschedulable and not tolerated(UNSCHEDULABLE, pod.spec.tolerations):
            return CORDONED
        return None

    def filter_nodes(self, _state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same by the cordon column."""
        if tolerated(UNSCHEDULABLE, pod.spec.tolerations):
            return Verdicts(np.zeros(len(rows), dtype=np.intp), ())
        return Verdicts(nodes.unschedulable[rows].astype(np.intp), (CORDONED,))

    def events_to_register(self) -> Sequence[EventHint]:
        """A node un-cordoned or added; a toleration gained."""
        return (
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, self._after_node, reads=spec_of_pod),
            on(Resource.POD, Action.UPDATE_POD_TOLERATION, self._after_pod, reads=spec_of_pod),
        )

    def _after_node(self, _pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        opened = new is not None and not new.spec.unschedulable and (old is None or old.spec.unschedulable)
        return Hint.QUEUE if opened else Hint.SKIP

    def _after_pod(self, pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
        own = new is not None and new.metadata.uid == pod.uid
        return Hint.QUEUE if own and new and tolerated(UNSCHEDULABLE, new.spec.tolerations) else Hint.SKIP
