"""VolumeRestrictions: disks that two pods cannot share on a node, claims that one pod alone may use."""

from collections.abc import Iterable, Sequence

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.points import Verdicts
from moorage.framework.status import SKIP, Status, unresolvable, unschedulable
from moorage.objects import (
    AwsElasticBlockStore,
    GcePersistentDisk,
    IscsiVolume,
    PersistentVolumeClaim,
    Pod,
    RbdVolume,
    Volume,
)
from moorage.plugins.volumes.claims import not_found, volumes_of_pod

DISK_CONFLICT = unschedulable("node(s) had no available disk")
CLAIM_IN_USE = unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

_KEY = "PreFilterVolumeRestrictions"
_READ_WRITE_ONCE_POD = "ReadWriteOncePod"


class Restrictions:
    """What restricts a pod: its disks, its claims for one pod alone, and how often others use those claims."""

    __slots__ = ("conflicts", "disks", "exclusive_claims")

    def __init__(self, disks: tuple[Volume, ...], exclusive_claims: frozenset[str], conflicts: int) -> None:
        self.disks = disks
        self.exclusive_claims = exclusive_claims
        self.conflicts = conflicts

    def clone(self) -> "Restrictions":
        """A copy for a dry run."""
        return Restrictions(self.disks, self.exclusive_claims, self.conflicts)

    def count(self, other: PodInfo, sign: int) -> None:
        """Add or drop another pod's uses of the claims. Claims are compared by name alone, as in kube-scheduler."""
        self.conflicts += sign * sum(name in self.exclusive_claims for name in _claim_names(other.spec.volumes))


class VolumeRestrictions:
    """Keeps pods off nodes where their disks are taken, and off all nodes while their ReadWriteOncePod claims are."""

    skips_alike = True
    reads = (PersistentVolumeClaim,)

    def __init__(self, _args: object, handle: Handle) -> None:
        self._objects = handle.snapshot.objects

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Status | None:
        """SKIP where nothing restricts the pod."""
        volumes = pod.spec.volumes
        if not volumes:
            return SKIP
        exclusive = set()
        for name in _claim_names(volumes):
            claim = self._objects.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
            if claim is None:
                return unresolvable(not_found("persistentvolumeclaim", name))
            if _READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(name)
        disks = tuple(volume for volume in volumes if _is_restricted_disk(volume))
        conflicts = sum(nodes.is_claim_used(f"{pod.namespace}/{name}") for name in exclusive)
        if not disks and not conflicts:
            return SKIP
        state.write(_KEY, Restrictions(disks, frozenset(exclusive), conflicts))
        return None

    def add_pod(self, state: CycleState, _pod: PodInfo, added: PodInfo, _node: NodeInfo) -> None:
        """Count the claims of a pod that a dry run adds."""
        _restrictions(state).count(added, 1)

    def remove_pod(self, state: CycleState, _pod: PodInfo, removed: PodInfo, _node: NodeInfo) -> None:
        """Stop counting the claims of a pod that a dry run removes."""
        _restrictions(state).count(removed, -1)

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """No disk of the pod may be in use on the node, no exclusive claim anywhere."""
        restrictions = _restrictions(state)
        if _disk_taken(restrictions.disks, node):
            return DISK_CONFLICT
        return CLAIM_IN_USE if restrictions.conflicts > 0 else None

    def filter_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows; only disks need a look at each."""
        restrictions = _restrictions(state)
        codes = np.full(len(rows), 2 if restrictions.conflicts > 0 else 0, dtype=np.intp)
        if restrictions.disks:
            taken = [_disk_taken(restrictions.disks, nodes.infos[row]) for row in rows.tolist()]
            codes[np.array(taken, dtype=bool)] = 1
        return Verdicts(codes, (DISK_CONFLICT, CLAIM_IN_USE))

    def events_to_register(self) -> Sequence[EventHint]:
        """Pods that leave, new nodes, and claims that appear."""
        return (
            on(Resource.POD, Action.DELETE, _after_pod_deleted, reads=volumes_of_pod),
            on(Resource.NODE, Action.ADD),
            on(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, _after_claim_added, reads=volumes_of_pod),
        )


def _restrictions(state: CycleState) -> Restrictions:
    found: Restrictions = state.read(_KEY)
    return found


def _claim_names(volumes: Iterable[Volume]) -> Iterable[str]:
    return (one.persistent_volume_claim.claim_name for one in volumes if one.persistent_volume_claim is not None)


def _is_restricted_disk(volume: Volume) -> bool:
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    )


def _disk_taken(disks: tuple[Volume, ...], node: NodeInfo) -> bool:
    return bool(disks) and any(
        _conflict(disk, other) for existing in node.pods.values() for other in existing.spec.volumes for disk in disks
    )


def _conflict(disk: Volume, other: Volume) -> bool:
    """Whether two volumes are the same disk and the two pods cannot share it."""
    return (
        _gce_conflict(disk.gce_persistent_disk, other.gce_persistent_disk)
        or _ebs_conflict(disk.aws_elastic_block_store, other.aws_elastic_block_store)
        or _iscsi_conflict(disk.iscsi, other.iscsi)
        or _rbd_conflict(disk.rbd, other.rbd)
    )


def _gce_conflict(disk: GcePersistentDisk | None, other: GcePersistentDisk | None) -> bool:
    if disk is None or other is None:
        return False
    return disk.pd_name == other.pd_name and not (disk.read_only and other.read_only)


def _ebs_conflict(disk: AwsElasticBlockStore | None, other: AwsElasticBlockStore | None) -> bool:
    """Amazon disks are never shared, not even for reading."""
    return disk is not None and other is not None and disk.volume_id == other.volume_id


def _iscsi_conflict(disk: IscsiVolume | None, other: IscsiVolume | None) -> bool:
    if disk is None or other is None:
        return False
    return disk.iqn == other.iqn and not (disk.read_only and other.read_only)


def _rbd_conflict(disk: RbdVolume | None, other: RbdVolume | None) -> bool:
    if disk is None or other is None:
        return False
    is_same = disk.pool == other.pool and disk.image == other.image and set(disk.monitors) & set(other.monitors)
    return bool(is_same) and not (disk.read_only and other.read_only)


def _after_pod_deleted(pod: PodInfo, before: Pod, _after: None) -> Hint:
    if before.metadata.namespace != pod.namespace:
        return Hint.SKIP
    freed = before.spec.volumes
    if any(_conflict(disk, other) for disk in pod.spec.volumes for other in freed):
        return Hint.QUEUE
    wanted = set(_claim_names(pod.spec.volumes))
    return Hint.QUEUE if wanted.intersection(_claim_names(freed)) else Hint.SKIP


def _after_claim_added(pod: PodInfo, _before: None, after: PersistentVolumeClaim) -> Hint:
    meta = after.metadata
    used = meta.namespace == pod.namespace and meta.name in _claim_names(pod.spec.volumes)
    return Hint.QUEUE if used else Hint.SKIP
