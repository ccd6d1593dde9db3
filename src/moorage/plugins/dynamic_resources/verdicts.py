"""Verdicts on claims, kept by node: claims that ask for the same get the same answer until a node's devices change."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, Rows, Snapshot
from moorage.framework.status import Code, Status
from moorage.objects import DeviceClass, ResourceClaim

#: How many cells (nodes times lists of claims) are kept before the list used longest ago goes.
MOST_CELLS = 4_000_000

#: (verdict, score) of one node.
Ask = Callable[[Sequence[ResourceClaim], NodeInfo], tuple[Status | None, int]]


class Broken(Exception):
    """A node's answer is an error: the attempt ends with it."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class ClaimColumn:
    """What is kept for one list of claims."""

    __slots__ = ("capacity", "codes", "devices_read", "known", "nodes_read", "scores", "statuses")

    def __init__(self) -> None:
        self.capacity = 0
        self.nodes_read = 0
        self.devices_read = 0
        #: Rows whose answer is there, and still true.
        self.known: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.codes: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.scores: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        #: Code -> status, from 1 on.
        self.statuses: list[Status] = []


class KeptVerdicts:
    """The columns of the lists of claims in use."""

    def __init__(self, snapshot: Snapshot, ask: Ask) -> None:
        self._snapshot = snapshot
        self._ask = ask
        self._columns: OrderedDict[tuple[bytes, ...], ClaimColumn] = OrderedDict()
        self._classes = -1

    def of(self, claims: Sequence[ResourceClaim], rows: Rows) -> ClaimColumn:
        """The column of these claims, up to date for these rows: others are not asked. Raises Broken."""
        version = self._snapshot.objects.version(DeviceClass)
        if version != self._classes:
            self._columns.clear()
            self._classes = version
        key = tuple(msgspec.json.encode(claim.spec) for claim in claims)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = ClaimColumn()
        self._columns.move_to_end(key)
        self._forget_stale(column)
        for row in rows[~column.known[rows]].tolist():
            status, score = self._ask(claims, self._snapshot.nodes.infos[row])
            if status is not None and status.code is Code.ERROR:
                # It names the claim it is about: nothing to keep.
                raise Broken(status)
            column.codes[row] = _code(column.statuses, status)
            column.scores[row] = score
            column.known[row] = True
        while len(self._columns) > max(8, MOST_CELLS // column.capacity):
            self._columns.popitem(last=False)
        return column

    def _forget_stale(self, column: ClaimColumn) -> None:
        """Forget the rows whose devices or nodes changed: all, where the logs do not say which."""
        nodes, log = self._snapshot.nodes, self._snapshot.inventory.touched
        touched, changed = log.since(column.devices_read), nodes.node_changes.since(column.nodes_read)
        if column.capacity != nodes.capacity or touched is None or changed is None or None in touched:
            column.capacity = nodes.capacity
            column.known = np.zeros(nodes.capacity, dtype=bool)
            column.codes = np.zeros(nodes.capacity, dtype=np.intp)
            column.scores = np.zeros(nodes.capacity, dtype=np.int64)
        else:
            column.known[changed] = False
            for name in set(touched):
                row = nodes.row_of.get(name or "")
                if row is not None:
                    column.known[row] = False
        column.nodes_read, column.devices_read = nodes.node_changes.position, log.position


def _code(statuses: list[Status], status: Status | None) -> int:
    if status is None:
        return 0
    if status not in statuses:
        statuses.append(status)
    return statuses.index(status) + 1
