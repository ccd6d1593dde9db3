"""Reservations written to the API server: volumes first, then claims."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from moorage.columns import PodInfo
from moorage.errors import ApiError
from moorage.objects import KubeObject, Pod
from moorage.plugins.volumes.binding.claims import SELECTED_NODE
from moorage.plugins.volumes.binding.finding import Match
from moorage.plugins.volumes.binding.reservation import BOUND_BY_CONTROLLER, Reservation

Kind = TypeVar("Kind", bound=KubeObject)

_NOT_FOUND = 404


class Objects(Protocol):
    """The part of framework.handle.Host that writing needs."""

    async def read(self, kind: type[Kind], name: str, namespace: str = "") -> Kind:
        """An object as the API server has it now."""

    async def patch(self, item: Kind, patch: Mapping[str, Any], *, subresource: str = "") -> Kind:
        """Merge into that very object."""


async def write(reservation: Reservation, objects: Objects) -> None:
    """Write everything reserved. What was written before a failure (ApiError) stays written, and stays reserved.

    Only the fields that we decide on are written: the rest of an object is not ours to send.
    """
    for at, binding in enumerate(reservation.bindings):
        patch = _metadata_patch(binding.volume, BOUND_BY_CONTROLLER)
        patch["spec"] = {"claimRef": msgspec.to_builtins(binding.volume.spec.claim_ref)}
        reservation.bindings[at] = Match(binding.claim, await objects.patch(binding.volume, patch))
    for at, claim in enumerate(reservation.claims):
        reservation.claims[at] = await objects.patch(claim, _metadata_patch(claim, SELECTED_NODE))


async def is_still_wanted(pod: PodInfo, objects: Objects) -> bool:
    """Whether the pod is still there. An API server that cannot say so now will say it later."""
    try:
        await objects.read(Pod, pod.name, pod.namespace)
    except ApiError as failure:
        return failure.code != _NOT_FOUND
    return True


def _metadata_patch(item: KubeObject, annotation: str) -> dict[str, Any]:
    """The annotation, and the version the patch was made for: a conflict is refused, not overwritten."""
    meta = item.metadata
    metadata: dict[str, Any] = {"resourceVersion": meta.resource_version} if meta.resource_version else {}
    if annotation in meta.annotations:
        metadata["annotations"] = {annotation: meta.annotations[annotation]}
    return {"metadata": metadata}
