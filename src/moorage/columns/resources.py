"""What nodes offer and what their pods take, in columns by resource."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.columns.nodes import NodeInfo
from moorage.columns.pods import PodInfo
from moorage.values.requests import PODS

Column = NDArray[np.int64]
S = TypeVar("S", bound=np.generic)


def read_only(column: NDArray[S]) -> NDArray[S]:
    """The same values, for those who may not change them."""
    shown = column.view()
    shown.flags.writeable = False
    return shown


class ColumnsByName:
    """Columns as they are written here, and as others read them."""

    __slots__ = ("read", "written")

    def __init__(self) -> None:
        self.written: dict[str, Column] = {}
        self.read: dict[str, Column] = {}

    def put(self, name: str, column: Column) -> Column:
        """Keep a column; answers what others may see of it."""
        self.written[name] = column
        shown = self.read[name] = read_only(column)
        return shown


class ResourceColumns:
    """Columns are made on first use and kept up to date from then on. Whole units, cpu in thousandths."""

    def __init__(self, infos: Sequence[NodeInfo], capacity: int) -> None:
        self._infos = infos
        self._capacity = capacity
        self._allocatable = ColumnsByName()
        self._requested = ColumnsByName()
        self._free = ColumnsByName()
        #: resource -> whether every node offers some of it, as long as no node changes.
        self._everywhere: dict[str, bool] = {}
        self.pod_count: Column = np.zeros(capacity, dtype=np.int64)
        #: The rows whose amounts are such that 64 bits may not hold their sums and scores.
        self.absurd: set[int] = set()
        #: Requests with the defaults for containers that ask for nothing.
        self.scored_cpu: Column = np.zeros(capacity, dtype=np.int64)
        self.scored_memory: Column = np.zeros(capacity, dtype=np.int64)

    def allocatable(self, resource: str) -> Column:
        """What nodes offer of a resource; of `pods`, how many they take."""
        column = self._allocatable.read.get(resource)
        if column is None:
            column = self._allocatable.put(resource, self._made([i.allocatable.get(resource, 0) for i in self._infos]))
        return column

    def is_everywhere(self, resource: str) -> bool:
        """Whether every row offers some of a resource: the usual case for cpu and memory. True is a promise."""
        known = self._everywhere.get(resource)
        if known is None:
            count = len(self._infos)
            known = self._everywhere[resource] = np.count_nonzero(self.allocatable(resource)[:count]) == count
        return known

    def requested(self, resource: str) -> Column:
        """What the pods on nodes take of a resource."""
        column = self._requested.read.get(resource)
        if column is None:
            column = self._requested.put(resource, self._made([i.requested.get(resource, 0) for i in self._infos]))
        return column

    def free(self, resource: str) -> Column:
        """What is left of a resource; of `pods`, how many more nodes take."""
        column = self._free.read.get(resource)
        if column is None:
            column = self._free.put(resource, self._made([info.free(resource) for info in self._infos]))
        return column

    def node_changed(self, row: int, info: NodeInfo) -> None:
        """Take over what the node offers now."""
        self._mark(row, info)
        self._everywhere.clear()
        for name, column in self._allocatable.written.items():
            column[row] = info.allocatable.get(name, 0)
        for name, column in self._free.written.items():
            column[row] = info.free(name)

    def pods_changed(self, row: int, info: NodeInfo, pod: PodInfo) -> None:
        """Take over what the pods on the node take now that this one came or went."""
        if not info.is_sane or self.absurd:
            self._mark(row, info)
        free, requested = self._free.written, self._requested.written
        for name in pod.request.amounts:
            if name in requested:
                requested[name][row] = info.requested[name]
            if name in free:
                free[name][row] = info.free(name)
        self.scored_cpu[row] = info.scored_cpu
        self.scored_memory[row] = info.scored_memory
        self.pod_count[row] = len(info.pods)
        if PODS in free:
            free[PODS][row] = info.free(PODS)

    def clear(self, row: int) -> None:
        """The row is nobody's any more."""
        self.absurd.discard(row)
        self._everywhere.clear()
        for columns in (self._allocatable, self._requested, self._free):
            for column in columns.written.values():
                column[row] = 0

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self._capacity = capacity
        for columns in (self._allocatable, self._requested, self._free):
            for name, column in list(columns.written.items()):
                columns.put(name, self._made(column))
        self.pod_count = self._made(self.pod_count)
        self.scored_cpu = self._made(self.scored_cpu)
        self.scored_memory = self._made(self.scored_memory)

    def _mark(self, row: int, info: NodeInfo) -> None:
        if info.is_sane:
            self.absurd.discard(row)
        else:
            self.absurd.add(row)

    def _made(self, values: Sequence[int] | Column) -> Column:
        column = np.zeros(self._capacity, dtype=np.int64)
        column[: len(values)] = values
        return column
