"""An API server that fails on demand: a proxy in front of a good one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import aiohttp
from aiohttp import web

from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.tls import client_context

_HOP_HEADERS = {"host", "connection", "transfer-encoding", "content-length", "authorization"}


class Fault(Enum):
    """What happens to a request instead of its being answered."""

    DROPPED = "the connection is closed, the request never arrives"
    ANSWER_LOST = "the request is carried out, the connection closed before the answer"


Rule = Callable[[web.Request], Fault | web.Response | None]


@dataclass
class FaultyServer:
    """The proxy. `rules` are asked for every request, in order; the first answer counts."""

    url: str = ""
    rules: list[Rule] = field(default_factory=list)
    #: method and path of everything that arrived.
    seen: list[str] = field(default_factory=list)
    _streams: set[asyncio.Transport] = field(default_factory=set)
    #: Set while what watches bring is passed on at once.
    _flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _site: web.TCPSite | None = None
    _runner: web.AppRunner | None = None

    @property
    def access(self) -> ClusterAccess:
        """How to reach the good server through this one."""
        return ClusterAccess(server=self.url)

    def fail(self, method: str, ending: str, fault: Fault | web.Response, *, times: int = 1) -> None:
        """Fail so many requests whose path ends like that; watches and lists are told apart by `?watch`."""
        left = times

        def rule(request: web.Request) -> Fault | web.Response | None:
            nonlocal left
            path = request.path + ("?watch" if request.query.get("watch") else "")
            if left > 0 and request.method == method and path.endswith(ending):
                left -= 1
                return fault
            return None

        self.rules.append(rule)

    def cut_streams(self) -> int:
        """Cut every stream that is open, in the middle of a line; how many there were."""
        streams, self._streams = self._streams, set()
        for transport in streams:
            transport.write(b'1a\r\n{"type":"MODIFIED","objec')
            transport.close()
        return len(streams)

    def hold_streams(self) -> None:
        """Pass on nothing that watches bring, until `release_streams`."""
        self._flowing.clear()

    def release_streams(self) -> None:
        """Pass on what was held back, and everything after it at once."""
        self._flowing.set()

    async def go_down(self) -> None:
        """Stop answering: connections are cut, new ones refused."""
        self.cut_streams()
        assert self._runner is not None
        assert self._runner.server is not None
        assert self._site is not None
        await self._site.stop()
        for connection in self._runner.server.connections:
            if connection.transport is not None:
                connection.transport.abort()

    async def come_back(self) -> None:
        """Answer again, on the same port."""
        assert self._runner is not None
        port = int(self.url.rpartition(":")[2])
        self._site = web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True)
        await self._site.start()


def failure(code: int, reason: str, message: str = "", *, headers: dict[str, str] | None = None) -> web.Response:
    """An answer as the API server gives it when it refuses."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return web.json_response({**body, "message": message or reason}, status=code, headers=headers)


@contextlib.asynccontextmanager
async def faulty_server(kubeconfig: Path) -> AsyncIterator[FaultyServer]:
    """A proxy to the cluster of a kubeconfig, which speaks plain HTTP on loopback and needs no credentials."""
    server = FaultyServer()
    server.release_streams()
    upstream = load_access(kubeconfig)
    credential = await upstream.source.fetch()
    headers = {"Authorization": credential.authorization} if credential.authorization else {}
    connector = aiohttp.TCPConnector(ssl=client_context(upstream, credential.certificate), limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        upstream.server, connector=connector, headers=headers, timeout=timeout, skip_auto_headers=["Accept-Encoding"]
    ) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            return await _handle(server, session, request)

        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{path:.*}", handle)
        server._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await server._runner.setup()
        server._site = web.TCPSite(server._runner, "127.0.0.1", 0)
        await server._site.start()
        server.url = f"http://127.0.0.1:{server._runner.addresses[0][1]}"
        try:
            yield server
        finally:
            await server._runner.cleanup()


async def _handle(server: FaultyServer, session: aiohttp.ClientSession, request: web.Request) -> web.StreamResponse:
    server.seen.append(f"{request.method} {request.path}")
    fault = next((found for rule in server.rules if (found := rule(request)) is not None), None)
    if isinstance(fault, web.Response):
        return web.Response(status=fault.status, body=fault.body, headers=fault.headers)
    if fault is Fault.DROPPED:
        return _hang_up(request)
    forwarded = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_HEADERS}
    body = await request.read()
    async with session.request(
        request.method, request.rel_url, headers=forwarded, data=body or None, allow_redirects=False
    ) as answer:
        if fault is Fault.ANSWER_LOST:
            await answer.read()
            return _hang_up(request)
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_HEADERS}
        if not request.query.get("watch"):
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)
        stream = web.StreamResponse(status=answer.status, headers=kept)
        await stream.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        server._streams.add(request.transport)
        with contextlib.suppress(ConnectionError, aiohttp.ClientError):
            async for chunk in answer.content.iter_any():
                await server._flowing.wait()
                await stream.write(chunk)
        server._streams.discard(request.transport)
        return stream


def _hang_up(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
