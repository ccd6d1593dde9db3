"""Small API servers on loopback that do what a test tells them to, and a client that needs no network at all."""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from aiohttp import web

from moorage.kube.access import ClusterAccess
from moorage.kube.transport import JSON, Client, Query

Responder = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    #: The other end of the connection it came on.
    peer: tuple[str, int]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class FakeApi:
    """Answers in the order it was told, the last answer again and again; 404 where it was told nothing."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self._responders: dict[tuple[str, str], deque[Responder]] = defaultdict(deque)
        self._runner: web.ServerRunner | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen: on any free port the first time, on the same one after a `stop`."""
        self._runner = web.ServerRunner(web.Server(self.handle), shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Go away, in the middle of whatever is being answered."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def forget(self) -> None:
        """Everything that was said so far about what to answer."""
        self._responders.clear()

    def on(self, method: str, path: str, *responders: Responder) -> None:
        self._responders[method, path].extend(responders)

    def answer(
        self, method: str, path: str, body: Any, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        async def respond(_request: web.Request) -> web.StreamResponse:
            return web.json_response(body, status=status, headers=headers)

        self.on(method, path, respond)

    def watch(self, path: str, *lines: Any, stay: bool = True) -> None:
        """A watch stream of these lines (objects, or bytes as they are), which then stays open or ends."""

        async def respond(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": JSON})
            await response.prepare(request)
            for line in lines:
                await response.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
            if stay:
                await asyncio.Event().wait()
            return response

        self.on("WATCH", path, respond)

    def asked(self, method: str, path: str = "") -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method and path in ("", seen.path)]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        method = "WATCH" if request.query.get("watch") == "true" else request.method
        assert request.transport is not None
        peer = request.transport.get_extra_info("peername")
        body = await request.read()
        self.seen.append(Seen(method, request.path, dict(request.query), dict(request.headers), body, peer))
        responders = self._responders.get((method, request.path))
        if not responders:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        responder = responders.popleft() if len(responders) > 1 else responders[0]
        return await responder(request)  # type: ignore[arg-type]


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    fake = FakeApi()
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[Client]:
    async with Client(ClusterAccess(api.url), deadline=10) as connected:
        yield connected


RawHandler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawServers:
    """Servers that speak bytes, for what no decent HTTP server would do."""

    @staticmethod
    @asynccontextmanager
    async def serve(handler: RawHandler) -> AsyncIterator[int]:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await handler(reader, writer)
            finally:
                writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()


@pytest.fixture
def raw_servers() -> RawServers:
    return RawServers()


class ScriptedClient(Client):
    """A client whose server is a function: (method, path, body) -> answer, or an exception raised."""

    def __init__(self, server: Callable[[str, str, Any], Awaitable[Any]]) -> None:
        super().__init__(ClusterAccess("http://nowhere"))
        self._server = server
        self.sent: list[tuple[str, str, Any]] = []

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
        content = msgspec.json.decode(body) if body else None
        self.sent.append((method, path, content))
        return msgspec.json.encode(await self._server(method, path, content))


@pytest.fixture
def scripted() -> type[ScriptedClient]:
    return ScriptedClient


def answers(*steps: Any) -> Callable[[str, str, Any], Awaitable[Any]]:
    """A server for ScriptedClient that goes through `steps`: values are returned, exceptions raised."""
    script: Iterable[Any] = iter(steps)

    async def server(_method: str, _path: str, _body: Any) -> Any:
        step = next(iter(script))
        if isinstance(step, Exception):
            raise step
        return step

    return server


@pytest.fixture
def script() -> Callable[..., Callable[[str, str, Any], Awaitable[Any]]]:
    return answers
