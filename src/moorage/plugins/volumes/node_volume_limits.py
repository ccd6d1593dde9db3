"""NodeVolumeLimits: a node attaches only so many volumes of a CSI driver."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.columns.table import Mask
from moorage.config.gates import VOLUME_LIMIT_SCALING
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.points import Verdicts
from moorage.framework.status import SKIP, Status, unschedulable
from moorage.objects import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    VolumeAttachment,
)
from moorage.plugins.volumes.attachable import Attachable, AttachableVolumes, NodeVolumes, may_attach
from moorage.plugins.volumes.claims import uses_claim, volumes_of_pod
from moorage.plugins.volumes.csi_migration import in_tree_plugin
from moorage.plugins.volumes.volume_columns import (
    UNCOUNTABLE,
    AtMostAttached,
    ExactlyAttached,
    LimitColumns,
    volume_limits,
)

TOO_MANY_VOLUMES = unschedulable("node(s) exceed max volume count")

_KEY = "PreFilterNodeVolumeLimits"


class Wanted(NamedTuple):
    """What the pod needs attached, on nodes with a CSINode and on those without."""

    with_csi_node: Attachable | Status
    without_csi_node: Attachable | Status


class NodeVolumeLimits:
    """Counts a node's volumes by driver against the limits its CSINode states; some drivers have to be there at all."""

    skips_alike = True
    reads = (CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment)

    def __init__(self, _args: object, handle: Handle) -> None:
        snapshot = handle.snapshot
        self._objects = snapshot.objects
        self._checks_presence = VOLUME_LIMIT_SCALING in handle.features
        self._volumes = AttachableVolumes(snapshot.objects)
        self._limits = LimitColumns(snapshot.nodes, snapshot.objects)
        self._at_most = AtMostAttached(snapshot.nodes, snapshot.objects)
        self._exactly = ExactlyAttached(snapshot.nodes, snapshot.objects)

    def pre_filter(self, state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """SKIP where the pod has nothing to attach."""
        volumes = pod.spec.volumes
        if not volumes or not any(map(may_attach, volumes)):
            return SKIP
        wanted = Wanted(
            self._volumes.wanted_by(pod, migrated=True),
            self._volumes.wanted_by(pod, migrated=False),
        )
        state.write(_KEY, wanted)
        return None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """What is attached and what comes new must stay within each driver's limit."""
        csi_node = self._objects.get(CSINode, node.name)
        wanted: Wanted = state.read(_KEY)
        new = wanted.without_csi_node if csi_node is None else wanted.with_csi_node
        if isinstance(new, Status):
            return new
        missing = self._missing_driver(new, csi_node)
        if missing is not None:
            return missing
        limits = volume_limits(csi_node)
        if not new or not limits:
            return None
        return _verdict(new, self._volumes.on_node(node), limits)

    def filter_nodes(self, state: CycleState, _pod: PodInfo, _nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows: only nodes that could be over a limit are counted exactly."""
        wanted: Wanted = state.read(_KEY)
        self._limits.refresh()
        has_csi_node = self._limits.has_csi_node[rows]
        codes = np.zeros(len(rows), dtype=np.intp)
        statuses: list[Status] = []
        for new, concerned in ((wanted.with_csi_node, has_csi_node), (wanted.without_csi_node, ~has_csi_node)):
            if isinstance(new, Status) and concerned.any():
                statuses.append(new)
                codes[concerned] = len(statuses)
            self._refuse_missing_drivers(new, concerned, rows, codes, statuses)
        if not isinstance(wanted.with_csi_node, Status) and wanted.with_csi_node:
            self._count_close_ones(wanted.with_csi_node, rows, codes, statuses)
        return Verdicts(codes, statuses)

    def events_to_register(self) -> Sequence[EventHint]:
        """Limits that rise, volumes that are let go of, and claims that appear."""
        return (
            on(Resource.CSI_NODE, Action.ADD),
            on(Resource.CSI_NODE, Action.UPDATE, _after_csi_node_updated, reads=volumes_of_pod),
            on(Resource.POD, Action.DELETE, _after_pod_deleted, reads=volumes_of_pod),
            on(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, _after_claim_added, reads=volumes_of_pod),
            on(Resource.VOLUME_ATTACHMENT, Action.DELETE, _after_attachment_deleted, reads=volumes_of_pod),
        )

    def _required_drivers(self, wanted: Attachable | Status) -> list[str]:
        """The drivers among these that a node must have for the pod to go there."""
        if not self._checks_presence or isinstance(wanted, Status):
            return []
        drivers = {name: self._objects.get(CSIDriver, name) for name in wanted.values()}
        return [name for name, one in drivers.items() if one and one.spec.prevent_pod_scheduling_if_missing]

    def _missing_driver(self, wanted: Attachable, csi_node: CSINode | None) -> Status | None:
        installed = {driver.name for driver in csi_node.spec.drivers} if csi_node is not None else set()
        missing = (name for name in self._required_drivers(wanted) if name not in installed)
        return next(map(_not_installed, missing), None)

    def _refuse_missing_drivers(
        self, new: Attachable | Status, concerned: Mask, rows: Rows, codes: Rows, statuses: list[Status]
    ) -> None:
        for driver in self._required_drivers(new):
            lacking = concerned & (codes == 0) & ~self._limits.has_driver(driver)[rows]
            if lacking.any():
                statuses.append(_not_installed(driver))
                codes[lacking] = len(statuses)

    def _count_close_ones(self, wanted: Attachable, rows: Rows, codes: Rows, statuses: list[Status]) -> None:
        self._exactly.refresh()
        for at in np.flatnonzero(self._close_to_limit(wanted, rows) & (codes == 0)).tolist():
            row = int(rows[at])
            status = _verdict(wanted, self._exactly.of(row), self._limits.of_row(row))
            if status is not None:
                if status not in statuses:
                    statuses.append(status)
                codes[at] = statuses.index(status) + 1

    def _close_to_limit(self, wanted: Attachable, rows: Rows) -> Mask:
        """Rows that might be over a limit; all others are not."""
        at_most = self._at_most.column()[rows]
        close: Mask = (at_most >= UNCOUNTABLE) & self._limits.is_limited[rows]
        for driver, count in Counter(wanted.values()).items():
            limits = self._limits.of_driver(driver)
            if limits is not None:
                close |= at_most + count > limits[rows]
        return close


def _not_installed(driver: str) -> Status:
    return unschedulable(f"{driver} CSI driver is not installed on the node")


def _verdict(wanted: Attachable, there: NodeVolumes | Status, limits: Mapping[str, int]) -> Status | None:
    if isinstance(there, Status):
        return there
    for driver, count in there.count_new(wanted).items():
        if driver in limits and there.attached[driver] + count > limits[driver]:
            return TOO_MANY_VOLUMES
    return None


def _after_csi_node_updated(_pod: PodInfo, before: CSINode, after: CSINode) -> Hint:
    old = volume_limits(before)
    risen = any(limit > old.get(driver, 0) for driver, limit in volume_limits(after).items())
    return Hint.QUEUE if risen else Hint.SKIP


def _after_pod_deleted(_pod: PodInfo, before: Pod, _after: None) -> Hint:
    placed = before.spec.node_name or before.status.nominated_node_name
    return Hint.QUEUE if placed and any(map(may_attach, before.spec.volumes)) else Hint.SKIP


def _after_claim_added(pod: PodInfo, _before: None, after: PersistentVolumeClaim) -> Hint:
    return Hint.QUEUE if uses_claim(pod, after) else Hint.SKIP


def _after_attachment_deleted(pod: PodInfo, before: VolumeAttachment, _after: None) -> Hint:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return Hint.QUEUE
        plugin = in_tree_plugin(volume)
        if plugin is not None and plugin.driver == before.spec.attacher:
            return Hint.QUEUE
    return Hint.SKIP
