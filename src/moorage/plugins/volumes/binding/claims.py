"""A pod's claims, sorted by who has to bind them and when."""

from dataclasses import dataclass

from moorage.columns import ObjectStore, PodInfo
from moorage.framework.status import Status, error, unresolvable
from moorage.objects import PersistentVolumeClaim, StorageClass
from moorage.plugins.volumes.claims import (
    WAIT_FOR_FIRST_CONSUMER,
    ClaimUse,
    claim_uses,
    class_of_claim,
    not_found,
    ownership_problem,
)
from moorage.values.quantity import parse_quantity

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"

_UNBOUND_IMMEDIATE = unresolvable("pod has unbound immediate PersistentVolumeClaims")


@dataclass(frozen=True, slots=True)
class DelayedClaim:
    """A claim that is bound only once its pod has a node, with the class that says so."""

    claim: PersistentVolumeClaim
    storage_class: StorageClass

    @property
    def selected_node(self) -> str | None:
        """The node for which provisioning was asked already."""
        return self.claim.metadata.annotations.get(SELECTED_NODE)

    @property
    def size(self) -> int:
        """The storage asked for, in nano units; 0 where the claim does not say."""
        return requested_size(self.claim) or 0


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod that can be placed. A claim used by two volumes stands there twice."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[DelayedClaim, ...]


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has a volume and the volume controller has finished binding it."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def requested_size(claim: PersistentVolumeClaim) -> int | None:
    """The storage a claim asks for, in nano units."""
    amount = claim.spec.resources.requests.get("storage")
    return None if amount is None else parse_quantity(amount)


def pod_claims(objects: ObjectStore, pod: PodInfo) -> PodClaims | Status:
    """The pod's claims, or why it cannot be placed whatever the node."""
    claims = []
    for use in claim_uses(pod):
        claim = objects.get(PersistentVolumeClaim, f"{pod.namespace}/{use.claim_name}")
        problem = _problem(pod, use, claim)
        if problem is not None:
            return unresolvable(problem)
        if claim is not None:
            claims.append(claim)
    return _sorted_by_binding(objects, claims)


def _problem(pod: PodInfo, use: ClaimUse, claim: PersistentVolumeClaim | None) -> str | None:
    name = use.claim_name
    if claim is None:
        if use.is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return not_found("persistentvolumeclaim", name)
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return ownership_problem(pod, claim) if use.is_ephemeral else None


def _sorted_by_binding(objects: ObjectStore, claims: list[PersistentVolumeClaim]) -> PodClaims | Status:
    bound: list[PersistentVolumeClaim] = []
    delayed: list[DelayedClaim] = []
    is_waiting = False
    for claim in claims:
        if is_fully_bound(claim):
            bound.append(claim)
            continue
        name = class_of_claim(claim)
        storage_class = objects.get(StorageClass, name) if name else None
        if storage_class is not None and storage_class.volume_binding_mode is None:
            return error(f'VolumeBindingMode not set for StorageClass "{name}"')
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        if storage_class is not None and waits and not claim.spec.volume_name:
            delayed.append(DelayedClaim(claim, storage_class))
        else:
            # Also a claim that names its volume: binding it is the volume controller's work, before ours.
            is_waiting = True
    return _UNBOUND_IMMEDIATE if is_waiting else PodClaims(tuple(bound), tuple(delayed))
