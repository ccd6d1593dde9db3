"""The API server as a process has it: TLS, HTTP, the admin's credentials, start and stop."""

import asyncio
import base64
import logging
import secrets
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote

import yaml
from aiohttp import web

from moorage.apiserver import media, status
from moorage.apiserver.api import Api
from moorage.apiserver.auth import ADMIN_GROUP, Authenticator, User
from moorage.apiserver.bootstrap import bootstrap
from moorage.apiserver.certificates import Authority, load_or_create, write_private
from moorage.apiserver.cleaning import DefinitionCleaner, NamespaceCleaner
from moorage.apiserver.clock import Clock
from moorage.apiserver.conversion import CONVERSIONS
from moorage.apiserver.crd.definitions import Definitions
from moorage.apiserver.durable import Durable
from moorage.apiserver.loading import load
from moorage.apiserver.registry import Registry, add_built_in
from moorage.apiserver.requests import Request
from moorage.apiserver.responses import Response
from moorage.apiserver.status import StatusError
from moorage.apiserver.store import Store
from moorage.apiserver.strategies import strategy_for
from moorage.apiserver.tables import table_for
from moorage.apiserver.verbs.watch import Watch
from moorage.errors import InputError

logger = logging.getLogger(__name__)

BODY_LIMIT = 3 * 1024 * 1024
_OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})
_ADMIN = User("kubernetes-admin", (ADMIN_GROUP, "system:authenticated"))


@dataclass(frozen=True, slots=True)
class Options:
    """How the server is run. Port 0 takes any free one; without a data directory nothing outlives the process."""

    bind_address: str = "127.0.0.1"
    port: int = 0
    data_dir: Path | None = None
    history_limit: int = 20_000
    clock: Clock = field(default_factory=Clock)


