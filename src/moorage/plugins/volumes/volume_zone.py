"""VolumeZone: volumes that say by their labels which zones and regions they can be reached from."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.columns.labels import ABSENT
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.points import Verdicts
from moorage.framework.status import SKIP, Status, unresolvable
from moorage.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.plugins.volumes.claims import WAIT_FOR_FIRST_CONSUMER, class_of_claim, not_found, volumes_of_pod
from moorage.plugins.volumes.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_SEPARATOR
from moorage.plugins.volumes.label_rows import rows_with_value

ZONE_CONFLICT = unresolvable("node(s) had no available volume zone")

_KEY = "PreFilterVolumeZone"
#: Labels that place a volume or a node, each with the label of a node that may stand in for it.
_TOPOLOGY_LABELS = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}


class Reach(NamedTuple):
    """A label of a volume and the values from which it can be reached."""

    key: str
    values: frozenset[str]


class VolumeZone:
    """Keeps pods near their bound volumes. Claims of ephemeral volumes are left to VolumeBinding."""

    skips_alike = True
    reads = (PersistentVolume, PersistentVolumeClaim, StorageClass)

    def __init__(self, _args: object, handle: Handle) -> None:
        self._objects = handle.snapshot.objects

    def pre_filter(self, state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """SKIP where no bound volume of the pod says where it is."""
        if not pod.spec.volumes:
            return SKIP
        reaches: list[Reach] = []
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                found = self._reaches_of(pod.namespace, volume.persistent_volume_claim.claim_name)
                if isinstance(found, Status):
                    return found
                reaches += found
        if not reaches:
            return SKIP
        state.write(_KEY, tuple(reaches))
        return None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """A node that says where it is must be where the volumes are."""
        labels = node.labels
        if not any(key in labels for key in _TOPOLOGY_LABELS):
            return None
        reaches: tuple[Reach, ...] = state.read(_KEY)
        for key, values in reaches:
            value = labels.get(key)
            if value is None:
                value = labels.get(_TOPOLOGY_LABELS[key])
            if value is None or value not in values:
                return ZONE_CONFLICT
        return None

    def filter_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows, label by label."""
        placed = np.zeros(len(rows), dtype=bool)
        for key in _TOPOLOGY_LABELS:
            placed |= nodes.label(key).ids[rows] != ABSENT
        near = np.ones(len(rows), dtype=bool)
        reaches: tuple[Reach, ...] = state.read(_KEY)
        for key, values in reaches:
            here = rows_with_value(nodes, rows, key, values)
            stand_in = _TOPOLOGY_LABELS[key]
            if stand_in != key:
                silent = nodes.label(key).ids[rows] == ABSENT
                here |= silent & rows_with_value(nodes, rows, stand_in, values)
            near &= here
        return Verdicts((placed & ~near).astype(np.intp), (ZONE_CONFLICT,))

    def events_to_register(self) -> Sequence[EventHint]:
        """Whatever may bind a claim, move a volume or bring a node."""
        return (
            on(Resource.STORAGE_CLASS, Action.ADD, _after_class_added, reads=volumes_of_pod),
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            on(
                Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, _after_claim_changed, reads=volumes_of_pod
            ),
            on(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, _after_volume_changed, reads=volumes_of_pod),
        )

    def _reaches_of(self, namespace: str, claim_name: str) -> tuple[Reach, ...] | Status:
        """Where the claim's volume can be reached from; a rejection where that cannot be known yet."""
        if not claim_name:
            return unresolvable("PersistentVolumeClaim had no name")
        claim = self._objects.get(PersistentVolumeClaim, f"{namespace}/{claim_name}")
        if claim is None:
            return unresolvable(not_found("persistentvolumeclaim", claim_name))
        if not claim.spec.volume_name:
            return self._unbound(claim)
        volume = self._objects.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            return unresolvable(not_found("persistentvolume", claim.spec.volume_name))
        return reaches(volume)

    def _unbound(self, claim: PersistentVolumeClaim) -> tuple[Reach, ...] | Status:
        """A claim without a volume is no concern of ours only if it is to be bound once the pod has a node."""
        name = class_of_claim(claim)
        if not name:
            return unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self._objects.get(StorageClass, name)
        if storage_class is None:
            return unresolvable(not_found("storageclass.storage.k8s.io", name))
        if storage_class.volume_binding_mode is None:
            return unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"')
        if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return ()
        return unresolvable("PersistentVolume had no name")


def reaches(volume: PersistentVolume) -> tuple[Reach, ...]:
    """The volume's zone and region labels. A label with an empty value in its list says nothing."""
    found = []
    for key in _TOPOLOGY_LABELS:
        label = volume.metadata.labels.get(key)
        if label is not None:
            values = frozenset(value.strip() for value in label.split(ZONE_SEPARATOR))
            if "" not in values:
                found.append(Reach(key, values))
    return tuple(found)


def _after_class_added(_pod: PodInfo, _before: None, after: StorageClass) -> Hint:
    return Hint.QUEUE if after.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else Hint.SKIP


def _after_claim_changed(pod: PodInfo, _before: PersistentVolumeClaim | None, after: PersistentVolumeClaim) -> Hint:
    if after.metadata.namespace != pod.namespace:
        return Hint.SKIP
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    used = any(source is not None and source.claim_name == after.metadata.name for source in sources)
    return Hint.QUEUE if used else Hint.SKIP


def _after_volume_changed(_pod: PodInfo, before: PersistentVolume | None, after: PersistentVolume) -> Hint:
    if before is None or reaches(before) != reaches(after):
        return Hint.QUEUE
    return Hint.SKIP
