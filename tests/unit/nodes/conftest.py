"""A client that notes what is written, nodes and pods to write about."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.errors import ApiError
from moorage.kube.access import ClusterAccess
from moorage.kube.transport import JSON, Client, Query
from moorage.nodes.objects import HollowNode, HostedPod
from moorage.objects import convert

Json = dict[str, Any]


class NotingClient(Client):
    """Answers every write with nothing, or with the next of `failures`, and keeps it."""

    def __init__(self) -> None:
        super().__init__(ClusterAccess("http://nowhere"))
        self.written: list[tuple[str, str, Any]] = []
        self.failures: list[ApiError] = []

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        query: Query | None = None,
        content_type: str = JSON,
        deadline: float | None = None,
    ) -> bytes:
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.written.append((method, path, msgspec.json.decode(body) if body else None))
        return b"{}"

    def take(self) -> list[tuple[str, str, Any]]:
        """What was written since the last time."""
        taken, self.written = self.written, []
        return taken


@pytest.fixture
def noting() -> NotingClient:
    return NotingClient()


@pytest.fixture
def make_node() -> Callable[..., HollowNode]:
    def node(name: str = "n", *, stopped: bool = False, ready: bool = True, cpu: str = "2") -> HollowNode:
        annotations = {"moorage.dev/node": "hollow", **({"moorage.dev/stopped": "true"} if stopped else {})}
        status = {
            "allocatable": {"cpu": cpu, "memory": "4Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "addresses": [{"type": "InternalIP", "address": "172.16.0.1"}],
        }
        metadata = {"name": name, "uid": f"uid-of-{name}", "annotations": annotations}
        return convert({"metadata": metadata, "status": status}, HollowNode)

    return node


@pytest.fixture
def make_pod() -> Callable[..., HostedPod]:
    def pod(name: str = "p", *, node: str = "n", cpu: str = "1", phase: str = "Pending", **fields: Any) -> HostedPod:
        container = {"name": "main", "image": "example/app", "resources": {"requests": {"cpu": cpu}}}
        metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", **fields.pop("metadata", {})}
        status = {"phase": phase, **fields.pop("status", {})}
        spec = {"nodeName": node, "containers": [container], **fields}
        return convert({"metadata": metadata, "spec": spec, "status": status}, HostedPod)

    return pod


@pytest.fixture
def wall_clock() -> Callable[[], float]:
    """Seconds since 1970 that pass as the loop's do."""
    return lambda: 1_000_000_000.0 + asyncio.get_running_loop().time()
