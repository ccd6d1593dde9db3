"""The node table: a row for each node, a column for each thing plugins ask of all nodes at once.

Every number stands twice: in the row's NodeInfo (for plugins that look at one node) and in a column (for those that
look at all). Only this module writes either.
"""

from collections.abc import Iterator
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.columns.changes import ChangeLog, PodChange, RowLog
from moorage.columns.heldterms import HeldTerms
from moorage.columns.images import ImageIndex
from moorage.columns.labels import LabelColumn
from moorage.columns.nodes import NodeInfo
from moorage.columns.pods import PodInfo
from moorage.columns.resources import Column, ResourceColumns
from moorage.columns.tallies import PodTallies
from moorage.columns.tentative import UndoLog
from moorage.objects import Node, Taint

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
S = TypeVar("S", bound=np.generic)


class NodeTable:
    """All nodes. Rows stay put while a node lives; a freed row is used again.

    `pod_changes` tells which pods came and went, `node_changes` which rows' node objects changed. `topology_version`
    moves when nodes come or go or their labels, taints or cordon change: tables of counts are then made anew.
    """

    def __init__(self, capacity: int = 64) -> None:
        self.capacity = capacity
        self.row_of: dict[str, int] = {}
        self.infos: list[NodeInfo] = []
        self.resources = ResourceColumns(self.infos, capacity)
        self.alive: Mask = np.zeros(capacity, dtype=bool)
        self.unschedulable: Mask = np.zeros(capacity, dtype=bool)
        self.taint_set: Rows = np.zeros(capacity, dtype=np.intp)
        #: Distinct taint sets; `taint_set` indexes this.
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self.images = ImageIndex()
        # Not long: pods that went long ago would be held by it.
        self.pod_changes: ChangeLog[PodChange] = ChangeLog(keep=1 << 10)
        self.node_changes = RowLog()
        #: The rows of `pod_changes`, for readers who need no more.
        self.pod_rows = RowLog()
        self.topology_version = 0
        #: Pods on nodes by what selects them, and the inter-pod affinity terms they hold.
        self.tallies = PodTallies()
        self.held_terms = HeldTerms()
        #: priority -> how many pods on nodes have it.
        self._priorities: dict[int, int] = {}
        #: `namespace/claim` -> row -> how many pods there use it.
        self._claim_users: dict[str, dict[int, int]] = {}
        self._labels: dict[str, LabelColumn] = {}
        self._taint_set_of: dict[tuple[Taint, ...], int] = {(): 0}
        self._free: list[int] = []
        self._rows: Rows | None = None
        self._undo: UndoLog | None = None

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.rows)

    def __getitem__(self, row: int) -> NodeInfo:
        return self.infos[row]

    def __iter__(self) -> Iterator[NodeInfo]:
        """The live nodes in row order."""
        return (self.infos[row] for row in self.rows.tolist())

    def get(self, name: str) -> NodeInfo | None:
        """The live node of that name."""
        row = self.row_of.get(name)
        return self.infos[row] if row is not None and self.alive[row] else None

    @property
    def rows(self) -> Rows:
        """The rows of live nodes, ascending. Do not change it."""
        if self._rows is None:
            self._rows = np.flatnonzero(self.alive)
            self._rows.flags.writeable = False
        return self._rows

    @property
    def is_complete(self) -> bool:
        """Whether every row is a live node's: no ghosts, no freed rows."""
        return len(self.rows) == len(self.infos)

    def pick(self, column: NDArray[S], rows: Rows) -> NDArray[S]:
        """A column's values at these rows; not a copy where `rows` are all there are, so do not change it."""
        if rows is self._rows and len(rows) == len(self.infos):
            return column[: len(rows)]
        return column.take(rows)

    def allocatable(self, resource: str) -> Column:
        """What nodes offer of a resource; of `pods`, how many they take."""
        return self.resources.allocatable(resource)

    def requested(self, resource: str) -> Column:
        """What the pods on nodes take of a resource."""
        return self.resources.requested(resource)

    def is_claim_used(self, key: str) -> bool:
        """Whether a pod on some live node uses the claim `namespace/name`."""
        return any(self.alive[row] for row in self._claim_users.get(key, ()))

    def has_below(self, priority: int) -> bool:
        """Whether some pod on a node has a lower priority."""
        return any(one < priority for one in self._priorities)

    def label(self, key: str) -> LabelColumn:
        """The column of one label key, made on first use and kept up to date from then on."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(self.capacity)
            for info in self.infos:
                column.set(info.row, info.labels.get(key))
        return column

    def set_node(self, node: Node) -> NodeInfo:
        """Add a node or take over its new version."""
        self._refuse_tentative()
        row = self._row_for(node.metadata.name)
        info = self.infos[row]
        fresh = not self.alive[row]
        before = info.node
        info.set_node(node)
        self._set_columns(row, info)
        if fresh:
            self.alive[row] = True
            self._rows = None
        if fresh or before.metadata.labels != node.metadata.labels or before.spec != node.spec:
            self.topology_version += 1
        self.node_changes.append(row)
        return info

    def remove_node(self, name: str) -> None:
        """The node is gone. Pods still there keep its row as a ghost that nobody sees."""
        self._refuse_tentative()
        row = self.row_of.get(name)
        if row is None or not self.alive[row]:
            return
        self.alive[row] = False
        self._rows = None
        self.images.remove_node(row)
        self.topology_version += 1
        self.node_changes.append(row)
        self._release(row)

    def add_pod(self, pod: PodInfo, node_name: str) -> None:
        """Count a pod on a node, which may not be there yet."""
        row = self._row_for(node_name)
        info = self.infos[row]
        if self._undo is not None:
            if self._undo.knows(info):
                self._undo.record(partial(self.remove_pod, pod, node_name))
            else:
                self._undo.record(partial(self._take_off, pod, node_name, info.extent(), info.is_sane))
        info.add_pod(pod)
        self._count(row, info, pod, 1)

    def remove_pod(self, pod: PodInfo, node_name: str) -> None:
        """Stop counting a pod on a node."""
        row = self.row_of[node_name]
        info = self.infos[row]
        if self._undo is not None:
            self._remember(self._undo, info)
            self._undo.record(partial(self.add_pod, pod, node_name))
        info.drop_pod(pod)
        self._count(row, info, pod, -1)
        self._release(row)

    def renew_pod(self, pod: PodInfo) -> None:
        """Take over a newer version of a pod that is here. It must share the class and groups of the one before."""
        info = self.infos[self.row_of[pod.spec.node_name]]
        if self._undo is not None:
            self._remember(self._undo, info)
        info.renew_pod(pod)

    # --------------------------------------------------------------------------------------------- for a while only

    @property
    def undo(self) -> UndoLog | None:
        """Where changes are written down while a tentative block is open."""
        return self._undo

    @undo.setter
    def undo(self, log: UndoLog | None) -> None:
        self._undo = log
        self.pod_changes.is_held = log is not None

    def _remember(self, undo: UndoLog, info: NodeInfo) -> None:
        """In the end what pods brought to the row is as it was, order and all."""
        if undo.is_first(info):
            undo.record(partial(self._put_back, info.name, info.held()))

    def _put_back(self, node_name: str, held: tuple[object, ...]) -> None:
        row = self.row_of.get(node_name)
        if row is not None:
            self.infos[row].put_back(held)

    def _take_off(self, pod: PodInfo, node_name: str, extent: tuple[int, int], is_sane: bool) -> None:
        """Undo `add_pod`, while nothing but what came after it was undone: order and all are as before."""
        row = self.row_of[node_name]
        info = self.infos[row]
        info.drop_pod(pod)
        info.is_sane = is_sane
        self._count(row, info, pod, -1)
        info.cut(extent)
        self._release(row)

    def _refuse_tentative(self) -> None:
        if self._undo is not None:
            raise RuntimeError("nodes do not change in a tentative block: only pods, promises and objects do")

    # -------------------------------------------------------------------------------------------------------- counts

    def _count(self, row: int, info: NodeInfo, pod: PodInfo, sign: int) -> None:
        self.resources.pods_changed(row, info, pod)
        rows = pod.label_group.rows
        held = rows.get(row, 0) + sign
        if held:
            rows[row] = held
        else:
            del rows[row]
        self.tallies.count(row, pod, sign)
        if pod.affinity_class is not None:
            self.held_terms.count(row, pod, sign)
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                self._use_claim(row, f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}", sign)
        priorities, priority = self._priorities, pod.priority
        held = priorities[priority] = priorities.get(priority, 0) + sign
        if not held:
            del priorities[priority]
        self.pod_changes.append(PodChange(row, pod, sign))
        self.pod_rows.append(row)

    def _use_claim(self, row: int, key: str, sign: int) -> None:
        users = self._claim_users.setdefault(key, {})
        users[row] = users.get(row, 0) + sign
        if not users[row]:
            del users[row]
        if not users:
            del self._claim_users[key]

    def _row_for(self, name: str) -> int:
        row = self.row_of.get(name)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self.infos[row] = NodeInfo(name, row)
        else:
            row = len(self.infos)
            if row == self.capacity:
                self._grow()
            self.infos.append(NodeInfo(name, row))
            self.resources.clear(row)
        self.row_of[name] = row
        return row

    def _release(self, row: int) -> None:
        """Give a row back once neither the node nor a pod of it is left."""
        info = self.infos[row]
        if self.alive[row] or info.pods:
            return
        del self.row_of[info.name]
        self._free.append(row)
        self.resources.clear(row)
        for label in self._labels.values():
            label.set(row, None)
        self.infos[row] = NodeInfo("", row)

    def _set_columns(self, row: int, info: NodeInfo) -> None:
        self.resources.node_changed(row, info)
        for key, label in self._labels.items():
            label.set(row, info.labels.get(key))
        self.unschedulable[row] = info.node.spec.unschedulable
        taints = info.taints
        known = self._taint_set_of.get(taints)
        if known is None:
            known = self._taint_set_of[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        self.taint_set[row] = known
        self.images.set_node(row, info.node)

    def _grow(self) -> None:
        self.capacity *= 2
        self.alive = _grown(self.alive, self.capacity)
        self.unschedulable = _grown(self.unschedulable, self.capacity)
        self.taint_set = _grown(self.taint_set, self.capacity)
        self.resources.grow(self.capacity)
        for label in self._labels.values():
            label.grow(self.capacity)


def _grown(column: NDArray[S], capacity: int) -> NDArray[S]:
    larger = np.zeros(capacity, dtype=column.dtype)
    larger[: len(column)] = column
    return larger
