"""What a decision takes: volumes for claims, and nodes for claims to be provisioned.

Reserved objects stand in the store in place of the API server's until its own version changes.
"""

from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from moorage.columns import ObjectStore
from moorage.objects import KubeObject, ObjectReference, PersistentVolume, PersistentVolumeClaim
from moorage.plugins.volumes.binding.claims import SELECTED_NODE
from moorage.plugins.volumes.binding.finding import Match, PodVolumes
from moorage.plugins.volumes.binding.matching import is_reserved_for

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"

T = TypeVar("T", bound=KubeObject)


@dataclass(slots=True)
class Reservation:
    """The objects as they are to be written. Written ones are replaced by the API server's answer."""

    bindings: list[Match]
    claims: list[PersistentVolumeClaim]

    def cancel(self, objects: ObjectStore) -> None:
        """Let go of everything that was not written yet."""
        for item in (*(binding.volume for binding in self.bindings), *self.claims):
            _restore(objects, item)


def reserve(objects: ObjectStore, volumes: PodVolumes, node_name: str) -> Reservation:
    """Take the volumes for the pod's claims, so that the next decision finds them taken."""
    bindings = []
    for binding in volumes.bindings:
        bound = bound_volume(binding.volume, binding.claim)
        if bound is not binding.volume:
            objects.assume(bound)
        bindings.append(Match(binding.claim, bound))
    claims = []
    for provision in volumes.provisions:
        claim = _annotated(provision.claim, SELECTED_NODE, node_name)
        objects.assume(claim)
        claims.append(claim)
    return Reservation(bindings, claims)


def bound_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume, bound to the claim; the same object where it already is."""
    bound = volume
    if not is_reserved_for(volume, claim) and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        # Says that the user did not choose the claim: the binding may be undone when the claim goes.
        bound = _annotated(bound, BOUND_BY_CONTROLLER, "yes")
    reference, meta = volume.spec.claim_ref, claim.metadata
    if reference is None or (reference.namespace, reference.name, reference.uid) != (
        meta.namespace,
        meta.name,
        meta.uid,
    ):
        bound = replace(bound, spec=replace(bound.spec, claim_ref=_reference(claim)))
    return bound


def _reference(claim: PersistentVolumeClaim) -> ObjectReference:
    meta = claim.metadata
    return ObjectReference(
        api_version=claim.API_VERSION,
        kind=claim.KIND,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )


def _annotated(item: T, key: str, value: str) -> T:
    return replace(item, metadata=replace(item.metadata, annotations={**item.metadata.annotations, key: value}))


def _restore(objects: ObjectStore, item: KubeObject) -> None:
    """Drop our assumption, unless somebody else's, or the API server's own version, has taken its place."""
    if objects.get(type(item), item.key) is item:
        objects.restore(item)
