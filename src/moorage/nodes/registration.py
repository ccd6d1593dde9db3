"""Node objects from shapes, created on the API server."""

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from moorage.config import DEFAULT_FEATURES
from moorage.errors import InputError
from moorage.kube.errors import AlreadyExists
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.nodes.objects import HOLLOW, MARK
from moorage.nodes.shapes import NodeShape
from moorage.values.time import format_time

Json = dict[str, Any]

KUBELET_VERSION = f"{DEFAULT_FEATURES.release}-moorage"
HOST_ADDRESSES = ipaddress.ip_network("172.16.0.0/12")
ZONE_LABEL = "topology.kubernetes.io/zone"

_NODES = resource_of("Node")
_MOST_NODES = HOST_ADDRESSES.num_addresses - 2

# What is well is said of every node: type, status, reason, message.
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node_manifests(shapes: Sequence[NodeShape], now: float) -> list[Json]:
    """One Node for each node of the shapes. Shapes of one name go on counting. Raises InputError for a name twice."""
    manifests = [_manifest(shape, name, turn) for shape, name, turn in _names(shapes)]
    if len(manifests) > _MOST_NODES:
        raise InputError(f"{len(manifests)} nodes: expected {_MOST_NODES} at most")
    seen: set[str] = set()
    for number, manifest in enumerate(manifests):
        name = manifest["metadata"]["name"]
        if name in seen:
            raise InputError(f"two nodes are called {name!r}: give one of the shapes another name")
        seen.add(name)
        amounts = manifest["status"]
        manifest["status"] = {**amounts, **ready_status(name, str(HOST_ADDRESSES[number + 1]), now)}
    return manifests


def ready_status(name: str, address: str, now: float) -> Json:
    """The status of a node whose kubelet is well, but for what it has to offer."""
    stamp = format_time(now)
    return {
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": stamp,
                "lastTransitionTime": stamp,
            }
            for kind, status, reason, message in _CONDITIONS
        ],
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "nodeInfo": {
            "machineID": name,
            "systemUUID": name,
            "bootID": name,
            "kernelVersion": "none",
            "osImage": "Moorage hollow node",
            "containerRuntimeVersion": "moorage://hollow",
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


async def register(client: Client, manifests: Iterable[Json], *, concurrency: int = 32) -> None:
    """Create nodes. One that is there already keeps what it is, and is served from now on.

    Raises ApiError when the server refuses or does not answer.
    """
    waiting = iter(manifests)

    async def create_some() -> None:
        for manifest in waiting:
            try:
                await client.post(_NODES.path(), msgspec.json.encode(manifest))
            except AlreadyExists:
                await _claim(client, manifest["metadata"]["name"])

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(create_some())
    except ExceptionGroup as failures:
        # They all say the same: one is enough to tell the user.
        raise failures.exceptions[0] from None


async def _claim(client: Client, name: str) -> None:
    patch = {"metadata": {"annotations": {MARK: HOLLOW}}}
    await client.patch(_NODES.path(name=name), msgspec.json.encode(patch))


def named(shapes: Sequence[NodeShape]) -> list[tuple[str, NodeShape]]:
    """Each node's name, with its shape."""
    return [(name, shape) for shape, name, _ in _names(shapes)]


def _names(shapes: Sequence[NodeShape]) -> Iterator[tuple[NodeShape, str, int]]:
    """Each node's shape and name, and which of its shape it is."""
    next_number: Counter[str] = Counter()
    for shape in shapes:
        for turn in range(shape.count):
            if shape.is_named:
                yield shape, shape.name, turn
            else:
                yield shape, f"{shape.name}-{next_number[shape.name]}", turn
                next_number[shape.name] += 1


def _manifest(shape: NodeShape, name: str, turn: int) -> Json:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if shape.zones:
        labels[ZONE_LABEL] = shape.zones[turn % len(shape.zones)]
    spec: Json = {}
    if shape.taints:
        spec["taints"] = [msgspec.to_builtins(taint) for taint in shape.taints]
    if shape.is_unschedulable:
        spec["unschedulable"] = True
    allocatable = shape.capacity if shape.allocatable is None else shape.allocatable
    return {
        "apiVersion": _NODES.api_version,
        "kind": _NODES.kind,
        "metadata": {
            "name": name,
            "labels": {**labels, **shape.labels},
            "annotations": {**shape.annotations, MARK: HOLLOW},
        },
        "spec": spec,
        "status": {"capacity": dict(shape.capacity), "allocatable": dict(allocatable)},
    }
