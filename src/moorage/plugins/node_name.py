"""NodeName: a pod that names its node goes nowhere else."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config.gates import NODE_NAME_PRE_FILTER
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.points import NodeNames, Scope, Verdicts
from moorage.framework.status import Status, unresolvable

ANOTHER_NODE = unresolvable("node(s) didn't match the requested node name")


class NodeName:
    """Filter: spec.nodeName, where set, is the node's name."""

    points_by_feature = MappingProxyType({NODE_NAME_PRE_FILTER: ("preFilter",)})
    filter_scope = Scope.NODE

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._narrows = NODE_NAME_PRE_FILTER in handle.features

    def pre_filter(self, _state: CycleState, pod: PodInfo, _nodes: NodeTable) -> NodeNames | Status | None:
        """Try a pod that names its node on that node alone; before 1.37 all others were asked as well."""
        if not self._narrows:
            return None
        return NodeNames(frozenset((pod.spec.node_name,))) if pod.spec.node_name else None

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse every node but the one named."""
        return ANOTHER_NODE if pod.spec.node_name not in ("", node.name) else None

    def filter_nodes(self, _state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same by the row of the node named."""
        wanted = pod.spec.node_name
        if not wanted:
            return Verdicts(np.zeros(len(rows), dtype=np.intp), ())
        return Verdicts((rows != nodes.row_of.get(wanted, -1)).astype(np.intp), (ANOTHER_NODE,))

    def events_to_register(self) -> Sequence[EventHint]:
        """Only a new node can be the one named."""
        return (on(Resource.NODE, Action.ADD),)
