"""Topology domains: nodes divided by the value of a label."""

from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from moorage.columns.labels import ABSENT
from moorage.columns.selecting import matching_affinity, tolerated_rows
from moorage.columns.table import NodeTable, Rows
from moorage.objects import Toleration
from moorage.values.nodeselector import RequiredNodeAffinity


@dataclass(frozen=True)
class Topology:
    """What divides nodes into domains, and which nodes take part.

    A node takes part if it has the label `key` and all of `required_keys`, meets `node_affinity` (where given) and
    has no taint that `tolerations` (where given) leave out. With `absent_is_empty` a node without the label counts as
    one whose value is empty. Where the key is None every node is a domain of its own, and its row is the domain's id.
    """

    key: str | None
    required_keys: frozenset[str] = frozenset()
    node_affinity: RequiredNodeAffinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    absent_is_empty: bool = False


EACH_NODE = Topology(key=None)


class Domains:
    """A topology over the nodes as they are. Ids are those of the label column, all below `size`."""

    __slots__ = ("__weakref__", "ids", "of_row", "size")

    def __init__(self, of_row: Rows, size: int) -> None:
        #: The domain of each row, ABSENT where the node takes no part.
        self.of_row = of_row
        self.size = size
        #: The domains that have a node.
        self.ids: NDArray[np.intp] = np.flatnonzero(np.bincount(of_row[of_row >= 0], minlength=size))


class DomainIndex:
    """Divides nodes by topology, once for all who ask for the same one until nodes change."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._version = -1
        self._known: WeakValueDictionary[Topology, Domains] = WeakValueDictionary()

    def of(self, topology: Topology) -> Domains:
        """The domains as the nodes are now."""
        if self._version != self._nodes.topology_version:
            self._version = self._nodes.topology_version
            self._known.clear()
        domains = self._known.get(topology)
        if domains is None:
            domains = self._known[topology] = _divide(self._nodes, topology)
        return domains


def _divide(nodes: NodeTable, topology: Topology) -> Domains:
    of_row = np.full(nodes.capacity, ABSENT, dtype=np.intp)
    rows = _taking_part(nodes, topology)
    if topology.key is None:
        of_row[rows] = rows
        return Domains(of_row, nodes.capacity)
    column = nodes.label(topology.key)
    ids, size = column.ids[rows], len(column.values)
    if topology.absent_is_empty:
        empty = column.find("")
        if empty == ABSENT:
            empty, size = size, size + 1
        ids = np.where(ids == ABSENT, empty, ids)
    of_row[rows] = ids
    return Domains(of_row, size)


def _taking_part(nodes: NodeTable, topology: Topology) -> Rows:
    rows = nodes.rows
    mask = np.ones(len(rows), dtype=bool)
    for key in topology.required_keys:
        mask &= nodes.label(key).ids[rows] != ABSENT
    if topology.node_affinity is not None:
        mask &= matching_affinity(nodes, topology.node_affinity, rows)
    if topology.tolerations is not None:
        mask &= tolerated_rows(nodes, topology.tolerations, rows)
    taking_part: Rows = rows[mask]
    return taking_part
