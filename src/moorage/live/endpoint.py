"""The endpoint: health for everybody, metrics and configuration for whom the cluster lets see them."""

import fnmatch
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

import msgspec
from aiohttp import web

from moorage.errors import ApiError, InputError
from moorage.kube.reviews import Reviewer, UserInfo
from moorage.live.certificates import serving_context
from moorage.live.health import Health
from moorage.live.options import Serving
from moorage.observe.exposition import CONTENT_TYPE, Exposition

logger = logging.getLogger(__name__)

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_ANONYMOUS = UserInfo(username="system:anonymous", groups=("system:unauthenticated",))


class Endpoint:
    """Serves until the block it is entered for ends."""

    def __init__(
        self,
        *,
        serving: Serving,
        reviewer: Reviewer,
        health: Health,
        exposition: Exposition,
        document: Mapping[str, Any],
    ) -> None:
        self._serving = serving
        self._reviewer = reviewer
        self._health = health
        self._exposition = exposition
        self._document = document
        self._runner: web.AppRunner | None = None
        #: The port listened on, once it is.
        self.port = 0

    async def __aenter__(self) -> Self:
        if not self._serving.port:
            return self
        application = web.Application(middlewares=[self._guard])
        application.add_routes(
            [
                web.get("/metrics", self._metrics),
                web.get("/configz", self._configz),
                *(web.get(f"/{path}", self._answer_health) for path in self._health.paths),
                *(web.get(f"/{path}/{{check}}", self._answer_check) for path in self._health.paths),
            ]
        )
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        context = None if self._serving.plain else serving_context(self._serving.certificate, self._serving.key)
        site = web.TCPSite(self._runner, self._serving.address, max(self._serving.port, 0), ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            where = f"--bind-address {self._serving.address} --secure-port {self._serving.port}"
            where = f"--metrics-port {self._serving.port}" if self._serving.plain else where
            raise InputError(f"cannot listen: {error.strerror}", where=where) from error
        self.port = self._runner.addresses[0][1]
        scheme = "http" if self._serving.plain else "https"
        logger.info("serving on %s://%s:%d", scheme, self._serving.address, self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Let through what is open to all, and whoever the cluster knows and allows."""
        if self._serving.plain or any(fnmatch.fnmatchcase(request.path, pattern) for pattern in self._open_paths()):
            return await handler(request)
        try:
            refusal = await self._refusal(request)
        except ApiError as error:
            logger.warning("%s could not be authorised: %s", request.path, error)
            return web.Response(status=503, text="the cluster could not say who may see this\n")
        return refusal or await handler(request)

    def _open_paths(self) -> list[str]:
        return [path for pattern in self._serving.always_allowed for path in (pattern, f"{pattern}/*")]

    async def _refusal(self, request: web.Request) -> web.Response | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        user: UserInfo | None = _ANONYMOUS
        if scheme.lower() == "bearer" and token.strip():
            user = await self._reviewer.authenticate(token.strip())
        if user is None:
            return web.Response(status=401, text="Unauthorized\n")
        if not await self._reviewer.authorize(user, verb=request.method.lower(), path=request.path):
            text = f'Forbidden: user "{user.username}" cannot {request.method.lower()} path "{request.path}"\n'
            return web.Response(status=403, text=text)
        return None

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._exposition.render(), headers={"Content-Type": CONTENT_TYPE})

    async def _configz(self, _request: web.Request) -> web.Response:
        body = msgspec.json.encode({"componentconfig": self._document})
        return web.Response(body=body, content_type="application/json")

    async def _answer_health(self, request: web.Request) -> web.Response:
        exclude = request.query.getall("exclude", [])
        status, text = self._health.answer(request.path[1:], verbose="verbose" in request.query, exclude=exclude)
        return web.Response(status=status, text=text)

    async def _answer_check(self, request: web.Request) -> web.Response:
        path, _, check = request.path[1:].partition("/")
        answer = self._health.answer_one(path, check)
        if answer is None:
            return web.Response(status=404, text="404 page not found\n")
        return web.Response(status=answer[0], text=answer[1])
