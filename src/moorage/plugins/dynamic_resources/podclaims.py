"""The claims of a pod: which they are, and whether the pod may use them."""

from collections.abc import Iterator

from moorage.columns import PodInfo
from moorage.columns.devices import Claims
from moorage.objects import Pod, PodResourceClaim, ResourceClaim

FINALIZER = "resource.kubernetes.io/delete-protection"


class NotReady(Exception):
    """A claim of the pod is not there, or not the pod's to use."""


def pod_claims(claims: Claims, pod: PodInfo) -> list[ResourceClaim]:
    """The pod's claims as they count, in the order in which it names them. Raises NotReady."""
    return list(_pod_claims(claims, pod.pod))


def _pod_claims(claims: Claims, pod: Pod) -> Iterator[ResourceClaim]:
    namespace = pod.metadata.namespace
    for entry in pod.spec.resource_claims:
        found = _claim_name(pod, entry)
        if found is None:
            continue
        name, must_be_owned = found
        claim = claims.get(f"{namespace}/{name}")
        if claim is None:
            raise NotReady(f'could not find ResourceClaim "{namespace}/{name}"')
        if claim.metadata.deletion_timestamp:
            raise NotReady(f'resourceclaim "{name}" is being deleted')
        if must_be_owned and not is_owned(claim, pod):
            text = f"was not created for Pod {namespace}/{pod.metadata.name} (Pod is not owner)"
            raise NotReady(f"ResourceClaim {namespace}/{name} {text}")
        yield claim


def _claim_name(pod: Pod, entry: PodResourceClaim) -> tuple[str, bool] | None:
    """The claim's name and whether it was made for the pod; None where none is needed."""
    where = f'pod "{pod.metadata.namespace}/{pod.metadata.name}"'
    if entry.resource_claim_name:
        return entry.resource_claim_name, False
    if not entry.resource_claim_template_name:
        raise NotReady(f'{where}, spec.resourceClaim "{entry.name}": none of the supported fields are set')
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return (status.resource_claim_name, True) if status.resource_claim_name else None
    raise NotReady(f"{where}: ResourceClaim not created yet")


def is_owned(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the claim was made for the pod."""
    return any(one.controller and one.uid == pod.metadata.uid for one in claim.metadata.owner_references)


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the pod is among those that may use the claim."""
    return any(one.uid == pod.metadata.uid for one in claim.status.reserved_for)
