"""An extender over HTTP: as an aiohttp application, an ASGI application, or served on its own.

POST /filter /prioritize /preempt /bind      what schedulers ask (those that are served)
GET  /healthz /livez /readyz                 open to everybody
GET  /metrics                                open to whom may ask
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from ssl import SSLContext
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from moorage.errors import InputError
from moorage.extender.guarding import Guard, Limits
from moorage.extender.metering import CONTENT_TYPE
from moorage.extender.service import ExtenderService, Reply

_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Front:
    """What both kinds of application answer: status, content type and body for a method and a path."""

    def __init__(self, service: ExtenderService, guard: Guard) -> None:
        self._service = service
        self._guard = guard

    def refusal(self, path: str, certificate: Any, authorization: str) -> Reply | None:
        if path in ("/healthz", "/livez", "/readyz") or self._guard.admits(certificate, authorization):
            return None
        return Reply(b"Unauthorized: expected a client certificate or a bearer token\n", 401)

    def get(self, path: str) -> tuple[Reply, str]:
        if path == "/metrics":
            return Reply(self._service.meter.render()), CONTENT_TYPE
        if path in ("/healthz", "/livez") or (path == "/readyz" and self._service.is_ready):
            return Reply(b"ok"), _TEXT
        if path == "/readyz":
            return Reply(f"not ready: {self._service.trouble}\n".encode(), 503), _TEXT
        return Reply(b"404 page not found\n", 404), _TEXT

    async def post(self, path: str, body: bytes) -> tuple[Reply, str]:
        reply = await self._service.answer(path.strip("/"), body)
        return reply, _JSON if reply.status == 200 else _TEXT


def aiohttp_app(
    service: ExtenderService, *, guard: Guard | None = None, limits: Limits | None = None
) -> web.Application:
    """The extender as an aiohttp application, to be served or added to another one with `add_subapp`.

    The service runs while the application does.
    """
    front, limits = _Front(service, guard or Guard()), limits or Limits()

    async def handle(request: web.Request) -> web.Response:
        timer = silent.pop(request.protocol, None)
        if timer is not None:
            timer.cancel()
        path = "/" + request.match_info["path"]
        certificate = request.get_extra_info("peercert")
        reply = front.refusal(path, certificate, request.headers.get("Authorization", ""))
        content_type = _TEXT
        if reply is None and request.method == "POST":
            try:
                async with asyncio.timeout(limits.body_seconds):
                    body = await request.read()
            except TimeoutError:
                raise web.HTTPRequestTimeout(text="the body did not come in time\n") from None
            except (web.RequestPayloadError, ConnectionError) as problem:
                _LOG.warning("%s sent a body that cannot be read: %s", request.remote, _in_one_line(problem))
                raise web.HTTPBadRequest(text=f"the body cannot be read: {_in_one_line(problem)}\n") from None
            reply, content_type = await front.post(path, body)
        elif reply is None:
            reply, content_type = front.get(path)
        return web.Response(body=reply.body, status=reply.status, headers={"Content-Type": content_type})

    async def run(_app: web.Application) -> AsyncIterator[None]:
        async with service:
            yield

    application = web.Application(client_max_size=limits.body)
    silent = application[_SILENT] = {}
    application.add_routes([web.get("/{path:.*}", handle), web.post("/{path:.*}", handle)])
    application.cleanup_ctx.append(run)
    return application


def asgi_app(
    service: ExtenderService, *, guard: Guard | None = None, limits: Limits | None = None
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The extender as an ASGI application. It follows the cluster from `lifespan` on, or from its first request:
    applications that are mounted into others are not told of their lifespan.
    """
    front, limits = _Front(service, guard or Guard()), limits or Limits()
    stack = AsyncExitStack()
    running = False

    async def start() -> None:
        nonlocal running
        if not running:
            running = True
            await stack.enter_async_context(service)
            await service.wait_until_synced()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send, start, stack.aclose)
        elif scope["type"] == "http":
            await start()
            await _send(send, *await _answer(front, limits, scope, receive))

    return application


async def _live(
    receive: Receive, send: Send, start: Callable[[], Awaitable[None]], stop: Callable[[], Awaitable[None]]
) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await start()
            await send({"type": "lifespan.startup.complete"})
        else:
            await stop()
            await send({"type": "lifespan.shutdown.complete"})
            return


async def _answer(front: _Front, limits: Limits, scope: Scope, receive: Receive) -> tuple[Reply, str]:
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    certificate = (scope.get("extensions") or {}).get("tls", {}).get("client_cert_chain")
    refusal = front.refusal(path, certificate, headers.get(b"authorization", ""))
    if refusal is not None:
        return refusal, _TEXT
    if scope["method"] != "POST":
        return front.get(path)
    body = bytearray()
    more = True
    try:
        async with asyncio.timeout(limits.body_seconds):
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > limits.body:
                    return Reply(b"the body is too long\n", 413), _TEXT
    except TimeoutError:
        return Reply(b"the body did not come in time\n", 408), _TEXT
    return await front.post(path, bytes(body))


async def _send(send: Send, reply: Reply, content_type: str) -> None:
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(reply.body)).encode())]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


_LINGERING_SECONDS: Final = 0.5
"""How long the rest of a body is read that nobody wants any more, so that its sender comes to read the answer."""

#: Connections on which no request was heard yet, with the timers that will close them.
_SILENT: Final = web.AppKey("silent", dict[web.RequestHandler, asyncio.TimerHandle])


class _Log(logging.LoggerAdapter[logging.Logger]):
    """The log of the HTTP server: what callers do wrong is told in a line each, what we do with its trace."""

    def log(self, level: int, msg: object, *args: object, **more: Any) -> None:
        """The server keeps some of it for whoever debugs, and shows a trace of the rest."""
        problem = more.get("exc_info")
        if isinstance(problem, HttpProcessingError):
            caller = args[0] if args else "somebody"
            super().log(logging.WARNING, "%s sent what is no request: %s", caller, _in_one_line(problem))
        elif not isinstance(problem, web.RequestPayloadError):  # told where the body was read
            super().log(level, msg, *args, **more)


_LOG: Final = _Log(logging.getLogger(__name__))

_MOST_SHOWN: Final = 200


def _in_one_line(problem: BaseException) -> str:
    text = problem.message if isinstance(problem, HttpProcessingError) else str(problem)
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


@asynccontextmanager
async def serving(
    application: web.Application,
    address: str,
    port: int,
    *,
    tls: SSLContext | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[int]:
    """Serve on an address until the block ends; gives the port. A connection that says nothing is closed."""
    runner = web.AppRunner(application, access_log=None, logger=_LOG, lingering_time=_LINGERING_SECONDS)
    await runner.setup()
    try:
        server = runner.server
        assert server is not None
        loop, seconds = asyncio.get_running_loop(), (limits or Limits()).head_seconds

        def connection() -> asyncio.Protocol:
            handler = server()
            application[_SILENT][handler] = loop.call_later(seconds, _close, application, handler)
            return handler

        try:
            listening = await loop.create_server(connection, address, port, ssl=tls)
        except OSError as error:
            raise InputError(f"cannot listen: {error.strerror}", where=f"--address {address} --port {port}") from error
        try:
            yield listening.sockets[0].getsockname()[1]
        finally:
            listening.close()
    finally:
        await runner.cleanup()


def _close(application: web.Application, silent: web.RequestHandler) -> None:
    del application[_SILENT][silent]
    if silent.transport is not None:
        silent.transport.abort()
