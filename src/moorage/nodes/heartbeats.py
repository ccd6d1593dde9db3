"""Heartbeats: leases renewed in turn, and nodes that say they are ready.

A kubelet renews its lease every ten seconds. Thousands in one process would do little else, so that renewals are
cut to a rate; where that makes them rarer, the leases say so in their duration.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from math import ceil

import msgspec

from moorage.errors import ApiError
from moorage.kube.errors import AlreadyExists, NotFound
from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH, Client
from moorage.nodes.objects import HollowNode
from moorage.nodes.registration import ready_status
from moorage.values.time import format_micro_time

logger = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
RENEW_SECONDS = 10.0
DURATION_OF_RENEWALS = 4
"""A lease lasts for so many renewals."""
TICK = 1.0
_CONCURRENCY = 16

_LEASES = resource_of("Lease")
_NODES = resource_of("Node")


class Heartbeats:
    """The heartbeats of nodes that `begin`, until they `pause` or `end`. At most `rate` renewals a second."""

    def __init__(self, client: Client, *, clock: Callable[[], float], rate: float = 150.0) -> None:
        self._client = client
        self._clock = clock
        self._rate = rate
        self._nodes: dict[str, HollowNode] = {}
        self._turns: deque[tuple[float, str]] = deque()
        self._leased: set[str] = set()
        self._unready: dict[str, None] = {}
        self._ended: dict[str, None] = {}

    def begin(self, node: HollowNode) -> None:
        """The node lives: renew its lease, and have the API say that it is ready."""
        name = node.metadata.name
        if name not in self._nodes:
            self._turns.appendleft((0.0, name))
            self._ended.pop(name, None)
        self._nodes[name] = node
        if not node.is_ready or not node.status.allocatable:
            self._unready[name] = None

    def pause(self, name: str) -> None:
        """The node is silent from now on."""
        self._nodes.pop(name, None)
        self._unready.pop(name, None)

    def end(self, name: str) -> None:
        """The node is gone, and so is its lease."""
        self.pause(name)
        if name in self._leased:
            self._ended[name] = None

    @property
    def renew_seconds(self) -> float:
        """How often each lease is renewed."""
        return max(RENEW_SECONDS, len(self._nodes) / self._rate)

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            await _together(self._take(self._unready), self._say_ready)
            await _together(self._due(), self._renew)
            await _together(self._take(self._ended), self._delete_lease)
            await asyncio.sleep(TICK)

    def _take(self, names: dict[str, None]) -> list[str]:
        taken = list(names)
        names.clear()
        return taken

    def _due(self) -> list[str]:
        """Whose turn it is now; their next one comes after a whole round."""
        now = asyncio.get_running_loop().time()
        most = ceil(self._rate * TICK)
        due: list[str] = []
        while self._turns and self._turns[0][0] <= now and len(due) < most:
            _, name = self._turns.popleft()
            if name in self._nodes:
                due.append(name)
        self._turns.extend((now + self.renew_seconds, name) for name in due)
        return due

    async def _renew(self, name: str) -> None:
        if name not in self._leased:
            await self._create_lease(name)
            return
        spec = {"renewTime": format_micro_time(time.time()), "leaseDurationSeconds": self._duration()}
        try:
            await self._client.patch(
                _LEASES.path(LEASE_NAMESPACE, name), msgspec.json.encode({"spec": spec}), content_type=MERGE_PATCH
            )
        except NotFound:
            await self._create_lease(name)

    async def _create_lease(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid}
        lease = {
            "apiVersion": _LEASES.api_version,
            "kind": _LEASES.kind,
            "metadata": {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": self._duration(),
                "renewTime": format_micro_time(time.time()),
            },
        }
        try:
            await self._client.post(_LEASES.path(LEASE_NAMESPACE), msgspec.json.encode(lease))
            self._leased.add(name)
        except AlreadyExists:
            self._leased.add(name)
            await self._renew(name)

    async def _delete_lease(self, name: str) -> None:
        self._leased.discard(name)
        try:
            await self._client.delete(_LEASES.path(LEASE_NAMESPACE, name))
        except NotFound:
            logger.debug("the lease of node %s is gone already", name)

    async def _say_ready(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        status = ready_status(name, node.internal_ip or "127.0.0.1", self._clock())
        if not node.status.allocatable:
            status["allocatable"] = node.status.capacity
        path = _NODES.path(name=name, subresource="status")
        await self._client.patch(path, msgspec.json.encode({"status": status}))

    def _duration(self) -> int:
        return ceil(self.renew_seconds * DURATION_OF_RENEWALS)


async def _together(names: Iterable[str], act: Callable[[str], Awaitable[None]]) -> None:
    """Do something for each name, a few at once. What the server refuses is tried again with the next beat's turn."""
    waiting = iter(names)
    failures: list[ApiError] = []

    async def some() -> None:
        for name in waiting:
            try:
                await act(name)
            except ApiError as error:
                failures.append(error)

    async with asyncio.TaskGroup() as group:
        for _ in range(_CONCURRENCY):
            group.create_task(some())
    if failures:
        logger.warning("%d heartbeats failed, the first with: %s", len(failures), failures[0])
