"""HTTP/1.1 for short requests: one request, one whole answer, on connections that are kept alive.

A scheduler sends thousands of small requests a second, and a general client spends more on each than on everything else
about it. This one does what an API server needs and no more: no redirects, no compression, no pipelining (a Go server
answers a pipeline one by one). Streams are not for here; see `transport`.
"""

import asyncio
import re
import ssl
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import cast

from moorage.errors import ApiError
from moorage.kube.errors import AnswerLost, AnswerTooLong, BadAnswer, DeadlineExceeded, Silence, Unreachable

_HEAD_END = b"\r\n\r\n"
_HEAD_LIMIT = 1 << 20
_LINE_LIMIT = 1 << 12
"""Bytes a chunk's size may take, with whatever stands beside it."""
_INTERIM_LIMIT = 16
"""Interim answers before the real one."""
_SHOWN = 200
"""How much of an answer that is too long is worth keeping, to show what it is."""
_BUFFER = 1 << 16
"""Bytes received at once, at most: a buffer of its own for each connection, or the transport makes one each time."""

# Of a dozen headers in every answer these are read; the rest is not worth taking apart thousands of times a second.
_READ_HEADERS = re.compile(
    rb"\r\n(content-length|transfer-encoding|connection|retry-after)[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE
)

IDLE_LIMIT = 10.0
"""Seconds after which an idle connection is not used again. Balancers and NATs forget what is idle, some without a
word, and a request that meets that is one whose answer is lost; a new connection costs a millisecond or two."""

SILENCE = 12.0
"""Seconds without a byte after which a request is given up: its connection may have been forgotten by what is between
us and the server, even where the other end still acknowledges what it gets."""


