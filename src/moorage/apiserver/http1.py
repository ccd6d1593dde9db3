"""HTTP/1.1, the server's side: lean, because a scheduler's load is thousands of small requests a second.

A request that can be answered at once is answered inside the callback that received it, with no task and one write.
Watches, big answers and writes that wait for the disk get a task each.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

HEAD_LIMIT = 64 * 1024
#: Bodies above this are sent in pieces, so that a slow reader does not hold a second copy of them.
_PIECE = 1024 * 1024
_REASONS = {each.value: each.phrase for each in HTTPStatus}
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Refused(Exception):
    """A request that is no HTTP we speak: answered with this code, and the connection closed."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Incoming:
    """A request as it came: the target still quoted, header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""
    keeps_alive: bool = True


@dataclass(slots=True)
class Outgoing:
    """An answer with a body."""

    code: int
    body: bytes
    headers: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Stream:
    """An answer that goes on: chunks until they end. `close` is called whatever happens."""

    headers: list[tuple[str, str]]
    chunks: AsyncIterator[bytes]
    close: Callable[[], None]


#: Answers a request: at once, or by something to wait for. Must not raise.
Handler = Callable[[Incoming, "Connection"], "Outgoing | Stream | Awaitable[Outgoing]"]


class Connection(asyncio.Protocol):
    """One client: requests come in one after the other, answers go out in the same order."""

    def __init__(self, handler: Handler, open_connections: set[Connection], body_limit: int) -> None:
        self._handler = handler
        self._open = open_connections
        self._body_limit = body_limit
        self._buffer = bytearray()
        self._pending: Incoming | None = None
        self._body_length = 0
        self._is_chunked = False
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_closing = False
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self.peer_certificate: Any = None
        self.last_active = 0.0
        self.ended = asyncio.Event()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self._task is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own class does not inherit from it
        self.peer_certificate = transport.get_extra_info("peercert")
        self.last_active = asyncio.get_running_loop().time()
        self._open.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        """The client is gone: so is what was being sent to it."""
        self._open.discard(self)
        self.ended.set()
        self._is_closing = True
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Bytes came in: answer every request that is whole."""
        self._buffer += data
        if self._task is None:
            self._serve()
        elif len(self._buffer) > self._body_limit + HEAD_LIMIT:
            self.transport.pause_reading()

    def close(self) -> None:
        """End the connection now, or after the answer under way."""
        self._is_closing = True
        if self._task is None:
            self.transport.close()

    def abort(self) -> None:
        """End the connection whatever is under way."""
        self.transport.abort()

    def _serve(self) -> None:
        try:
            while not self._is_closing and self._task is None:
                request = self._next_request()
                if request is None:
                    return
                self._answer(request)
        except Refused as refused:
            self._is_closing = True
            body = f"{refused.code} {refused}\n".encode()
            self._write(Outgoing(refused.code, body, [("Content-Type", "text/plain")]), keeps_alive=False)
            self.transport.close()

    def _next_request(self) -> Incoming | None:
        """The next whole request in the buffer, or None."""
        if self._pending is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > HEAD_LIMIT:
                    raise Refused(431, "the head of the request is too large")
                return None
            self._pending = self._read_head(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
        request = self._pending
        if self._is_chunked:
            body = _read_chunks(self._buffer, self._body_limit)
            if body is None:
                return None
            request.body = body
        elif len(self._buffer) < self._body_length:
            return None
        elif self._body_length:
            request.body = bytes(self._buffer[: self._body_length])
            del self._buffer[: self._body_length]
        self._pending = None
        return request

    def _read_head(self, head: bytes) -> Incoming:
        request = parse_head(head)
        headers = request.headers
        self._is_chunked = False
        self._body_length = 0
        if "transfer-encoding" in headers:
            if headers["transfer-encoding"].lower() != "chunked" or "content-length" in headers:
                raise Refused(400, "unsupported transfer encoding")
            self._is_chunked = True
        elif "content-length" in headers:
            length = headers["content-length"]
            if not (length.isascii() and length.isdigit()):
                raise Refused(400, "the content length is not a number")
            self._body_length = int(length)
        if self._body_length > self._body_limit:
            raise Refused(413, f"Request entity too large: limit is {self._body_limit}")
        if headers.get("expect", "").lower() == "100-continue":
            self.transport.write(_CONTINUE)
        return request

    def _answer(self, request: Incoming) -> None:
        found = self._handler(request, self)
        if isinstance(found, Outgoing) and len(found.body) <= _PIECE:
            self._write(found, keeps_alive=request.keeps_alive, has_body=request.method != "HEAD")
            self._finish(request.keeps_alive)
        else:
            self._task = asyncio.get_running_loop().create_task(self._answer_later(found, request))

    async def _answer_later(self, found: Outgoing | Stream | Awaitable[Outgoing], request: Incoming) -> None:
        keeps_alive = request.keeps_alive
        try:
            if isinstance(found, Stream):
                await self._stream(found, keeps_alive=keeps_alive)
            else:
                outgoing = found if isinstance(found, Outgoing) else await found
                await self._write_pieces(outgoing, keeps_alive=keeps_alive, has_body=request.method != "HEAD")
        except asyncio.CancelledError:
            self.transport.abort()
            raise
        finally:
            if isinstance(found, Stream):
                found.close()
            self._task = None
        self._finish(keeps_alive)
        self.transport.resume_reading()
        self._serve()

    def _finish(self, keeps_alive: bool) -> None:
        self.last_active = asyncio.get_running_loop().time()
        if not keeps_alive or self._is_closing:
            self._is_closing = True
            self.transport.close()

    def _write(self, found: Outgoing, *, keeps_alive: bool, has_body: bool = True) -> None:
        head = _head(found.code, found.headers, f"Content-Length: {len(found.body)}", keeps_alive)
        self.transport.write(head + found.body if has_body else head)

    async def _write_pieces(self, found: Outgoing, *, keeps_alive: bool, has_body: bool) -> None:
        if len(found.body) <= _PIECE or not has_body:
            self._write(found, keeps_alive=keeps_alive, has_body=has_body)
            return
        self.transport.write(_head(found.code, found.headers, f"Content-Length: {len(found.body)}", keeps_alive))
        view = memoryview(found.body)
        for start in range(0, len(view), _PIECE):
            self.transport.write(view[start : start + _PIECE])
            await self._drain()

    async def _stream(self, stream: Stream, *, keeps_alive: bool) -> None:
        self.transport.write(_head(200, stream.headers, "Transfer-Encoding: chunked", keeps_alive))
        async for chunk in stream.chunks:
            self.transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await self._drain()
        self.transport.write(b"0\r\n\r\n")

    async def _drain(self) -> None:
        if not self._writable.is_set():
            await self._writable.wait()
        if self.transport.is_closing():
            raise asyncio.CancelledError


def parse_head(head: bytes) -> Incoming:
    """The request line and the headers. Raises Refused for what is no HTTP/1."""
    try:
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ")
    except ValueError:
        raise Refused(400, "malformed request line") from None
    if version not in ("HTTP/1.1", "HTTP/1.0") or not target.startswith(("/", "http://", "https://")):
        raise Refused(400, "malformed request line")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name[-1] in " \t" or name[0] in " \t":
            raise Refused(400, "malformed header")
        name, value = name.lower(), value.strip()
        if name in headers:
            if name in ("content-length", "transfer-encoding", "authorization"):
                raise Refused(400, f"several headers of the name {name}")
            value = f"{headers[name]}, {value}"
        headers[name] = value
    connection = headers.get("connection", "").lower()
    keeps_alive = connection != "close" if version == "HTTP/1.1" else connection == "keep-alive"
    return Incoming(method, target, headers, keeps_alive=keeps_alive)


def _read_chunks(buffer: bytearray, limit: int) -> bytes | None:
    """The body of a chunked request, taken off the buffer; None while it is not whole."""
    parts: list[bytes] = []
    position = total = 0
    while True:
        end = buffer.find(b"\r\n", position)
        if end < 0:
            if len(buffer) - position > HEAD_LIMIT:
                raise Refused(400, "malformed chunk")
            return None
        size = _chunk_size(bytes(buffer[position:end]))
        total += size
        if total > limit:
            raise Refused(413, f"Request entity too large: limit is {limit}")
        start = end + 2
        if size == 0:
            return _end_of_chunks(buffer, start, parts)
        if len(buffer) < start + size + 2:
            return None
        parts.append(bytes(buffer[start : start + size]))
        if buffer[start + size : start + size + 2] != b"\r\n":
            raise Refused(400, "malformed chunk")
        position = start + size + 2


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
        raise Refused(400, "malformed chunk")
    return int(digits, 16)


def _end_of_chunks(buffer: bytearray, start: int, parts: list[bytes]) -> bytes | None:
    """After the last chunk come trailers, which we pass over, and an empty line."""
    if buffer[start : start + 2] == b"\r\n":
        end = start + 2
    else:
        found = buffer.find(b"\r\n\r\n", start)
        if found < 0:
            return None
        end = found + 4
    del buffer[:end]
    return b"".join(parts)


def _head(code: int, headers: list[tuple[str, str]], length: str, keeps_alive: bool) -> bytes:
    lines = [f"HTTP/1.1 {code} {_REASONS.get(code, '')}", length]
    lines += [f"{name}: {value}" for name, value in headers]
    if not keeps_alive:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
