"""Reservations written to the API server: volumes first, then claims."""

from typing import Any, Protocol

import msgspec

from moorage.columns import PodInfo
from moorage.errors import ApiError
from moorage.objects import KubeObject, PersistentVolume, PersistentVolumeClaim, decode
from moorage.plugins.volumes.binding.claims import SELECTED_NODE
from moorage.plugins.volumes.binding.finding import Binding
from moorage.plugins.volumes.binding.reservation import BOUND_BY_CONTROLLER, Reservation

MERGE_PATCH = "application/merge-patch+json"


class VolumeWriter(Protocol):
    """Who writes volumes and claims. Every method raises ApiError where the API server refuses."""

    async def update_pv(self, volume: PersistentVolume) -> PersistentVolume:
        """Write the volume's claimRef and annotation; its resourceVersion must be the API server's still."""

    async def update_pvc(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Write the claim's selected node; its resourceVersion must be the API server's still."""

    async def pod_exists(self, pod: PodInfo) -> bool:
        """Whether the pod is still there."""


class PatchingClient(Protocol):
    """The part of moorage.kube.Client that writing needs."""

    async def get(self, path: str) -> bytes:
        """Read an object."""

    async def patch(self, path: str, body: bytes, *, content_type: str) -> bytes:
        """Change an object; the answer is the object after."""


class ClientVolumeWriter:
    """Writes by merge patch: only the fields we decide on, the rest of the object is not ours to send."""

    def __init__(self, client: PatchingClient) -> None:
        self._client = client

    async def update_pv(self, volume: PersistentVolume) -> PersistentVolume:
        """Point the volume to its claim."""
        patch = _metadata_patch(volume, BOUND_BY_CONTROLLER)
        patch["spec"] = {"claimRef": msgspec.to_builtins(volume.spec.claim_ref)}
        path = f"/api/v1/persistentvolumes/{volume.metadata.name}"
        return decode(await self._patch(path, patch), PersistentVolume)

    async def update_pvc(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Ask for the claim's volume to be made for a node."""
        meta = claim.metadata
        path = f"/api/v1/namespaces/{meta.namespace}/persistentvolumeclaims/{meta.name}"
        return decode(await self._patch(path, _metadata_patch(claim, SELECTED_NODE)), PersistentVolumeClaim)

    async def pod_exists(self, pod: PodInfo) -> bool:
        """Look the pod up."""
        try:
            await self._client.get(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}")
        except ApiError as refusal:
            if refusal.code == 404:
                return False
            raise
        return True

    async def _patch(self, path: str, patch: dict[str, Any]) -> bytes:
        return await self._client.patch(path, msgspec.json.encode(patch), content_type=MERGE_PATCH)


async def write(reservation: Reservation, writer: VolumeWriter) -> None:
    """Write everything reserved. What was written before a failure stays written, and stays reserved."""
    for at, binding in enumerate(reservation.bindings):
        reservation.bindings[at] = Binding(binding.claim, await writer.update_pv(binding.volume))
    for at, claim in enumerate(reservation.claims):
        reservation.claims[at] = await writer.update_pvc(claim)


def _metadata_patch(item: KubeObject, annotation: str) -> dict[str, Any]:
    """The annotation, and the version the patch was made for: a conflict is refused, not overwritten."""
    meta = item.metadata
    metadata: dict[str, Any] = {"resourceVersion": meta.resource_version} if meta.resource_version else {}
    if annotation in meta.annotations:
        metadata["annotations"] = {annotation: meta.annotations[annotation]}
    return {"metadata": metadata}
