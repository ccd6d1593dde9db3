"""Columns for NodeVolumeLimits: what nodes can attach, at most how much they have attached, and how much exactly.

Exact counts need every claim and volume of every pod on a node. The upper bound answers the common case, a node far
from its limits, without any of that; where it does not, exact counts are kept for as long as they hold.
"""

import numpy as np

from moorage.columns import NodeTable, ObjectStore, PodInfo
from moorage.columns.resources import Column
from moorage.columns.table import Mask
from moorage.framework.status import Status
from moorage.objects import (
    CSINode,
    KubeObject,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.plugins.volumes.attachable import AttachableVolumes, NodeVolumes, may_attach, node_of

NO_LIMIT = np.iinfo(np.int64).max
#: Counted for pods whose volumes can only be judged one by one; more than any real number of volumes.
UNCOUNTABLE = 1 << 40

#: The kinds of objects, besides pods, that tell what is attached where.
_TELLING: tuple[type[KubeObject], ...] = (PersistentVolumeClaim, PersistentVolume, StorageClass, VolumeAttachment)


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
        self._has_driver: dict[str, Mask] = {}
        self._by_row: dict[int, dict[str, int]] = {}

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
        self._has_driver = {}
        self._by_row = {}
        for csi_node in self._objects.each(CSINode):
            row = self._nodes.row_of.get(csi_node.metadata.name)
            if row is not None:
                self._take(row, csi_node)

    def of_driver(self, driver: str) -> Column | None:
        """The limits of a driver by row, None where no node limits it."""
        return self._by_driver.get(driver)

    def has_driver(self, driver: str) -> Mask:
        """By row, whether the driver is installed."""
        known = self._has_driver.get(driver)
        return known if known is not None else np.zeros(self._nodes.capacity, dtype=bool)

    def of_row(self, row: int) -> dict[str, int]:
        """The limits of a row by driver."""
        return self._by_row.get(row, {})

    def _take(self, row: int, csi_node: CSINode) -> None:
        limits = self._by_row[row] = volume_limits(csi_node)
        self.has_csi_node[row] = True
        self.is_limited[row] = bool(limits)
        for each in csi_node.spec.drivers:
            if each.name not in self._has_driver:
                self._has_driver[each.name] = np.zeros(self._nodes.capacity, dtype=bool)
            self._has_driver[each.name][row] = True
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


class ExactlyAttached:
    """By row, what is attached: counted on first use, kept until a pod there or any object that tells changes."""

    def __init__(self, nodes: NodeTable, objects: ObjectStore) -> None:
        self._nodes = nodes
        self._objects = objects
        self._volumes = AttachableVolumes(objects)
        self._counted: dict[int, NodeVolumes | Status] = {}
        self._counted_at: tuple[int, ...] = ()
        self._read_to = 0

    def refresh(self) -> None:
        """Forget what no longer holds. Call it before reading."""
        changes = self._nodes.pod_changes.since(self._read_to)
        self._read_to = self._nodes.pod_changes.position
        made_at = (self._nodes.topology_version, *(self._objects.version(kind) for kind in _TELLING))
        if changes is None or made_at != self._counted_at:
            self._counted = {}
            self._counted_at = made_at
            return
        for change in changes:
            self._counted.pop(change.row, None)

    def of(self, row: int) -> NodeVolumes | Status:
        """What is attached to a row's node, or why that cannot be told."""
        known = self._counted.get(row)
        if known is None:
            known = self._counted[row] = self._volumes.on_node(self._nodes.infos[row])
        return known


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
