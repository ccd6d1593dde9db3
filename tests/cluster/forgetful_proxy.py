"""A balancer in front of an API server that forgets its connections: they stay open and carry nothing any more."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from moorage.kube.access import ClusterAccess

_PIECE = 1 << 16


@dataclass
class ForgetfulProxy:
    """Passes bytes on, both ways. What `forget` caught is still read, and so acknowledged, but goes nowhere."""

    access: ClusterAccess
    connections: int = 0
    _forgotten: set[asyncio.Task[None]] = field(default_factory=set)
    _passing: set[asyncio.Task[None]] = field(default_factory=set)

    def forget(self) -> None:
        """Carry nothing any more on the connections there are; new ones are fine."""
        self._forgotten |= self._passing

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        self.connections += 1
        server = urlsplit(self.access.server)
        upstream_reader, upstream_writer = await asyncio.open_connection(server.hostname, server.port)
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(self._carry(reader, upstream_writer), self._carry(upstream_reader, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        try:
            while piece := await reader.read(_PIECE):
                if task not in self._forgotten:
                    writer.write(piece)
                    await writer.drain()
        finally:
            self._passing.discard(task)
            writer.close()


@contextlib.asynccontextmanager
async def forgetful_proxy(access: ClusterAccess) -> AsyncIterator[tuple[ForgetfulProxy, ClusterAccess]]:
    """A proxy to an API server, and how to reach the server through it."""
    proxy = ForgetfulProxy(access)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    upstream = urlsplit(access.server)
    port = server.sockets[0].getsockname()[1]
    try:
        yield proxy, replace(access, server=upstream._replace(netloc=f"127.0.0.1:{port}").geturl())
    finally:
        server.close()