@dataclass(slots=True)
class Answer:
    """A whole answer. Header names are lower case; only those that somebody reads are there."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Body:
    """Gathers one body from the bytes that follow its head; `feed` says when it is whole.

    A body longer than `limit` is an AnswerTooLong as soon as that shows.
    """

    def __init__(self, head: Answer, limit: int | None = None) -> None:
        self._limit = limit
        self.answer = head
        self.ends_with_connection = False
        self._parts = bytearray()
        self._chunked = head.headers.get("transfer-encoding", "").lower() == "chunked"
        self._missing = 0
        if self._chunked:
            self._pending = bytearray()
        elif head.status in (204, 304):
            self._missing = 0
        elif "content-length" in head.headers:
            self._missing = int(head.headers["content-length"])
        else:
            self.ends_with_connection = True

    def feed(self, data: bytes | bytearray) -> bool:
        if self._chunked:
            return self._feed_chunks(data)
        self._parts += data
        self._check(max(self._missing, len(self._parts)))
        if self.ends_with_connection:
            return False
        if len(self._parts) > self._missing:
            raise ValueError("an answer longer than its Content-Length")
        return len(self._parts) == self._missing

    def _feed_chunks(self, data: bytes | bytearray) -> bool:
        """Chunks are `<hex size>\\r\\n<bytes>\\r\\n`; one of size 0, perhaps with trailers, is the last."""
        pending = self._pending
        pending += data
        start = 0
        try:
            while True:
                line_end = pending.find(b"\r\n", start)
                if line_end < 0:
                    if len(pending) - start > _LINE_LIMIT:
                        raise ValueError("a chunk of endless size")
                    return False
                size = int(pending[start:line_end].split(b";", 1)[0], 16)
                if size < 0:
                    raise ValueError("a chunk of negative size")
                self._check(len(self._parts) + size)
                if size == 0:
                    if len(pending) - line_end > _HEAD_LIMIT:
                        raise ValueError("endless trailers")
                    return pending.find(_HEAD_END, line_end) >= 0
                chunk_end = line_end + 2 + size
                if len(pending) < chunk_end + 2:
                    return False
                self._parts += memoryview(pending)[line_end + 2 : chunk_end]
                start = chunk_end + 2
        finally:
            if start:
                del pending[:start]

    def _check(self, size: int) -> None:
        if self._limit is not None and size > self._limit:
            raise AnswerTooLong(f"the answer is longer than {self._limit} bytes", start=bytes(self._parts[:_SHOWN]))

    def finish(self) -> Answer:
        self.answer.body = bytes(self._parts)
        return self.answer


class Connection(asyncio.BufferedProtocol):
    """One connection, with at most one request on it at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._head = bytearray()
        self._body: _Body | None = None
        self._limit: int | None = None
        self._interim = 0
        self._received = memoryview(bytearray(_BUFFER))
        self._loop = asyncio.get_running_loop()
        self._heard_at = 0.0
        #: When the answer has to be there, how that is told, and how long nothing may come.
        self._until, self._deadline, self._silence = inf, inf, inf
        self._timer: asyncio.TimerHandle | None = None
        self.idle_since = 0.0

    @property
    def open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def busy(self) -> bool:
        """A request is out that has not been answered."""
        return self._waiter is not None

    def send(self, request: bytes, limit: int | None = None) -> asyncio.Future[Answer]:
        """Write a request; the future holds its answer, whose body may be `limit` bytes long."""
        assert self._transport is not None
        self._limit, self._interim = limit, 0
        waiter = self._waiter = self._loop.create_future()
        self._transport.write(request)
        return waiter

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def listen(self, until: float, deadline: float, silence: float) -> None:
        """Give up at `until` (loop time; `deadline` is how that is told), or when nothing comes for `silence` seconds.

        Whoever waits for the answer is told, and the connection is of no more use.
        """
        self._until, self._deadline, self._silence = until, deadline, silence
        self._heard_at = self._loop.time()
        self._look_at(min(until, self._heard_at + silence))

    def _look_at(self, moment: float) -> None:
        """A timer that goes off too early costs less than one for each request: it looks, and is set anew."""
        if self._timer is not None:
            if self._timer.when() <= moment:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        now = self._loop.time()
        if now >= self._until:
            self._fail(DeadlineExceeded(f"no answer within {self._deadline:g} s"))
            self.close()
        elif now >= self._heard_at + self._silence:
            self._fail(Silence(f"the server has been silent for {self._silence:g} s"))
            self.close()
        else:
            self._look_at(min(self._until, self._heard_at + self._silence))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do what asyncio's do without being their subclasses.
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's own signature
        """Where the transport puts what it receives next."""
        return self._received

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes were received."""
        self.data_received(bytes(self._received[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take what was received."""
        self._heard_at = self._loop.time()
        if self._waiter is None:
            # Nothing was asked: the server is saying goodbye (408 on an idle connection), or is confused.
            self.close()
            return
        try:
            self._take(data)
        except ValueError as error:
            self._fail(BadAnswer(f"the server does not speak HTTP/1.1: {error}"))
            self.close()
        except AnswerTooLong as error:
            self._fail(error)
            self.close()

    def _take(self, data: bytes) -> None:
        body = self._body
        if body is None:
            self._head += data
            answer = self._take_head()
            if answer is None:
                return
            body = self._body = _Body(answer, self._limit)
            data = bytes(self._head)
            self._head.clear()
        if body.feed(data):
            self._deliver(body)

    def _take_head(self) -> Answer | None:
        """The head of the answer, once it is there. An interim answer (100 Continue) is passed over."""
        while (end := self._head.find(_HEAD_END)) >= 0:
            answer = parse_head(bytes(self._head[:end]))
            del self._head[: end + 4]
            if answer.status >= 200:
                return answer
            self._interim += 1
            if self._interim > _INTERIM_LIMIT:
                raise ValueError("endless interim answers")
        if len(self._head) > _HEAD_LIMIT:
            raise ValueError("endless headers")
        return None

    def _deliver(self, body: _Body) -> None:
        answer = body.finish()
        waiter, self._waiter, self._body = self._waiter, None, None
        if body.ends_with_connection or answer.headers.get("connection", "").lower() == "close":
            self.close()
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._body is not None and self._body.ends_with_connection and error is None:
            self._deliver(self._body)
        else:
            self._fail(AnswerLost(f"the server closed the connection before it answered{_because(error)}"))

    def _fail(self, error: ApiError) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)


