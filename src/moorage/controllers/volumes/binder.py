"""Binding: claims to volumes and volumes to claims, and what both sides are told of each other."""

from collections.abc import Mapping
from typing import Any

from moorage.controllers.objects.volumes import (
    AVAILABLE,
    BIND_COMPLETED,
    BOUND,
    BOUND_BY_CONTROLLER,
    DEFAULT_CLASS,
    LOST,
    NO_PROVISIONER,
    PENDING,
    RELEASED,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.volumes.matching import best_volume, is_free, is_reserved_for, reserved_volume, satisfies
from moorage.kube.errors import NotFound
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING

Json = dict[str, Any]

_CLAIM, _VOLUME = "claim", "volume"
_CLAIMS = resource_of("PersistentVolumeClaim")

Key = tuple[str, str, str]
"""What it is, its namespace, its name."""


class VolumeBinder(Controller):
    """Binds claims to volumes: to those reserved for them, to the best that exist, or to those made for them."""

    name = "persistentvolume-binder"
    workers = 1
    """One after another, so that no two claims choose the same volume."""

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._claims = cluster.informers.watch(PersistentVolumeClaim, self._claim_changed)
        self._volumes = cluster.informers.watch(PersistentVolume, self._volume_changed)
        self._classes = cluster.informers.watch(StorageClass, self._class_changed)
        self._by_claim = cluster.informers.index(PersistentVolume, _claims_of)
        self._by_class = cluster.informers.index(PersistentVolume, _class_of)

    def _claim_changed(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        claim = new if new is not None else old
        if claim is None:
            return
        self.queue.add((_CLAIM, *key_of(claim)))
        if claim.spec.volume_name:
            self.queue.add((_VOLUME, "", claim.spec.volume_name))

    def _volume_changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        volume = new if new is not None else old
        if volume is None:
            return
        self.queue.add((_VOLUME, *key_of(volume)))
        reference = volume.spec.claim_ref
        if reference is not None:
            self.queue.add((_CLAIM, reference.namespace, reference.name))
        elif new is not None and is_free(new):
            self._wake_pending(new.class_name)

    def _class_changed(self, _old: StorageClass | None, new: StorageClass | None) -> None:
        if new is not None:
            self._wake_pending(new.metadata.name)
            self._wake_pending("")

    def _wake_pending(self, class_name: str) -> None:
        for claim in self._claims:
            if not claim.spec.volume_name and claim.class_name == class_name:
                self.queue.add((_CLAIM, *key_of(claim)))

    async def sync(self, key: Key) -> float | None:
        """Bring one claim or one volume up to date."""
        kind, namespace, name = key
        if kind == _CLAIM:
            claim = self._claims.get(name, namespace)
            if claim is not None:
                await self._sync_claim(claim)
        else:
            volume = self._volumes.get(name)
            if volume is not None and not volume.metadata.is_terminating:
                await self._sync_volume(volume)
        return None

    async def _sync_claim(self, claim: PersistentVolumeClaim) -> None:
        if BIND_COMPLETED in claim.metadata.annotations:
            await self._check_bound(claim)
        elif claim.metadata.is_terminating:
            return
        elif claim.spec.volume_name:
            await self._bind_named(claim)
        else:
            await self._find_volume(claim)

    async def _check_bound(self, claim: PersistentVolumeClaim) -> None:
        """A claim that has been bound has its volume, or has lost it for ever."""
        volume = self._volumes.get(claim.spec.volume_name)
        if volume is None and claim.spec.volume_name and await self._volume_exists(claim.spec.volume_name):
            return
        if volume is not None and (volume.spec.claim_ref is None or is_reserved_for(volume, claim)):
            await self._bind(volume, claim)
        elif claim.status.phase != LOST:
            await self.cluster.writer.patch_status(claim, {"phase": LOST})
            note = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self.record(claim, "ClaimLost", note, action="Binding", event_type=WARNING)

    async def _bind_named(self, claim: PersistentVolumeClaim) -> None:
        """The user has said which volume: it is that one, or none until that one is free."""
        volume = self._volumes.get(claim.spec.volume_name)
        if volume is not None and (is_reserved_for(volume, claim) or (is_free(volume) and satisfies(volume, claim))):
            await self._bind(volume, claim)
        else:
            await self._set_phase(claim, PENDING)

    async def _find_volume(self, claim: PersistentVolumeClaim) -> None:
        if claim.spec.storage_class_name is None and await self._set_default_class(claim):
            return
        storage_class = self._classes.get(claim.class_name) if claim.class_name else None
        waits = storage_class is not None and storage_class.waits_for_consumer
        is_placed = SELECTED_NODE in claim.metadata.annotations
        volume = reserved_volume(self._by_claim[claim.key], claim)
        if volume is None and not waits:
            # Where claims wait for a node, the scheduler decides: it reserves a volume, or has one made.
            volume = best_volume(self._by_class[claim.class_name], claim)
        if volume is not None:
            await self._bind(volume, claim)
            return
        if waits and not is_placed:
            note = "waiting for first consumer to be created before binding"
            self.record(claim, "WaitForFirstConsumer", note, action="Binding")
        elif storage_class is not None and storage_class.provisioner != NO_PROVISIONER:
            await self._ask_provisioner(claim, storage_class)
        else:
            note = "no persistent volumes available for this claim and no storage class is set"
            self.record(claim, "FailedBinding", note, action="Binding")
        await self._set_phase(claim, PENDING)

    async def _set_default_class(self, claim: PersistentVolumeClaim) -> bool:
        """A claim made before there was a default class gets it now."""
        marked = [each for each in self._classes if each.metadata.annotations.get(DEFAULT_CLASS) == "true"]
        if not marked or claim.class_name:
            return False
        newest = max(marked, key=lambda each: (each.metadata.creation_timestamp, each.metadata.name))
        patch = {"spec": {"storageClassName": newest.metadata.name}}
        await self.cluster.writer.patch(claim, patch, is_guarded=True)
        return True

    async def _ask_provisioner(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> None:
        if claim.metadata.annotations.get(STORAGE_PROVISIONER) != storage_class.provisioner:
            await self._annotate(claim, {STORAGE_PROVISIONER: storage_class.provisioner})
            note = f"Waiting for a volume to be created by the external provisioner '{storage_class.provisioner}'"
            self.record(claim, "ExternalProvisioning", note, action="Provisioning")

    async def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Tell the volume, then the claim; each step is left out where it was taken before."""
        meta = claim.metadata
        reference = volume.spec.claim_ref
        if reference is None or reference.uid != meta.uid:
            patch: Json = {"spec": {"claimRef": _reference(claim)}}
            if reference is None:
                patch["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
            await self.cluster.writer.patch(volume, patch, is_guarded=True)
        await self._set_phase(volume, BOUND)
        annotations = {BIND_COMPLETED: "yes"}
        if not claim.spec.volume_name:
            annotations[BOUND_BY_CONTROLLER] = "yes"
        if claim.spec.volume_name != volume.metadata.name or BIND_COMPLETED not in meta.annotations:
            spec = {"volumeName": volume.metadata.name}
            await self.cluster.writer.patch(claim, {"metadata": {"annotations": annotations}, "spec": spec})
        status = {
            "phase": BOUND,
            "accessModes": list(volume.spec.access_modes),
            "capacity": dict(volume.spec.capacity),
        }
        if claim.status.phase != BOUND or claim.status.capacity != volume.spec.capacity:
            await self.cluster.writer.patch_status(claim, status)

    async def _sync_volume(self, volume: PersistentVolume) -> None:
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            await self._set_phase(volume, AVAILABLE)
            return
        claim = self._claims.get(reference.name, reference.namespace)
        if claim is None and await self._claim_exists(reference.namespace, reference.name, reference.uid):
            return
        if claim is None or claim.metadata.uid != reference.uid:
            await self._set_phase(volume, RELEASED)
        elif claim.spec.volume_name == volume.metadata.name:
            await self._set_phase(volume, BOUND)
        elif claim.spec.volume_name and BOUND_BY_CONTROLLER in volume.metadata.annotations:
            # The claim has gone elsewhere: what a controller had reserved for it is free again.
            patch = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}}
            await self.cluster.writer.patch(volume, patch, is_guarded=True)

    async def _set_phase(self, item: PersistentVolume | PersistentVolumeClaim, phase: str) -> None:
        if item.status.phase != phase:
            await self.cluster.writer.patch_status(item, {"phase": phase})

    async def _annotate(self, claim: PersistentVolumeClaim, annotations: Mapping[str, str]) -> None:
        await self.cluster.writer.patch(claim, {"metadata": {"annotations": dict(annotations)}})

    async def _claim_exists(self, namespace: str, name: str, uid: str) -> bool:
        try:
            found = await self.cluster.writer.get(_CLAIMS, name, namespace)
        except NotFound:
            return False
        return bool(found["metadata"]["uid"] == uid)

    async def _volume_exists(self, name: str) -> bool:
        try:
            await self.cluster.writer.get(resource_of(PersistentVolume.KIND), name)
        except NotFound:
            return False
        return True


def _claims_of(volume: PersistentVolume) -> tuple[str, ...]:
    reference = volume.spec.claim_ref
    return (f"{reference.namespace}/{reference.name}",) if reference is not None else ()


def _class_of(volume: PersistentVolume) -> tuple[str, ...]:
    return (volume.class_name,)


def _reference(claim: PersistentVolumeClaim) -> Json:
    meta = claim.metadata
    return {
        "apiVersion": claim.API_VERSION,
        "kind": claim.KIND,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
