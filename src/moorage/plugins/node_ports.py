"""NodePorts: a host port is held by one pod at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on, spec_of_pod
from moorage.framework.handle import Handle
from moorage.framework.points import Scope, Verdicts
from moorage.framework.status import SKIP, Status, unschedulable
from moorage.objects import Pod
from moorage.values.ports import any_conflict, host_ports

TAKEN = unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts:
    """Filter: none of the pod's host ports is taken on the node."""

    filter_scope = Scope.NODE_AND_PODS

    def __init__(self, _args: Any, _handle: Handle) -> None: ...

    def pre_filter(self, _state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """Skip for the many pods without host ports."""
        return None if pod.pod_class.ports else SKIP

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a node where a wanted port is taken."""
        return TAKEN if node.ports and any_conflict(pod.pod_class.ports, node.ports.keys()) else None

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same; only nodes with some host port in use are looked at."""
        infos = nodes.infos
        taken = [bool(infos[row].ports) and self.filter(state, pod, infos[row]) is not None for row in rows.tolist()]
        return Verdicts(np.array(taken, dtype=np.intp), (TAKEN,))

    def events_to_register(self) -> Sequence[EventHint]:
        """A new node; a pod gone that held one of the ports."""
        return (
            on(Resource.NODE, Action.ADD),
            on(Resource.POD, Action.DELETE, self._after_pod_deleted, reads=spec_of_pod),
        )

    def _after_pod_deleted(self, pod: PodInfo, old: Pod | None, _new: Pod | None) -> Hint:
        if old is None or not (old.spec.node_name or old.status.nominated_node_name):
            return Hint.SKIP
        return Hint.QUEUE if any_conflict(pod.pod_class.ports, host_ports(old)) else Hint.SKIP
