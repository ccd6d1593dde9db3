"""A plugin for the extender tests: nodes have seats, some are for nobody, and comfort is what a label says."""

import logging
from typing import Any

from moorage.framework import CycleState, Handle, NodeInfo, PodInfo, Status, unresolvable, unschedulable

logger = logging.getLogger(__name__)


class Seats:
    """Filter by the annotation `seats` of nodes, score by `comfort` (0 to 100). It reserves, so it binds."""

    def __init__(self, _args: Any, handle: Handle) -> None:
        self.handle = handle

    async def start(self) -> None:
        names = sorted(node.name for node in self.handle.snapshot.nodes)
        logger.info("seats begins and knows %s", ", ".join(names))
        self.handle.spawn(self._work())

    async def _work(self) -> None:
        await self.handle.host.sleep(0)
        logger.info("seats works")

    async def stop(self) -> None:
        logger.info("seats ends")

    def filter(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        seats = node.node.metadata.annotations.get("seats")
        if seats is None:
            return unresolvable("node(s) had no seats")
        return None if len(node.pods) < int(seats) else unschedulable("node(s) had no free seat")

    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        return int(node.node.metadata.annotations.get("comfort", "0"))

    def reserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return None

    def unreserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None: ...
