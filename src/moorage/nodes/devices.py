"""Devices of hollow nodes: a simulated driver publishes a slice for each node, and a class for itself."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from moorage.kube.errors import AlreadyExists
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.transport import Client
from moorage.nodes.shapes import NodeShape

Json = dict[str, Any]

_SLICES, _CLASSES, _NODES = resource_of("ResourceSlice"), resource_of("DeviceClass"), resource_of("Node")


def class_manifests(shapes: Iterable[NodeShape]) -> list[Json]:
    """A class for each driver, of the driver's name."""
    drivers = sorted({driver for shape in shapes for driver in shape.devices})
    return [
        {
            "apiVersion": _CLASSES.api_version,
            "kind": _CLASSES.kind,
            "metadata": {"name": driver},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
        }
        for driver in drivers
    ]


def slice_manifests(node: Json, shape: NodeShape) -> Iterator[Json]:
    """The slices of one node as the API server has it: a pool of the node's name for each driver."""
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    owner = {"apiVersion": _NODES.api_version, "kind": _NODES.kind, "name": name, "uid": uid, "controller": True}
    for driver, count in shape.devices.items():
        devices = [{"name": f"device-{index}", "attributes": {"index": {"int": index}}} for index in range(count)]
        yield {
            "apiVersion": _SLICES.api_version,
            "kind": _SLICES.kind,
            "metadata": {"name": f"{name}-{driver}", "ownerReferences": [owner]},
            "spec": {
                "driver": driver,
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        }


async def publish(client: Client, nodes: Sequence[tuple[str, NodeShape]]) -> None:
    """Create the classes and slices of these nodes, which are registered. What is there already stays.

    Raises ApiError when the server refuses or does not answer.
    """
    with_devices = [(name, shape) for name, shape in nodes if shape.devices]
    for manifest in class_manifests(shape for _, shape in with_devices):
        await _create(client, _CLASSES, manifest)
    limit = asyncio.Semaphore(32)

    async def publish_one(name: str, shape: NodeShape) -> None:
        async with limit:
            node = msgspec.json.decode(await client.get(_NODES.path(name=name)))
            for manifest in slice_manifests(node, shape):
                await _create(client, _SLICES, manifest)

    await asyncio.gather(*(publish_one(name, shape) for name, shape in with_devices))


async def _create(client: Client, resource: ApiResource, manifest: Json) -> None:
    try:
        await client.post(resource.path(), msgspec.json.encode(manifest))
    except AlreadyExists:
        return
