"""`Client`: requests and streams to one API server, every one with a deadline, as one user.

Requests go over `http1`, which is made for thousands of small ones a second; streams (watches) go over aiohttp.
Both carry the credential of the moment, and both get one more try with a fresh one when the server answers 401.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import SplitResult, urlencode, urlsplit

import aiohttp

from moorage.errors import InputError
from moorage.kube.access import ClusterAccess
from moorage.kube.credentials import ClientCertificate, Credential, Vault
from moorage.kube.errors import (
    AnswerLost,
    DeadlineExceeded,
    Silence,
    Unauthorized,
    Unreachable,
    error_of_answer,
)
from moorage.kube.http1 import SILENCE, Answer, Pool
from moorage.kube.tls import client_context
from moorage.kube.troubles import Troubles

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

Query = Mapping[str, str | int]


class Client:
    """An API server, spoken to as one user. Use it as an async context manager.

    `deadline` is how many seconds a request has that names no other. `connections` bounds how many requests are on
    the wire at once; streams come on top.
    """

    def __init__(
        self,
        access: ClusterAccess,
        *,
        connections: int = 32,
        deadline: float = 30.0,
        user_agent: str = "moorage",
    ) -> None:
        self.access = access
        #: What keeps those who follow collections through this client from doing so.
        self.troubles = Troubles()
        self._connections = connections
        self._deadline = deadline
        self._url = _server_url(access)
        self._prefix = self._url.path.rstrip("/")
        self._vault = Vault(access.source)
        headers = [("Host", self._url.netloc), ("User-Agent", user_agent), ("Accept", JSON), *access.headers]
        self._fixed_head = "".join(f"{name}: {_plain(value)}\r\n" for name, value in headers)
        self._stream_headers = [header for header in headers if header[0] != "Host"]
        self._pool: Pool | None = None
        self._session: aiohttp.ClientSession | None = None
        self._certificate: ClientCertificate | None = None
        self._tls: ssl.SSLContext | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            # A stream never begins on a connection that was used before: that one may carry nothing any more.
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._stream_headers,
            skip_auto_headers=["Accept-Encoding"],
            read_bufsize=1 << 18,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, path: str, query: Query | None = None, *, deadline: float | None = None) -> bytes:
        return await self.request("GET", path, query=query, deadline=deadline)

    async def post(self, path: str, body: bytes, query: Query | None = None, *, deadline: float | None = None) -> bytes:
        return await self.request("POST", path, body=body, query=query, deadline=deadline)

    async def put(self, path: str, body: bytes, query: Query | None = None, *, deadline: float | None = None) -> bytes:
        return await self.request("PUT", path, body=body, query=query, deadline=deadline)

    async def patch(
        self,
        path: str,
        body: bytes,
        query: Query | None = None,
        *,
        content_type: str = STRATEGIC_MERGE_PATCH,
        deadline: float | None = None,
    ) -> bytes:
        return await self.request("PATCH", path, body=body, query=query, content_type=content_type, deadline=deadline)

    async def delete(
        self, path: str, body: bytes = b"", query: Query | None = None, *, deadline: float | None = None
    ) -> bytes:
        return await self.request("DELETE", path, body=body, query=query, deadline=deadline)

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
        """Send one request and return the body of its answer; any failure is an ApiError (moorage.kube.errors).

        Nothing is repeated but a request the server refused for its credential, and a GET on a kept connection that
        turned out to be dead.
        """
        target = self._target(path, query)
        seconds = self._deadline if deadline is None else deadline
        credential = self._vault.current() or await self._vault.get()
        answer = await self._exchange(method, target, body, content_type, credential, seconds)
        if answer.status == 401:
            self._vault.refuse(credential)
            credential = await self._vault.get()
            answer = await self._exchange(method, target, body, content_type, credential, seconds)
        if answer.status >= 300:
            raise error_of_answer(answer.status, answer.body, answer.headers.get("retry-after", ""))
        return answer.body

    async def _exchange(
        self, method: str, target: str, body: bytes, content_type: str, credential: Credential, deadline: float
    ) -> Answer:
        pool = self._pool_for(credential)
        head = f"{method} {target} HTTP/1.1\r\n{self._fixed_head}"
        if credential.authorization:
            head += f"Authorization: {_plain(credential.authorization)}\r\n"
        if body:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        elif method in ("GET", "DELETE"):
            head += "\r\n"
        else:
            head += "Content-Length: 0\r\n\r\n"
        request = head.encode("latin-1") + body
        try:
            return await pool.exchange(request, deadline)
        except DeadlineExceeded:
            raise
        except AnswerLost:
            if method != "GET":
                raise
            return await pool.exchange(request, deadline)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Query | None = None, *, inactivity: float, deadline: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream and give its bytes as they come.

        `deadline` is how many seconds the stream has to open. The iterator ends when the server ends the stream, raises
        AnswerLost when it is cut and Silence when nothing has come for `inactivity` seconds.
        """
        seconds = self._deadline if deadline is None else deadline
        credential = self._vault.current() or await self._vault.get()
        try:
            response = await self._open_stream(path, query, credential, seconds)
        except Unauthorized:
            self._vault.refuse(credential)
            response = await self._open_stream(path, query, await self._vault.get(), seconds)
        try:
            yield _chunks(response, inactivity)
        finally:
            response.close()

    async def _open_stream(
        self, path: str, query: Query | None, credential: Credential, deadline: float
    ) -> aiohttp.ClientResponse:
        assert self._session is not None, "a Client is an async context manager"
        self._pool_for(credential)
        try:
            async with asyncio.timeout(deadline):
                response = await self._session.get(
                    f"{self._url.scheme}://{self._url.netloc}{self._target(path, query)}",
                    headers={"Authorization": credential.authorization} if credential.authorization else None,
                    ssl=self._tls or False,
                    server_hostname=self.access.tls_server_name or None,
                    timeout=aiohttp.ClientTimeout(total=None),
                    allow_redirects=False,
                )
                if response.status >= 300:
                    body = await response.read()
                    raise error_of_answer(response.status, body, response.headers.get("Retry-After", ""))
                return response
        except TimeoutError:
            raise DeadlineExceeded(f"{path}: no stream within {deadline:g} s") from None
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(str(error)) from error
        except aiohttp.ClientError as error:
            raise AnswerLost(f"{path}: {error}") from error

    def _target(self, path: str, query: Query | None) -> str:
        target = f"{self._prefix}{path}?{urlencode(query)}" if query else self._prefix + path
        if not target.isascii() or not target.isprintable() or " " in target:
            raise ValueError(f"{target!r} is no path: quote it")
        return target

    def _pool_for(self, credential: Credential) -> Pool:
        """The pool whose connections present this credential's certificate; a new certificate means new connections."""
        if self._pool is None or credential.certificate != self._certificate:
            if self._session is None:
                raise RuntimeError("the client is closed: a Client is an async context manager")
            secure = self._url.scheme == "https"
            self._tls = client_context(self.access, credential.certificate) if secure else None
            self._certificate = credential.certificate
            if self._pool is not None:
                self._pool.retire()
            self._pool = Pool(
                self._url.hostname or "",
                self._url.port or (443 if secure else 80),
                size=self._connections,
                tls=self._tls,
                server_hostname=(self.access.tls_server_name or None) if secure else None,
                silence=SILENCE,
            )
        return self._pool


async def _chunks(response: aiohttp.ClientResponse, inactivity: float) -> AsyncIterator[bytes]:
    content = response.content
    while True:
        try:
            async with asyncio.timeout(inactivity):
                chunk = await content.readany()
        except TimeoutError:
            raise Silence(f"the stream has been silent for {inactivity:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise AnswerLost(f"the stream was cut: {error}") from error
        if not chunk:
            return
        yield chunk


def _server_url(access: ClusterAccess) -> SplitResult:
    """The server's address, taken apart. Without a scheme it is HTTPS when the access speaks of TLS, HTTP otherwise."""
    server = access.server
    if "://" not in server:
        server = ("https://" if access.certificate_authority or access.insecure else "http://") + server
    try:
        url = urlsplit(server)
        valid = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 0) >= 0
    except ValueError:
        valid = False
    if not valid:
        raise InputError(f"{access.server!r} is no address of an API server: expected https://HOST:PORT")
    return url


def _plain(value: str) -> str:
    """A header's value must be one line; anything else would let a token write headers of its own."""
    if not value.isprintable():
        raise InputError("a header value holds a line break or another unprintable character")
    return value
