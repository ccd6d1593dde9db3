"""Extended resources that classes stand for: one claim of the scheduler's own for all of them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moorage.columns import NodeInfo, PodInfo
from moorage.columns.devices import Claims, ResourceClasses
from moorage.columns.devices.classes import IMPLICIT_PREFIX
from moorage.objects import (
    EXACT_COUNT,
    Container,
    ContainerResourceRequest,
    DeviceClaim,
    DeviceRequest,
    DeviceSubRequest,
    ObjectMeta,
    OwnerReference,
    Pod,
    ResourceClaim,
    ResourceClaimSpec,
)
from moorage.values.quantity import ONE, parse_quantity
from moorage.values.requests import is_extended

#: The claim's name until it is written.
IN_MEMORY = "<extended-resources>"
ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


@dataclass(frozen=True, slots=True)
class SpecialClaim:
    """The claim for one node, and which request stands for which container's resource."""

    claim: ResourceClaim
    mappings: tuple[ContainerResourceRequest, ...]


def is_served_by_class(name: str, classes: ResourceClasses) -> bool:
    """Whether a class stands for the resource."""
    return (is_extended(name) or name.startswith(IMPLICIT_PREFIX)) and classes.get(name) is not None


def special_claim(pod: PodInfo, claims: Claims, classes: ResourceClasses) -> ResourceClaim | None:
    """The claim for the pod's extended resources: left over from before, or to be made. None where it needs none."""
    wanted = pod.pod_class.request.amounts
    if not classes or not any(amount and is_served_by_class(name, classes) for name, amount in wanted.items()):
        return None
    for claim in claims:
        if is_special_of(claim, pod.pod):
            return claim
    meta = pod.pod.metadata
    return ResourceClaim(
        ObjectMeta(
            name=IN_MEMORY,
            namespace=meta.namespace,
            uid=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{meta.uid}{IN_MEMORY}")),
            annotations={ANNOTATION: "true"},
            owner_references=(OwnerReference("v1", "Pod", meta.name, meta.uid, controller=True),),
        )
    )


def is_special_of(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether a scheduler made the claim for the pod's extended resources."""
    if claim.metadata.annotations.get(ANNOTATION) != "true":
        return False
    owners = claim.metadata.owner_references
    return any(one.controller and one.name == pod.metadata.name and one.uid == pod.metadata.uid for one in owners)


def on_node(claim: ResourceClaim, pod: PodInfo, node: NodeInfo, classes: ResourceClasses) -> SpecialClaim | str:
    """The claim with what this node has to serve by devices; or why the node cannot serve the pod."""
    wanted: dict[str, int] = {}
    for name, amount in pod.pod_class.request.amounts.items():
        if not amount or not (is_extended(name) or name.startswith(IMPLICIT_PREFIX)):
            continue
        if classes.get(name) is not None and not node.allocatable.get(name, 0):
            wanted[name] = amount
        elif name not in node.allocatable:
            return "cannot fit resource"
    requests, mappings = _requests(pod.pod, wanted, classes)
    spec = ResourceClaimSpec(DeviceClaim(requests=tuple(requests)))
    return SpecialClaim(ResourceClaim(claim.metadata, spec, claim.status), tuple(mappings))


def _requests(
    pod: Pod, wanted: Mapping[str, int], classes: ResourceClasses
) -> tuple[list[DeviceRequest], list[ContainerResourceRequest]]:
    requests: list[DeviceRequest] = []
    mappings: list[ContainerResourceRequest] = []
    for resource in sorted(wanted):
        class_ = classes.get(resource)
        if class_ is not None:
            ours, mapped = _of_resource(pod, resource, class_.metadata.name)
            requests += ours
            mappings += mapped
    return sorted(requests, key=lambda one: one.name), mappings


def _of_resource(
    pod: Pod, resource: str, class_name: str
) -> tuple[list[DeviceRequest], list[ContainerResourceRequest]]:
    """A request for each container that lives long; init containers use those that come after them."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    inits = len(pod.spec.init_containers)
    short = [index for index in range(inits) if not containers[index].is_sidecar]
    lasting: list[DeviceRequest | None] = [None] * len(containers)
    mappings: list[ContainerResourceRequest] = []
    for index, container in enumerate(containers):
        if index not in short:
            lasting[index], mapped = _of_container(index, container, resource, class_name, ())
            mappings += mapped
    largest: DeviceRequest | None = None
    names: set[str] = set()
    passing: list[ContainerResourceRequest] = []
    for index in short:
        request, mapped = _of_container(index, containers[index], resource, class_name, lasting[index:])
        passing += mapped
        if request is not None:
            names.add(request.name)
            if largest is None or _count(largest) < _count(request):
                largest = request
    if largest is not None:
        # One after the other they need no more than the one that needs most.
        passing = [_renamed(one, largest.name) if one.request_name in names else one for one in passing]
    found = [one for one in (largest, *lasting) if one is not None]
    return found, [*mappings, *passing]


def _of_container(
    index: int, container: Container, resource: str, class_name: str, reusable: Sequence[DeviceRequest | None]
) -> tuple[DeviceRequest | None, list[ContainerResourceRequest]]:
    asked = container.resources.requests
    nano = parse_quantity(asked.get(resource, 0))
    count, rest = divmod(nano, ONE)
    if rest or not count:
        return None, []
    mappings = []
    covered = 0
    for request in reusable:
        if request is not None:
            covered += _count(request)
            mappings.append(ContainerResourceRequest(container.name, resource, request.name))
            if covered >= count:
                return None, mappings
    name = f"container-{index}-request-{sorted(asked).index(resource)}"
    spec = DeviceSubRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=count - covered)
    mappings.append(ContainerResourceRequest(container.name, resource, name))
    return DeviceRequest(name, exactly=spec), mappings


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _renamed(mapping: ContainerResourceRequest, request_name: str) -> ContainerResourceRequest:
    return ContainerResourceRequest(mapping.container_name, mapping.resource_name, request_name)
