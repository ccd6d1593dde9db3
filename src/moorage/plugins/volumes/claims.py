"""From a pod to its claims, and from claims and volumes to their storage class."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

import msgspec

from moorage.columns import PodInfo
from moorage.objects import PersistentVolume, PersistentVolumeClaim, Volume

_encode = msgspec.msgpack.Encoder().encode

#: The storage class by its old annotation, which still goes before the field.
BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


class ClaimUse(NamedTuple):
    """One volume of a pod that comes from a claim. An ephemeral one brings its claim along."""

    claim_name: str
    is_ephemeral: bool


def claim_use(pod_name: str, volume: Volume) -> ClaimUse | None:
    """The claim behind a volume; None for volumes that need none."""
    if volume.persistent_volume_claim is not None:
        return ClaimUse(volume.persistent_volume_claim.claim_name, is_ephemeral=False)
    if volume.ephemeral is not None:
        return ClaimUse(f"{pod_name}-{volume.name}", is_ephemeral=True)
    return None


def claim_uses(pod: PodInfo) -> Iterator[ClaimUse]:
    """The claims behind a pod's volumes, in the order of the volumes."""
    for volume in pod.spec.volumes:
        use = claim_use(pod.name, volume)
        if use is not None:
            yield use


def volumes_of_pod(pod: PodInfo) -> Hashable:
    """What hints about volumes read of a waiting pod: its volumes, and what the claims behind them are called."""
    name = pod.name if any(volume.ephemeral is not None for volume in pod.spec.volumes) else ""
    return pod.namespace, name, _encode(pod.spec.volumes)


def uses_claim(pod: PodInfo, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume of the pod comes from this claim."""
    meta = claim.metadata
    return meta.namespace == pod.namespace and any(use.claim_name == meta.name for use in claim_uses(pod))


def ownership_problem(pod: PodInfo, claim: PersistentVolumeClaim) -> str | None:
    """What is wrong where an ephemeral volume's claim was made by somebody else; None where all is well."""
    meta = claim.metadata
    if meta.namespace == pod.namespace and any(
        owner.controller and owner.uid == pod.uid for owner in meta.owner_references
    ):
        return None
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The storage class a claim asks for, empty where it names none."""
    beta = claim.metadata.annotations.get(BETA_STORAGE_CLASS)
    return (claim.spec.storage_class_name or "") if beta is None else beta


def class_of_volume(volume: PersistentVolume) -> str:
    """The storage class a volume belongs to, empty for none."""
    beta = volume.metadata.annotations.get(BETA_STORAGE_CLASS)
    return volume.spec.storage_class_name if beta is None else beta


def not_found(resource: str, name: str) -> str:
    """The sentence Kubernetes has for an object that is not there."""
    return f'{resource} "{name}" not found'