def parse_head(head: bytes) -> Answer:
    """Status line and headers; ValueError when they are none. Of repeated headers the last wins."""
    if not head.startswith(b"HTTP/1.") or head[8:9] != b" ":
        first = head.partition(b"\r\n")[0].decode("latin-1")
        raise ValueError(f"the answer begins with {first[:40]!r}")
    headers = {name.decode().lower(): value.decode("latin-1").strip() for name, value in _READ_HEADERS.findall(head)}
    if head[7:8] == b"0":
        headers.setdefault("connection", "close")
    return Answer(int(head[9:12]), headers, b"")


class Pool:
    """Kept-alive connections to one server, at most `size` of them."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        size: int,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
        silence: float = inf,
    ) -> None:
        self._host = host
        self._port = port
        self._size = size
        self._silence = silence
        self._tls = tls
        self._server_hostname = server_hostname
        self._idle: list[Connection] = []
        self._open = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def exchange(self, request: bytes, deadline: float, *, limit: int | None = None) -> Answer:
        """Send one request and wait for its answer, `deadline` seconds in all; a body over `limit` is AnswerTooLong.

        Silence is raised where the pool does not bear it and nothing comes for so long.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        connection = self._idle_connection(started)
        if connection is None:
            try:
                async with asyncio.timeout(deadline):
                    connection = await self._acquire()
            except TimeoutError:
                raise Unreachable(f"no connection to {self._host} within {deadline:g} s") from None
        connection.listen(started + deadline, deadline, self._silence)
        try:
            return await connection.send(request, limit)
        except Silence:
            self._distrust(loop.time() - self._silence)
            raise
        finally:
            self._release(connection)

    async def close(self) -> None:
        """`retire`, and give the transports one turn of the loop to close."""
        self.retire()
        await asyncio.sleep(0)

    def retire(self) -> None:
        """Close what is idle; connections in use close as they are given back."""
        self._size = 0
        while self._idle:
            self._idle.pop().close()
            self._open -= 1

    def _distrust(self, since: float) -> None:
        """Connections on which nothing has come since then may be as dead as the one that was found to be."""
        for connection in [one for one in self._idle if one.idle_since < since]:
            self._idle.remove(connection)
            connection.close()
            self._open -= 1

    def _idle_connection(self, now: float) -> Connection | None:
        """A connection that nobody uses and that has not been idle for too long."""
        while self._idle:
            connection = self._idle.pop()
            if connection.open and now - connection.idle_since < IDLE_LIMIT:
                return connection
            connection.close()
            self._open -= 1
        return None

    async def _acquire(self) -> Connection:
        loop = asyncio.get_running_loop()
        while True:
            if (connection := self._idle_connection(loop.time())) is not None:
                return connection
            if self._open < max(self._size, 1):
                return await self._connect()
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_next()
                raise

    async def _connect(self) -> Connection:
        self._open += 1
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                Connection, self._host, self._port, ssl=self._tls, server_hostname=self._server_hostname
            )
        except BaseException as error:
            self._open -= 1
            self._wake_next()
            if isinstance(error, OSError):
                raise Unreachable(f"cannot connect to {self._host}:{self._port}{_because(error)}") from error
            raise
        return connection

    def _release(self, connection: Connection) -> None:
        if connection.busy:
            # Abandoned half way (deadline, cancellation): what comes back on it is nobody's.
            connection.close()
        if connection.open and self._size:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()
            self._open -= 1
        self._wake_next()

    def _wake_next(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


def _because(error: BaseException | None) -> str:
    return f": {error}" if error is not None and str(error) else ""
