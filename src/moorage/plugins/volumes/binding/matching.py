"""Existing volumes for claims that wait for a node."""

import heapq
from collections.abc import Collection, Iterable, Iterator

from moorage.columns import ObjectStore
from moorage.objects import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.volumes.binding.affinity import NO_NAME, VolumeAffinities
from moorage.plugins.volumes.binding.claims import requested_size
from moorage.plugins.volumes.claims import class_of_claim, class_of_volume
from moorage.values.nodeselector import TermSelector
from moorage.values.quantity import parse_quantity
from moorage.values.selector import Labels, Selector, compile_selector

_FILESYSTEM = "Filesystem"


class Candidates:
    """The volumes a claim could be bound to, found once for all nodes, so that a node looks only at its own.

    Best first: the smallest that is large enough. A volume that is reserved for the claim goes before all others; where
    the node does not reach that one, no other will do.
    """

    def __init__(
        self, claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], affinities: VolumeAffinities
    ) -> None:
        self._reserved: list[tuple[PersistentVolume, TermSelector | None]] = []
        self._volumes: list[PersistentVolume] = []
        #: Ranks in `_volumes`: reached from everywhere; by one label's value; and by anything more complex.
        self._anywhere: list[int] = []
        self._by_label: dict[str, dict[str, list[int]]] = {}
        self._by_terms: list[tuple[int, TermSelector]] = []
        self._collect(claim, volumes, affinities)

    @property
    def is_empty(self) -> bool:
        """Whether no volume will do on any node."""
        return not self._reserved and not self._volumes

    def first(self, labels: Labels, taken: Collection[str]) -> PersistentVolume | None:
        """The best volume that a node with these labels reaches, leaving out those already taken by name."""
        for volume, affinity in self._reserved:
            if volume.metadata.name not in taken:
                return volume if affinity is None or affinity.matches(NO_NAME, labels) else None
        for rank in self._reached_from(labels):
            if self._volumes[rank].metadata.name not in taken:
                return self._volumes[rank]
        return None

    def _reached_from(self, labels: Labels) -> Iterator[int]:
        """Ranks of the volumes reached from a node, ascending (a rank may come twice)."""
        reached: list[Iterable[int]] = [self._anywhere] if self._anywhere else []
        for key, ranks_of in self._by_label.items():
            value = labels.get(key)
            if value is not None and value in ranks_of:
                reached.append(ranks_of[value])
        if self._by_terms:
            reached.append(rank for rank, affinity in self._by_terms if affinity.matches(NO_NAME, labels))
        return iter(reached[0]) if len(reached) == 1 else heapq.merge(*reached)

    def _collect(
        self, claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], affinities: VolumeAffinities
    ) -> None:
        wanted = requested_size(claim) or 0
        storage_class = class_of_claim(claim)
        selector = None if claim.spec.selector is None else compile_selector(claim.spec.selector)
        fitting: list[tuple[int, PersistentVolume]] = []
        for volume in volumes:
            capacity = _capacity(volume)
            if capacity < wanted or not _is_of_kind(volume, claim):
                continue
            if is_reserved_for(volume, claim):
                self._reserved.append((volume, affinities.of(volume)))
            elif volume.spec.claim_ref is None and _is_available(volume, claim, storage_class, selector):
                fitting.append((capacity, volume))
        fitting.sort(key=lambda pair: pair[0])
        self._volumes = [volume for _, volume in fitting]
        for rank, volume in enumerate(self._volumes):
            self._index(rank, affinities.of(volume))

    def _index(self, rank: int, affinity: TermSelector | None) -> None:
        if affinity is None:
            self._anywhere.append(rank)
            return
        for term in affinity.terms:
            if len(term.labels) != 1 or term.labels[0].operator != "In" or term.names:
                self._by_terms.append((rank, affinity))
                return
        for term in affinity.terms:
            ranks_of = self._by_label.setdefault(term.labels[0].key, {})
            for value in term.labels[0].values:
                ranks_of.setdefault(value, []).append(rank)


def candidates_for(claim: PersistentVolumeClaim, objects: ObjectStore, affinities: VolumeAffinities) -> Candidates:
    """The candidates among all volumes of the claim's class."""
    volumes = objects.by(PersistentVolume, class_of_volume).get(class_of_claim(claim), ())
    return Candidates(claim, volumes, affinities)


def is_reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume's claimRef points to this claim; a reference without uid does for any claim of the name."""
    reference = volume.spec.claim_ref
    if reference is None:
        return False
    meta = claim.metadata
    if reference.name != meta.name or reference.namespace != meta.namespace:
        return False
    return not reference.uid or reference.uid == meta.uid


def _capacity(volume: PersistentVolume) -> int:
    return parse_quantity(volume.spec.capacity.get("storage", 0))


def _is_of_kind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """What even a volume reserved for the claim must meet."""
    return (
        (volume.spec.volume_mode or _FILESYSTEM) == (claim.spec.volume_mode or _FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and not volume.metadata.deletion_timestamp
    )


def _is_available(
    volume: PersistentVolume, claim: PersistentVolumeClaim, storage_class: str, selector: Selector | None
) -> bool:
    return (
        volume.status.phase == "Available"
        and class_of_volume(volume) == storage_class
        and (selector is None or selector.matches(volume.metadata.labels))
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )
