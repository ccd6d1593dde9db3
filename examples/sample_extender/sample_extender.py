"""The sample extender of the guides: a filter, a prioritizer that scores in tens, and a bind, each in a few lines.

Luck decides, as in the original; here it depends on the names of pod and node, so that a pod has the same luck wherever
this runs: in Moorage's scheduler, or as a webhook beside any other.
"""

from typing import Any
from zlib import crc32

from moorage.framework import CycleState, Handle, NodeInfo, PodInfo, Status, unschedulable


def luck(pod: PodInfo, node_name: str) -> int:
    """0 to 10; whoever has none at all is out of luck."""
    return crc32(f"{pod.key}@{node_name}".encode()) % 11


class SampleExtender:
    def __init__(self, _args: Any, handle: Handle) -> None:
        self.handle = handle

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if luck(pod, node.name) else unschedulable(f"pod {pod.key} is unlucky on node {node.name}")

    def score(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 10 * luck(pod, node.name)

    async def bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> None:
        await self.handle.host.bind(pod, node_name)
