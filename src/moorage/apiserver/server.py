"""The API server as a process has it: TLS, HTTP, the admin's credentials, start and stop."""

import asyncio
import base64
import errno
import logging
import secrets
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote

from moorage.apiserver import media, status
from moorage.apiserver.api import Api
from moorage.apiserver.auth import ADMIN_GROUP, Authenticator, User
from moorage.apiserver.bootstrap import bootstrap, load
from moorage.apiserver.certificates import Authority, load_or_create, write_private
from moorage.apiserver.cleaning import DefinitionCleaner, NamespaceCleaner
from moorage.apiserver.conversion import conversion_of
from moorage.apiserver.crd.definitions import Definitions
from moorage.apiserver.durable import Durable
from moorage.apiserver.http1 import Connection, Incoming, Outgoing, Stream
from moorage.apiserver.metrics import Metrics
from moorage.apiserver.registry import Clock, ServedKinds, add_built_in
from moorage.apiserver.requests import Request, Response
from moorage.apiserver.status import Refusal
from moorage.apiserver.store import Store
from moorage.apiserver.strategies import strategy_for
from moorage.apiserver.tables import table_for
from moorage.apiserver.verbs.watch import Watch
from moorage.config import DEFAULT_FEATURES, Features
from moorage.errors import InputError
from moorage.values import yaml

logger = logging.getLogger(__name__)

BODY_LIMIT = 3 * 1024 * 1024
_OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})
_ADMIN = User("kubernetes-admin", (ADMIN_GROUP, "system:authenticated"))
_ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
_NO_QUERY: Mapping[str, str] = {}
_NO_CACHE = ("Cache-Control", "no-cache, private")
_WATCH_HEADERS = [("Content-Type", media.JSON), _NO_CACHE]
#: Where to reach a server that listens on every address.
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
_IDLE_SECONDS = 300.0
_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Options:
    """How the server is run. Port 0 takes any free one; without a data directory nothing outlives the process."""

    bind_address: str = "127.0.0.1"
    port: int = 0
    data_dir: Path | None = None
    history_limit: int = 20_000
    #: The release of Kubernetes that the server says it is, and the gates that decide what it serves.
    features: Features = DEFAULT_FEATURES
    clock: Clock = field(default_factory=Clock)


