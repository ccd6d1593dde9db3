"""HTTP on its own: requests cut anywhere, several at once, answers that wait, clients that leave."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.apiserver.http1 import Connection, Incoming, Outgoing, Stream

LIMIT = 1000


class Transport(asyncio.Transport):
    """Takes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Peer:
    """A connection whose requests are echoed: method, target and body."""

    def __init__(self, handler: Any = None) -> None:
        self.seen: list[tuple[str, str, bytes]] = []
        self.transport = Transport()
        self.open: set[Connection] = set()
        self.connection = Connection(handler or self.echo, self.open, LIMIT)
        self.connection.connection_made(self.transport)

    def echo(self, request: Incoming, _: Connection) -> Outgoing:
        self.seen.append((request.method, request.target, request.body))
        return Outgoing(200, request.body)


REQUESTS = (
    b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
    b"PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n",
    b"POST /d HTTP/1.1\r\ntransfer-encoding: CHUNKED\r\n\r\n1\r\nz\r\n0\r\nTrailer: t\r\n\r\n",
    b"DELETE /e HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
)
MEANT = [
    ("GET", "/a", b""),
    ("POST", "/b", b"hello"),
    ("PUT", "/c", b"abcde"),
    ("POST", "/d", b"z"),
    ("DELETE", "/e", b""),
]
WHOLE = b"".join(REQUESTS)


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_requests_can_be_cut_anywhere(cuts: list[int]) -> None:
    async def exchange() -> None:
        peer = Peer()
        edges = [0, *sorted(cuts), len(WHOLE)]
        for start, end in itertools.pairwise(edges):
            peer.connection.data_received(WHOLE[start:end])
        assert peer.seen == MEANT
        assert peer.transport.written.count(b"HTTP/1.1 200 OK") == len(MEANT)

    asyncio.run(exchange())


@given(st.binary(max_size=80))
def test_any_bytes_are_answered_or_awaited(data: bytes) -> None:
    async def exchange() -> None:
        peer = Peer()
        peer.connection.data_received(data + b"\r\n\r\n")
        answered = peer.transport.written.startswith(b"HTTP/1.1 ")
        assert answered or not peer.transport.written
        assert answered or not peer.transport.is_closed

    asyncio.run(exchange())


async def test_answers_that_wait_keep_their_order() -> None:
    gate = asyncio.Event()

    async def later(request: Incoming) -> Outgoing:
        await gate.wait()
        return Outgoing(200, request.target.encode())

    peer = Peer(lambda request, _: later(request) if request.target == "/slow" else Outgoing(200, b"fast"))
    peer.connection.data_received(b"GET /slow HTTP/1.1\r\n\r\nGET /fast HTTP/1.1\r\n\r\n")
    await asyncio.sleep(0)
    assert peer.transport.written == b""
    gate.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert peer.transport.written.index(b"/slow") < peer.transport.written.index(b"fast")


async def test_streams_are_chunked_and_closed_when_the_client_leaves() -> None:
    closed = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"one\n"
        await asyncio.Event().wait()

    peer = Peer(lambda *_: Stream([], chunks(), closed.set))
    peer.connection.data_received(b"GET /watch HTTP/1.1\r\n\r\n")
    await asyncio.sleep(0.01)
    assert peer.transport.written.endswith(b"Transfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
    peer.connection.connection_lost(None)
    async with asyncio.timeout(5):
        await closed.wait()
    assert peer.open == set()


async def test_a_slow_reader_holds_the_stream_back() -> None:
    produced = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal produced
        for _ in range(3):
            produced += 1
            yield b"x"

    peer = Peer(lambda *_: Stream([], chunks(), lambda: None))
    peer.connection.pause_writing()
    peer.connection.data_received(b"GET /watch HTTP/1.1\r\n\r\n")
    await asyncio.sleep(0.01)
    assert produced == 1
    peer.connection.resume_writing()
    await asyncio.sleep(0.01)
    assert produced == 3
    assert peer.transport.written.endswith(b"0\r\n\r\n")


async def test_big_answers_go_out_in_pieces() -> None:
    body = b"x" * (3 * 1024 * 1024 + 5)
    peer = Peer(lambda *_: Outgoing(200, body))
    peer.connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
    await asyncio.sleep(0.01)
    assert peer.transport.written.endswith(body)


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 70_000, 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", 413),
    ],
)
async def test_what_is_too_large_is_refused_before_it_is_read(head: bytes, code: int) -> None:
    peer = Peer()
    peer.connection.data_received(head)
    assert peer.transport.written.startswith(f"HTTP/1.1 {code} ".encode())
    assert peer.transport.is_closed
    assert peer.seen == []


async def test_old_clients_are_let_go_after_one_answer() -> None:
    peer = Peer()
    peer.connection.data_received(b"GET / HTTP/1.0\r\n\r\n")
    assert b"Connection: close" in peer.transport.written
    assert peer.transport.is_closed


async def test_heads_have_no_body() -> None:
    peer = Peer(lambda *_: Outgoing(200, b"body"))
    peer.connection.data_received(b"HEAD / HTTP/1.1\r\n\r\n")
    assert peer.transport.written.endswith(b"Content-Length: 4\r\n\r\n")