class ApiServer:
    """`async with ApiServer(Options()) as server:` serves until the block ends."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.durable = _open_storage(self.options.data_dir)
        first = self.durable.first_revision if self.durable else 1
        self.store = Store(history_limit=self.options.history_limit, revision=first)
        self.registry = Registry(self.store, self.options.clock)
        self.authenticator = Authenticator(self.options.clock.now)
        add_built_in(self.registry, strategy_for, table_for, CONVERSIONS)
        self.definitions = Definitions(self.registry)
        self.registry.resource("customresourcedefinitions", "apiextensions.k8s.io").collection.history.follow(
            self.definitions
        )
        self.api = Api(self.registry, self.authenticator)
        self.authority = self._authority()
        self.admin_token = self.authenticator.add_token(_ADMIN, self._kept_token())
        self.url = ""
        self._runner: web.ServerRunner | None = None
        self._cleaning: asyncio.Future[Any] | None = None
        self._watches: set[Watch] = set()

    async def __aenter__(self) -> "ApiServer":
        if self.durable is not None:
            load(self.registry, self.durable, self.definitions.install)
            self.durable.start(asyncio.get_running_loop())
            self.store.journal = self.durable
        bootstrap(self.registry)
        server = web.Server(self._handle, request_factory=_request, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=2)
        await self._runner.setup()
        options = self.options
        site = web.TCPSite(self._runner, options.bind_address, options.port, ssl_context=self._tls())
        await site.start()
        self._cleaning = asyncio.gather(NamespaceCleaner(self.registry).run(), DefinitionCleaner(self.registry).run())
        host = f"[{options.bind_address}]" if ":" in options.bind_address else options.bind_address
        self.url = f"https://{host}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._cleaning is not None:
            self._cleaning.cancel()
            await asyncio.gather(self._cleaning, return_exceptions=True)
        for collection in self.store.collections():
            collection.history.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self.durable is not None:
            self.durable.close(self.store.revision)

    @property
    def ca(self) -> bytes:
        """The certificate that clients trust, as PEM."""
        return self.authority.certificate

    def kubeconfig(self) -> str:
        """An admin's kubeconfig."""
        cluster = {"server": self.url, "certificate-authority-data": base64.b64encode(self.ca).decode()}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "moorage", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.admin_token}}],
            "contexts": [{"name": "moorage", "context": {"cluster": "moorage", "user": "admin"}}],
            "current-context": "moorage",
        }
        text: str = yaml.safe_dump(config, sort_keys=False)
        return text

    def write_kubeconfig(self, path: Path) -> None:
        """Write the admin's kubeconfig where only its owner may read it."""
        write_private(path, self.kubeconfig().encode())

    def _authority(self) -> Authority:
        folder = self.options.data_dir
        return load_or_create(folder) if folder is not None else Authority.create()

    def _kept_token(self) -> str:
        """The admin's token of an earlier process with the same data directory; empty for a fresh one."""
        if self.options.data_dir is None:
            return ""
        path = self.options.data_dir / "admin.token"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32).encode())
        return path.read_text().strip()

    def _tls(self) -> ssl.SSLContext:
        names = ("localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
        pair = self.authority.server(tuple(dict.fromkeys((*names, self.options.bind_address))))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
            certificate.write_bytes(pair.certificate)
            write_private(key, pair.key)
            context.load_cert_chain(certificate, key)
        context.load_verify_locations(cadata=self.ca.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        warnings: list[str] = []
        try:
            request = await self._read(http)
            warnings = request.warnings
            found = self._health(request) or self.api.answer(request)
            if isinstance(found, Watch):
                return await self._stream(http, found)
            if found.is_write and self.durable is not None:
                await self.durable.settle(self.store.revision)
            return _response(found, warnings)
        except StatusError as error:
            return _failure(error, warnings)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            logger.exception("%s %s failed", http.method, http.path)
            return _failure(status.internal(f"{type(error).__name__}: {error}"), warnings)

    async def _read(self, http: web.BaseRequest) -> Request:
        user = self._user(http)
        if user is None and http.path.rstrip("/") not in _OPEN_PATHS:
            raise status.unauthorized()
        body = await _body(http) if http.body_exists else b""
        headers = http.headers
        return Request(
            http.method,
            unquote(http.rel_url.raw_path),
            http.query,
            user or User("system:anonymous", ("system:unauthenticated",)),
            body,
            headers.get("Content-Type", ""),
            headers.get("Accept", ""),
        )

    def _user(self, http: web.BaseRequest) -> User | None:
        authorization = http.headers.get("Authorization")
        if authorization:
            return self.authenticator.by_header(authorization)
        peer: Any = http.transport.get_extra_info("peercert") if http.transport else None
        return self.authenticator.by_certificate(peer) if peer else None

    def _health(self, request: Request) -> Response | None:
        if request.path.rstrip("/") in ("/healthz", "/livez", "/readyz"):
            return Response(200, b"ok", "text/plain")
        return None

    async def _stream(self, http: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": media.JSON, "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        self._watches.add(watch)
        try:
            await response.prepare(http)
            async for chunk in watch.chunks():
                await response.write(chunk)
            await response.write_eof()
        finally:
            watch.close()
            self._watches.discard(watch)
        return response


def _open_storage(folder: Path | None) -> Durable | None:
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InputError(f"cannot be used as data directory: {error.strerror}", where=str(folder)) from error
    return Durable(folder / "objects.sqlite")


def _request(*arguments: Any) -> web.BaseRequest:
    message, payload, protocol, writer, task = arguments
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT)


async def _body(http: web.BaseRequest) -> bytes:
    if (http.content_length or 0) > BODY_LIMIT:
        raise status.too_large(BODY_LIMIT)
    try:
        return await http.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise status.too_large(BODY_LIMIT) from error


def _response(found: Response, warnings: list[str]) -> web.Response:
    headers = {"Content-Type": found.content_type, "Cache-Control": "no-cache, private", **found.headers}
    response = web.Response(status=found.code, body=found.body, headers=headers)
    _warn(response, warnings)
    return response


def _failure(error: StatusError, warnings: list[str]) -> web.Response:
    headers = {"Content-Type": media.JSON, "Cache-Control": "no-cache, private", **error.headers}
    response = web.Response(status=error.code, body=media.encode(error.body()), headers=headers)
    _warn(response, warnings)
    return response


def _warn(response: web.Response, warnings: list[str]) -> None:
    for warning in warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"')