class ApiServer:
    """`async with ApiServer(Options()) as server:` serves until the block ends."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.durable = _open_storage(self.options.data_dir)
        first = self.durable.first_revision if self.durable else 1
        self.store = Store(history_limit=self.options.history_limit, revision=first)
        self.registry = ServedKinds(self.store, self.options.clock, self.options.features)
        self.authenticator = Authenticator(self.options.clock.now)
        add_built_in(self.registry, strategy_for, table_for, conversion_of)
        self.definitions = Definitions(self.registry)
        self.registry.resource("customresourcedefinitions", "apiextensions.k8s.io").collection.history.follow(
            self.definitions
        )
        self.api = Api(self.registry, self.authenticator, self.options.features.release)
        self.metrics = Metrics(self.store)
        self.authority = self._authority()
        self.admin_token = self.authenticator.add_token(_ADMIN, self._kept_token())
        self.url = ""
        self._listening: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._background: asyncio.Future[Any] | None = None

    async def __aenter__(self) -> "ApiServer":
        loop = asyncio.get_running_loop()
        if self.durable is not None:
            load(self.registry, self.durable, self.definitions.install)
            self.durable.start(loop)
            self.store.journal = self.durable
        bootstrap(self.registry)
        options = self.options
        try:
            self._listening = await loop.create_server(
                self._connect, options.bind_address, options.port, ssl=self._tls(), backlog=1024
            )
        except OSError as error:
            await self.__aexit__(None, None, None)
            where = f"{options.bind_address}:{options.port}"
            taken = "the port is taken; --port names another, or 0 for any free one"
            why = taken if error.errno == errno.EADDRINUSE else error.strerror or error
            raise InputError(f"cannot listen: {why}", where=where) from error
        cleaners = (NamespaceCleaner(self.registry), DefinitionCleaner(self.registry))
        self._background = asyncio.gather(*(cleaner.run() for cleaner in cleaners), self._close_idle())
        host = _LOOPBACK.get(options.bind_address, options.bind_address)
        port = self._listening.sockets[0].getsockname()[1]
        self.url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listening is not None:
            self._listening.close()
        if self._background is not None:
            self._background.cancel()
            await asyncio.gather(self._background, return_exceptions=True)
        for collection in self.store.collections():
            collection.history.close()
        await self._close_connections()
        if self.durable is not None:
            self.durable.close(self.store.revision)

    @property
    def ca(self) -> bytes:
        """The certificate that clients trust, as PEM."""
        return self.authority.certificate

    def kubeconfig(self) -> str:
        """An admin's kubeconfig."""
        cluster = {"server": self.url, "certificate-authority-data": base64.b64encode(self.ca).decode()}
        return yaml.dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "moorage", "cluster": cluster}],
                "users": [{"name": "admin", "user": {"token": self.admin_token}}],
                "contexts": [{"name": "moorage", "context": {"cluster": "moorage", "user": "admin"}}],
                "current-context": "moorage",
            }
        )

    def write_kubeconfig(self, path: Path) -> None:
        """Write the admin's kubeconfig where only its owner may read it."""
        try:
            write_private(path, self.kubeconfig().encode())
        except OSError as error:
            raise InputError(f"cannot write the kubeconfig: {error.strerror}", where=str(path)) from error

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

    def _connect(self) -> Connection:
        return Connection(self._handle, self._connections, BODY_LIMIT)

    async def _close_connections(self) -> None:
        """Let answers under way end, for a moment; then end what is left."""
        for connection in list(self._connections):
            connection.close()
        endings = [connection.ended.wait() for connection in self._connections]
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.gather(*endings)
        except TimeoutError:
            for connection in list(self._connections):
                connection.abort()
            await asyncio.sleep(0)

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(_IDLE_SECONDS / 10)
            limit = asyncio.get_running_loop().time() - _IDLE_SECONDS
            for connection in list(self._connections):
                if not connection.is_busy and connection.last_active < limit:
                    connection.close()

    def _handle(self, incoming: Incoming, connection: Connection) -> Any:
        request: Request | None = None
        try:
            request = self._request(incoming, connection)
            found = self._special(request) or self.api.answer(request)
            if isinstance(found, Watch):
                return self._watch(found, request)
            if found.is_write and self.durable is not None:
                return self._settled(found, request, self.store.revision)
            return self._answered(found, request)
        except Refusal as error:
            return self._failed(error, request, incoming)
        except Exception as error:
            logger.exception("%s %s failed", incoming.method, incoming.target)
            return self._failed(status.internal(f"{type(error).__name__}: {error}"), request, incoming)

    def _request(self, incoming: Incoming, connection: Connection) -> Request:
        target, _, text = incoming.target.partition("?")
        path = unquote(target) if "%" in target else target
        headers = incoming.headers
        user = self._user(headers, connection)
        if user is None:
            if path.rstrip("/") not in _OPEN_PATHS:
                raise status.unauthorized()
            user = _ANONYMOUS
        return Request(
            incoming.method,
            path,
            dict(parse_qsl(text, keep_blank_values=True)) if text else _NO_QUERY,
            user,
            incoming.body,
            headers.get("content-type", ""),
            headers.get("accept", ""),
        )

    def _user(self, headers: Mapping[str, str], connection: Connection) -> User | None:
        authorization = headers.get("authorization")
        if authorization:
            return self.authenticator.by_header(authorization)
        peer = connection.peer_certificate
        return self.authenticator.by_certificate(peer) if peer else None

    def _special(self, request: Request) -> Response | None:
        """Health and metrics: of the process, not of the API."""
        path = request.path.rstrip("/")
        if path in ("/healthz", "/livez", "/readyz") or path.startswith(("/livez/", "/readyz/", "/healthz/")):
            is_well = self.durable is None or not self.durable.failure
            return Response(200 if is_well else 500, b"ok" if is_well else b"storage failed", "text/plain")
        if path == "/metrics":
            return Response(200, self.metrics.text(), "text/plain; version=0.0.4")
        return None

    def _watch(self, watch: Watch, request: Request) -> Stream:
        self.metrics.count(request, 200)
        self.metrics.watches += 1

        def close() -> None:
            watch.close()
            self.metrics.watches -= 1

        return Stream(_WATCH_HEADERS, watch.chunks(), close)

    async def _settled(self, found: Response, request: Request, revision: int) -> Outgoing:
        assert self.durable is not None
        try:
            await self.durable.settle(revision)
        except Refusal as error:
            return self._failed(error, request, None)
        return self._answered(found, request)

    def _answered(self, found: Response, request: Request) -> Outgoing:
        self.metrics.count(request, found.code)
        headers = [("Content-Type", found.content_type)]
        if "Cache-Control" not in found.headers:
            headers.append(_NO_CACHE)
        headers += found.headers.items()
        headers += _warnings(request)
        return Outgoing(found.code, found.body, headers)

    def _failed(self, error: Refusal, request: Request | None, incoming: Incoming | None) -> Outgoing:
        if request is not None:
            self.metrics.count(request, error.code)
        elif incoming is not None:
            self.metrics.count_refused(incoming.method, error.code)
        headers = [("Content-Type", media.JSON), _NO_CACHE, *error.headers.items()]
        if request is not None:
            headers += _warnings(request)
        return Outgoing(error.code, media.encode(error.body()), headers)


def _warnings(request: Request) -> list[tuple[str, str]]:
    texts = (warning.replace("\\", "\\\\").replace('"', '\\"') for warning in request.warnings)
    return [("Warning", f'299 - "{_printable(text)}"') for text in texts]


def _printable(text: str) -> str:
    """A header holds one line."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _open_storage(folder: Path | None) -> Durable | None:
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InputError(f"cannot be used as data directory: {error.strerror}", where=str(folder)) from error
    return Durable(folder / "objects.sqlite")
