import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from moorage.errors import InputError
from moorage.kube.access import ClusterAccess
from moorage.kube.credentials import Credential, StaticSource
from moorage.kube.errors import (
    AnswerLost,
    Conflict,
    DeadlineExceeded,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from moorage.kube.transport import MERGE_PATCH, Client

if TYPE_CHECKING:
    from tests.unit.kube.conftest import FakeApi, RawServers


class RotatingSource:
    """Hands out token 1, then token 2, ..."""

    def __init__(self) -> None:
        self.fetched = 0

    async def fetch(self) -> Credential:
        self.fetched += 1
        return Credential(f"Bearer {self.fetched}")


async def test_every_verb_carries_its_body_and_headers(api: "FakeApi") -> None:
    access = ClusterAccess(
        api.url, StaticSource(Credential("Bearer t")), headers=(("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    )
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        api.answer(method, "/x", {"ok": method})
    async with Client(access, user_agent="moorage/test") as client:
        assert json.loads(await client.get("/x", {"limit": 5, "labelSelector": "a in (b, c)"})) == {"ok": "GET"}
        await client.post("/x", b'{"a": 1}')
        await client.put("/x", b"{}")
        await client.patch("/x", b"{}", content_type=MERGE_PATCH)
        await client.delete("/x")
    get, post, _put, patch, delete = api.seen
    assert get.query == {"limit": "5", "labelSelector": "a in (b, c)"}
    assert get.headers["User-Agent"] == "moorage/test"
    assert get.headers["Authorization"] == "Bearer t"
    assert get.headers["Accept"] == "application/json"
    assert post.json == {"a": 1}
    assert post.headers["Content-Type"] == "application/json"
    assert patch.headers["Content-Type"] == MERGE_PATCH
    assert delete.body == b""


async def test_the_servers_path_is_kept(api: "FakeApi") -> None:
    api.answer("GET", "/k8s/clusters/c-1/api/v1/nodes", {})
    async with Client(ClusterAccess(api.url + "/k8s/clusters/c-1/")) as client:
        assert await client.get("/api/v1/nodes") == b"{}"


async def test_failures_come_as_their_types(api: "FakeApi", client: Client) -> None:
    api.answer("GET", "/a", {"reason": "Conflict", "message": "changed"}, status=409)
    api.answer("GET", "/b", {"message": "slow down"}, status=429, headers={"Retry-After": "3"})
    with pytest.raises(Conflict, match="changed"):
        await client.get("/a")
    with pytest.raises(TooManyRequests) as caught:
        await client.get("/b")
    assert caught.value.retry_after == 3.0


async def token_two_only(request: web.Request) -> web.StreamResponse:
    good = request.headers.get("Authorization") == "Bearer 2"
    if request.query.get("watch") and good:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"streamed")
        return response
    return web.json_response({"good": good}, status=200 if good else 401)


async def test_a_401_gets_one_more_try_with_fresh_credentials(api: "FakeApi") -> None:
    api.on("POST", "/x", token_two_only)
    source = RotatingSource()
    async with Client(ClusterAccess(api.url, source)) as client:
        assert json.loads(await client.post("/x", b"{}")) == {"good": True}
        await client.post("/x", b"{}")
    assert source.fetched == 2
    assert len(api.seen) == 3


async def test_a_stream_too_gets_one_more_try(api: "FakeApi") -> None:
    api.on("WATCH", "/x", token_two_only)
    async with (
        Client(ClusterAccess(api.url, RotatingSource())) as client,
        client.stream("/x", {"watch": "true"}, inactivity=5) as chunks,
    ):
        assert [chunk async for chunk in chunks] == [b"streamed"]


async def test_a_second_401_is_final(api: "FakeApi") -> None:
    api.answer("GET", "/x", {}, status=401)
    async with Client(ClusterAccess(api.url, RotatingSource())) as client:
        with pytest.raises(Unauthorized):
            await client.get("/x")
    assert len(api.seen) == 2


async def answer_once_per_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that keeps a connection alive, and drops it at the second request without a word."""
    while (await reader.readline()).strip():
        pass
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    await reader.readline()


async def test_a_get_on_a_connection_that_died_is_repeated_and_a_post_is_not(raw_servers: "RawServers") -> None:
    async with (
        raw_servers.serve(answer_once_per_connection) as port,
        Client(ClusterAccess(f"http://127.0.0.1:{port}")) as client,
    ):
        assert await client.get("/a") == b"{}"
        assert await client.get("/a") == b"{}"
        with pytest.raises(AnswerLost):
            await client.request("POST", "/a")


async def test_a_request_has_a_deadline(api: "FakeApi", client: Client) -> None:
    async def hang(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError("never reached")

    api.on("GET", "/x", hang)
    api.on("WATCH", "/x", hang)
    with pytest.raises(DeadlineExceeded):
        await client.get("/x", deadline=0.05)
    with pytest.raises(DeadlineExceeded):
        async with client.stream("/x", {"watch": "true"}, inactivity=5, deadline=0.05):
            pass


async def test_a_silent_stream_is_dead(api: "FakeApi", client: Client) -> None:
    api.watch("/x", b"hello")
    got: list[bytes] = []
    async with client.stream("/x", {"watch": "true"}, inactivity=0.1) as chunks:
        with pytest.raises(DeadlineExceeded, match="silent"):
            await gather(chunks, got)
    assert got == [b"hello"]


async def gather(chunks: AsyncIterator[bytes], into: list[bytes]) -> None:
    async for chunk in chunks:
        into.append(chunk)  # noqa: PERF401 - what came before an error counts


async def cut_mid_chunk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while (await reader.readline()).strip():
        pass
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n64\r\nhalf")
    await writer.drain()


async def test_a_stream_that_is_cut_says_so(raw_servers: "RawServers") -> None:
    got: list[bytes] = []
    async with (
        raw_servers.serve(cut_mid_chunk) as port,
        Client(ClusterAccess(f"http://127.0.0.1:{port}")) as client,
        client.stream("/x", inactivity=5) as chunks,
    ):
        with pytest.raises(AnswerLost, match="cut"):
            await gather(chunks, got)
    assert b"".join(got).startswith(b"hello")


async def test_nobody_there() -> None:
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with Client(ClusterAccess(f"127.0.0.1:{port}")) as client:
        with pytest.raises(Unreachable):
            await client.get("/x")
        with pytest.raises(Unreachable):
            async with client.stream("/x", inactivity=5):
                pass


@pytest.mark.parametrize("server", ["ftp://x", "https://", "https://x:port", "https://x:99999"])
def test_an_address_that_is_none_is_refused(server: str) -> None:
    with pytest.raises(InputError, match="expected https://HOST:PORT"):
        Client(ClusterAccess(server))


async def test_headers_and_paths_cannot_be_smuggled_in(api: "FakeApi") -> None:
    async with Client(ClusterAccess(api.url, StaticSource(Credential("Bearer a\r\nX: y")))) as client:
        with pytest.raises(InputError, match="line break"):
            await client.get("/x")
        with pytest.raises(ValueError, match="quote it"):
            await client.get("/x HTTP/1.1\r\nX: y")
    assert api.seen == []
