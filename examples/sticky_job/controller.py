"""Keeps one pod of each Anchor and writes down the node it ran on.  python controller.py KUBECONFIG"""

import asyncio
import sys
from pathlib import Path
from typing import Any, ClassVar

from moorage.controllers.runtime import (
    AlreadyExists,
    Client,
    Controller,
    ControllerContext,
    Key,
    Managed,
    Pod,
    load_access,
    owner_reference,
    resource_of,
    run_controllers,
)
from moorage.framework import Struct

FINALIZER = "example.org/anchor"
LAST_NODE = "example.org/last-node"


class AnchorSpec(Struct, frozen=True):
    template: dict[str, Any] = {}


class AnchorStatus(Struct, frozen=True):
    last_node: str = ""


class Anchor(Managed, frozen=True):
    API_VERSION: ClassVar[str] = "example.org/v1"
    KIND: ClassVar[str] = "Anchor"
    PLURAL: ClassVar[str] = "anchors"

    spec: AnchorSpec = AnchorSpec()
    status: AnchorStatus = AnchorStatus()


class AnchorController(Controller):
    """The pod has its Anchor's name, so there is never a second. Its finalizer comes off once its node is known."""

    name = "anchor"

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._anchors = cluster.informers.watch(Anchor, self.enqueue)
        self._pods = cluster.informers.watch(Pod, self.enqueue)

    async def sync(self, key: Key) -> float | None:
        """Bring one Anchor up to date."""
        namespace, name = key
        anchor, pod = self._anchors.get(name, namespace), self._pods.get(name, namespace)
        if pod is None:
            if anchor is not None and not anchor.metadata.is_terminating:
                await self._create(anchor)
            return None
        if anchor is not None and pod.status.phase == "Running" and anchor.status.last_node != pod.spec.node_name:
            await self.cluster.writer.patch_status(anchor, {"lastNode": pod.spec.node_name})
        if pod.metadata.is_terminating and FINALIZER in pod.metadata.finalizers:
            await self.cluster.writer.remove_finalizer(pod, FINALIZER)
        return None

    async def _create(self, anchor: Anchor) -> None:
        # Asked of the server: what an informer shows may be older than the node that was written down a moment ago.
        now = await self.cluster.writer.get(resource_of(Anchor), anchor.metadata.name, anchor.metadata.namespace)
        metadata = {
            "name": anchor.metadata.name,
            "annotations": {LAST_NODE: now.get("status", {}).get("lastNode", "")},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner_reference(anchor)],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": anchor.spec.template["spec"]}
        try:
            await self.cluster.writer.create(resource_of(Pod), body, anchor.metadata.namespace)
        except AlreadyExists:
            return  # Made a moment ago; it is on its way to us.


async def main(kubeconfig: Path) -> None:
    """Run until interrupted."""
    async with Client(load_access(kubeconfig)) as client:
        await run_controllers(client, [AnchorController])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
