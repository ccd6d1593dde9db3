"""Volumes that can be made where the pod goes: the class's topology and the driver's free capacity."""

from dataclasses import dataclass

import numpy as np

from moorage.columns import NodeTable, ObjectStore, Rows
from moorage.errors import InputError
from moorage.objects import CSIDriver, CSIStorageCapacity, StorageClass
from moorage.plugins.volumes.binding.claims import DelayedClaim, requested_size
from moorage.plugins.volumes.label_rows import RowMask, rows_meeting_any
from moorage.values.quantity import parse_quantity, whole
from moorage.values.selector import Labels, Requirement, Selector, compile_selector

#: The provisioner of classes whose volumes are all made by hand.
NO_PROVISIONER = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class Pool:
    """Storage a driver says it has, and the nodes that reach it."""

    published: CSIStorageCapacity
    reached_by: Selector


class Provisioning:
    """Where a claim's volume can be made, worked out once for all nodes."""

    def __init__(self, claim: DelayedClaim, objects: ObjectStore) -> None:
        provisioner = claim.storage_class.provisioner
        self.is_possible = provisioner not in ("", NO_PROVISIONER)
        #: None where the class allows all nodes, and where its driver does not publish its capacity.
        self._topologies = _topologies(claim.storage_class)
        self._pools = _pools(claim, objects) if self.is_possible else None

    def is_allowed(self, labels: Labels) -> bool:
        """Whether the class provisions for a node with these labels."""
        if not self.is_possible:
            return False
        if self._topologies is None:
            return True
        return any(all(item.matches(labels) for item in term) for term in self._topologies)

    def pool_for(self, labels: Labels) -> Pool | None:
        """The first pool with room for the claim that a node with these labels reaches."""
        return next((pool for pool in self._pools or () if pool.reached_by.matches(labels)), None)

    def has_room(self, labels: Labels) -> bool:
        """Whether there is free storage for the claim where a node with these labels is, as far as anybody tells."""
        return self._pools is None or self.pool_for(labels) is not None

    def rows_allowed(self, nodes: NodeTable, rows: Rows) -> RowMask:
        """`is_allowed` for many rows."""
        if not self.is_possible:
            return np.zeros(len(rows), dtype=bool)
        if self._topologies is None:
            return np.ones(len(rows), dtype=bool)
        return rows_meeting_any(nodes, rows, self._topologies)

    def rows_with_room(self, nodes: NodeTable, rows: Rows) -> RowMask:
        """`has_room` for many rows."""
        if self._pools is None:
            return np.ones(len(rows), dtype=bool)
        return rows_meeting_any(nodes, rows, (pool.reached_by.requirements for pool in self._pools))

    def rows_pool(self, nodes: NodeTable, rows: Rows) -> Rows:
        """For each row which pool `pool_for` would take, -1 for none."""
        found = np.full(len(rows), -1, dtype=np.intp)
        for index, pool in enumerate(self._pools or ()):
            left = found == -1
            if not left.any():
                break
            found[left & rows_meeting_any(nodes, rows, (pool.reached_by.requirements,))] = index
        return found

    def published(self, index: int) -> CSIStorageCapacity | None:
        """What the driver said of a pool that `rows_pool` named."""
        return self._pools[index].published if self._pools is not None and index >= 0 else None


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume that fits, in bytes; None where the driver does not say."""
    amount = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if amount is None else whole(parse_quantity(amount))


def class_of_capacity(capacity: CSIStorageCapacity) -> str:
    """The storage class a capacity is about."""
    return capacity.storage_class_name


def _topologies(storage_class: StorageClass) -> tuple[tuple[Requirement, ...], ...] | None:
    """allowedTopologies as alternatives. One without any expression allows nothing."""
    if not storage_class.allowed_topologies:
        return None
    return tuple(
        tuple(Requirement(item.key, "In", frozenset(item.values)) for item in term.match_label_expressions)
        for term in storage_class.allowed_topologies
        if term.match_label_expressions
    )


def _pools(claim: DelayedClaim, objects: ObjectStore) -> tuple[Pool, ...] | None:
    """The pools with room for the claim; None where capacity is not to be looked at."""
    size = requested_size(claim.claim)
    driver = objects.get(CSIDriver, claim.storage_class.provisioner)
    if size is None or driver is None or not driver.spec.storage_capacity:
        return None
    pools = []
    for capacity in objects.by(CSIStorageCapacity, class_of_capacity).get(claim.storage_class.metadata.name, ()):
        limit = volume_limit(capacity)
        reached_by = _reached_by(capacity)
        if limit is not None and limit >= whole(size) and reached_by is not None:
            pools.append(Pool(capacity, reached_by))
    return tuple(pools)


def _reached_by(capacity: CSIStorageCapacity) -> Selector | None:
    """The nodes that reach a pool. Without a topology, or with one that makes no sense, no node does."""
    if capacity.node_topology is None:
        return None
    try:
        return compile_selector(capacity.node_topology)
    except InputError:
        return None
