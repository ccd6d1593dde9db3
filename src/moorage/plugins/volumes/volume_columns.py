"""Columns for NodeVolumeLimits: what nodes can attach, and at most how much they have attached.

Exact counts need every claim and volume of every pod on a node. The columns here answer the common case, a node far
from its limits, without any of that.
"""

import numpy as np

from moorage.columns import NodeTable, ObjectStore, PodInfo
from moorage.columns.resources import Column
from moorage.columns.table import Mask
from moorage.objects import CSINode, VolumeAttachment
from moorage.plugins.volumes.attachable import may_attach, node_of

NO_LIMIT = np.iinfo(np.int64).max
#: Counted for pods whose volumes can only be judged one by one; more than any real number of volumes.
UNCOUNTABLE = 1 << 40


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """How many volumes of each driver a node takes. Drivers that state no limit are left out."""
    if csi_node is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


class LimitColumns:
    """By row: whether the node has a CSINode, whether that states any limit, and the limit of each driver."""

    def __init__(self, nodes: NodeTable, objects: ObjectStore) -> None:
        self._nodes = nodes
        self._objects = objects
        self._made_at: tuple[int, int] | None = None
        self.has_csi_node: Mask = np.zeros(0, dtype=bool)
        self.is_limited: Mask = np.zeros(0, dtype=bool)
        self._by_driver: dict[str, Column] = {}

    def refresh(self) -> None:
        """Bring the columns up to date. Call it before reading them."""
        made_at = (self._objects.version(CSINode), self._nodes.topology_version)
        if made_at == self._made_at:
            return
        self._made_at = made_at
        capacity = self._nodes.capacity
        self.has_csi_node = np.zeros(capacity, dtype=bool)
        self.is_limited = np.zeros(capacity, dtype=bool)
        self._by_driver = {}
        for csi_node in self._objects.each(CSINode):
            row = self._nodes.row_of.get(csi_node.metadata.name)
            if row is not None:
                self._take(row, csi_node)

    def of_driver(self, driver: str) -> Column | None:
        """The limits of a driver by row, None where no node limits it."""
        return self._by_driver.get(driver)

    def _take(self, row: int, csi_node: CSINode) -> None:
        limits = volume_limits(csi_node)
        self.has_csi_node[row] = True
        self.is_limited[row] = bool(limits)
        for driver, limit in limits.items():
            column = self._by_driver.get(driver)
            if column is None:
                column = self._by_driver[driver] = np.full(self._nodes.capacity, NO_LIMIT, dtype=np.int64)
            column[row] = limit


class AtMostAttached:
    """By row, an upper bound of the volumes attached: one for each claim of each pod and each VolumeAttachment."""

    def __init__(self, nodes: NodeTable, objects: ObjectStore) -> None:
        self._nodes = nodes
        self._objects = objects
        self._of_pods: Column = np.zeros(0, dtype=np.int64)
        self._read_to = -1
        self._attached: Column = np.zeros(0, dtype=np.int64)
        self._attached_at: tuple[int, int] | None = None

    def column(self) -> Column:
        """The bound as it is now."""
        return self._pod_volumes() + self._attachments()

    def _pod_volumes(self) -> Column:
        nodes = self._nodes
        changes = nodes.pod_changes.since(self._read_to) if self._read_to >= 0 else None
        self._read_to = nodes.pod_changes.position
        if changes is None:
            self._of_pods = np.zeros(nodes.capacity, dtype=np.int64)
            for info in nodes.infos:
                self._of_pods[info.row] = sum(map(_most_volumes, info.pods.values()))
            return self._of_pods
        if len(self._of_pods) < nodes.capacity:
            self._of_pods = np.pad(self._of_pods, (0, nodes.capacity - len(self._of_pods)))
        for row, pod, delta in changes:
            if pod.spec.volumes:
                self._of_pods[row] += delta * _most_volumes(pod)
        return self._of_pods

    def _attachments(self) -> Column:
        made_at = (self._objects.version(VolumeAttachment), self._nodes.topology_version)
        if made_at != self._attached_at or len(self._attached) != self._nodes.capacity:
            self._attached_at = made_at
            self._attached = np.zeros(self._nodes.capacity, dtype=np.int64)
            for node_name, attachments in self._objects.by(VolumeAttachment, node_of).items():
                row = self._nodes.row_of.get(node_name)
                if row is not None:
                    self._attached[row] = len(attachments)
        return self._attached


def _most_volumes(pod: PodInfo) -> int:
    """At most so many volumes come with a pod. Where looking closer could be an error, somebody has to look closer."""
    most = 0
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        if source is not None and source.claim_name:
            most += 1
        elif may_attach(volume):
            return UNCOUNTABLE
    return most
