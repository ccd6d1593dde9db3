import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.kube.errors import AnswerLost, AnswerTooLong, BadAnswer, DeadlineExceeded, Silence, Unreachable
from moorage.kube.http1 import Answer, Connection, Pool

if TYPE_CHECKING:
    from tests.unit.kube.conftest import RawServers

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class NullTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def write(self, data: object) -> None: ...

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


async def receive(
    pieces: list[bytes], *, then_close: bool = False, limit: int | None = None
) -> tuple[Answer, Connection]:
    connection = Connection()
    connection.connection_made(NullTransport())
    waiter = connection.send(REQUEST, limit)
    for piece in pieces:
        connection.data_received(piece)
    if then_close:
        connection.connection_lost(None)
    async with asyncio.timeout(1):
        return await waiter, connection


def chunked(*chunks: bytes, trailer: bytes = b"") -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n" + trailer + b"\r\n"


WHOLE_ANSWERS = [
    (OK, b"hi"),
    (b"HTTP/1.1 201 Created\r\nA: b\r\ncontent-LENGTH: 0\r\n\r\n", b""),
    (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"hi"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 2 + OK, b"hi"),
    (chunked(b"one", b"two" * 10), b"one" + b"two" * 10),
    (chunked(), b""),
    (chunked(b"\r\n\r\n0\r\n\r\n", trailer=b"X: y\r\n"), b"\r\n\r\n0\r\n\r\n"),
]


@pytest.mark.parametrize(("raw", "body"), WHOLE_ANSWERS)
async def test_an_answer_is_the_same_wherever_the_network_cuts_it(raw: bytes, body: bytes) -> None:
    for cut in range(1, len(raw)):
        answer, connection = await receive([raw[:cut], raw[cut:]])
        assert answer.body == body
        assert connection.open
    answer, _ = await receive([raw[i : i + 1] for i in range(len(raw))])
    assert answer.body == body


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.data())
async def test_chunked_bodies_survive_any_cutting(chunks: list[bytes], data: st.DataObject) -> None:
    raw = chunked(*chunks)
    cuts = sorted(data.draw(st.lists(st.integers(1, len(raw) - 1), max_size=6)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True) if a < b]
    answer, _ = await receive(pieces)
    assert answer.body == b"".join(chunks)


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    raw = b"HTTP/1.1 200 OK\r\n\r\nall there is"
    answer, _ = await receive([raw], then_close=True)
    assert answer.body == b"all there is"


async def test_a_server_that_says_close_is_not_asked_again_on_that_connection() -> None:
    _, connection = await receive([b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"])
    assert not connection.open
    _, connection = await receive([b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"])
    assert not connection.open


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhi\r\n",
        # What never comes to an end, and would be kept as long as it comes.
        b"HTTP/1.1 102 Processing\r\n\r\n" * 3000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 200_000,
    ],
    ids=lambda raw: repr(raw[:20]),
)
async def test_what_is_no_http_is_a_bad_answer(raw: bytes) -> None:
    with pytest.raises(BadAnswer):
        await receive([raw])


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nabc",
        chunked(b"abc", b"d" * 17),
        b"HTTP/1.1 200 OK\r\n\r\nabc" + b"d" * 17,
    ],
)
async def test_a_body_longer_than_wanted_is_not_read(raw: bytes) -> None:
    with pytest.raises(AnswerTooLong, match="longer than 19 bytes") as caught:
        await receive([raw], limit=19)
    assert caught.value.start in (b"", b"abc", b"abc" + b"d" * 17)
    with pytest.raises(AnswerTooLong):
        await receive([raw[:-1], raw[-1:]], limit=2)


@pytest.mark.parametrize(("raw", "body"), WHOLE_ANSWERS)
async def test_a_body_just_as_long_as_wanted(raw: bytes, body: bytes) -> None:
    answer, connection = await receive([raw], limit=len(body))
    assert answer.body == body
    assert connection.open


async def test_a_connection_that_ends_before_the_answer_loses_it() -> None:
    with pytest.raises(AnswerLost):
        await receive([OK[:-1]], then_close=True)


async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.readline():
        while (await reader.readline()).strip():
            pass
        writer.write(OK)


async def test_connections_are_kept_and_bounded(raw_servers: "RawServers") -> None:
    connections = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await answer_all(reader, writer)

    async with raw_servers.serve(count) as port:
        pool = Pool("127.0.0.1", port, size=3)
        answers = await asyncio.gather(*(pool.exchange(REQUEST, 5) for _ in range(30)))
        assert [answer.body for answer in answers] == [b"hi"] * 30
        assert connections == 3
        await pool.close()


async def test_silence_ends_with_the_deadline_and_frees_the_connection(raw_servers: "RawServers") -> None:
    silent = True

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if silent:
            await reader.read()
        else:
            await answer_all(reader, writer)

    async with raw_servers.serve(handle) as port:
        pool = Pool("127.0.0.1", port, size=1)
        with pytest.raises(DeadlineExceeded):
            await pool.exchange(REQUEST, 0.05)
        silent = False
        assert (await pool.exchange(REQUEST, 5)).body == b"hi"
        await pool.close()


async def test_a_silent_connection_is_given_up_with_those_that_were_idle_before(raw_servers: "RawServers") -> None:
    """What is between us and the server has forgotten our connections: they stay open and carry nothing."""
    forgotten = asyncio.Event()
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        old = not forgotten.is_set()
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            if not (old and forgotten.is_set()):
                await asyncio.sleep(0.05)
                writer.write(OK)

    async with raw_servers.serve(handle) as port:
        pool = Pool("127.0.0.1", port, size=3, silence=0.2)
        await asyncio.gather(*(pool.exchange(REQUEST, 5) for _ in range(3)))
        forgotten.set()
        with pytest.raises(Silence):
            await pool.exchange(REQUEST, 5)
        assert (await pool.exchange(REQUEST, 5)).body == b"hi"
        assert connections == 4
        await pool.close()


async def test_an_answer_that_comes_slowly_is_no_silence(raw_servers: "RawServers") -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for byte in OK:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.01)

    async with raw_servers.serve(handle) as port:
        pool = Pool("127.0.0.1", port, size=1, silence=0.15)
        assert (await pool.exchange(REQUEST, 20)).body == b"hi"
        await pool.close()


async def test_waiting_for_a_connection_counts_as_not_sent(raw_servers: "RawServers") -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw_servers.serve(handle) as port:
        pool = Pool("127.0.0.1", port, size=1)
        first = asyncio.create_task(pool.exchange(REQUEST, 30))
        await asyncio.sleep(0.05)
        with pytest.raises(Unreachable):
            await pool.exchange(REQUEST, 0.05)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await pool.close()


async def test_nobody_listens() -> None:
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(Unreachable, match="cannot connect"):
        await Pool("127.0.0.1", port, size=1).exchange(REQUEST, 5)


async def test_a_cancelled_request_leaves_no_answer_for_the_next(raw_servers: "RawServers") -> None:
    asked = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            asked += 1
            body = b"%d" % asked
            await asyncio.sleep(0.1 if asked == 1 else 0)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    async with raw_servers.serve(handle) as port:
        pool = Pool("127.0.0.1", port, size=1)
        first = asyncio.create_task(pool.exchange(REQUEST, 5))
        await asyncio.sleep(0.03)
        first.cancel()
        answer = await pool.exchange(REQUEST, 5)
        assert answer.body == b"2"
        await pool.close()


async def test_what_nobody_asked_for_closes_the_connection() -> None:
    connection = Connection()
    connection.connection_made(NullTransport())
    connection.data_received(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert not connection.open
