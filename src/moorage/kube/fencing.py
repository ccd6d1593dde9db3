"""The API client that plugins are given: it reads freely, and writes as the scheduler itself does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from moorage.kube.gate import Lane
from moorage.kube.lanes import Lanes
from moorage.kube.transport import JSON, Client, Query


class FencedClient(Client):
    """A client on the connections of another. Nothing is written by a process that may no longer act, and what is
    written waits its turn like a bind. Prefer the typed reads and writes of `handle.host`."""

    def __init__(self, client: Client, lanes: Lanes) -> None:
        # Nothing of its own is opened: every request goes through one of the two.
        self.access = client.access
        self._client = client
        self._lanes = lanes

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
        """Send one request. Raises Fenced, an ApiError, where it would write and this process may no longer act."""
        if method == "GET":
            return await self._client.request(method, path, query=query, deadline=deadline)
        return await self._lanes.send(Lane.BIND, method, path, body, content_type, query=query, deadline=deadline)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Query | None = None, *, inactivity: float, deadline: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream and give its bytes as they come."""
        async with self._client.stream(path, query, inactivity=inactivity, deadline=deadline) as chunks:
            yield chunks
