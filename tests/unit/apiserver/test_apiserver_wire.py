"""HTTP, TLS, users, discovery: the server as clients meet it."""

import asyncio
import json
import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from moorage.apiserver.certificates import KeyPair
from moorage.apiserver.http1 import Refused, parse_head
from moorage.apiserver.server import BODY_LIMIT, ApiServer, Options
from moorage.config import DEFAULT_FEATURES
from moorage.errors import InputError

Json = dict[str, Any]
Api = Any

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def running() -> AsyncIterator[ApiServer]:
    async with ApiServer(Options()) as server:
        yield server


def trust(server: ApiServer) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=server.ca.decode())


@pytest.fixture
async def http(running: ApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    """The admin, over HTTPS."""
    headers = {"Authorization": f"Bearer {running.admin_token}"}
    connector = aiohttp.TCPConnector(ssl=trust(running))
    async with aiohttp.ClientSession(running.url, headers=headers, connector=connector) as session:
        yield session


class Wire:
    """A connection on which bytes are written as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def exchange(self, data: bytes) -> tuple[int, bytes]:
        """Send bytes, read one answer: its code and body."""
        self.writer.write(data)
        async with asyncio.timeout(10):
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines[1:] if line)
            body = await self.reader.readexactly(int(headers["Content-Length"]))
        return int(lines[0].split()[1]), body


@pytest.fixture
async def wire(running: ApiServer) -> AsyncIterator[Wire]:
    port = int(running.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust(running), server_hostname="localhost")
    yield Wire(reader, writer)
    writer.close()


async def test_health_and_version_need_no_user(running: ApiServer) -> None:
    connector = aiohttp.TCPConnector(ssl=trust(running))
    async with aiohttp.ClientSession(running.url, connector=connector) as session:
        for path in ("/healthz", "/livez", "/readyz"):
            async with session.get(path) as answer:
                assert (answer.status, await answer.text()) == (200, "ok")
        async with session.get("/version") as answer:
            assert (await answer.json())["gitVersion"] == DEFAULT_FEATURES.release
        for path in ("/api", PODS, "/metrics", "/openapi/v2"):
            async with session.get(path) as answer:
                assert answer.status == 401
                assert (await answer.json())["reason"] == "Unauthorized"
        async with session.get("/api", headers={"Authorization": "Bearer wrong"}) as answer:
            assert answer.status == 401


async def test_client_certificates(running: ApiServer, tmp_path: Path) -> None:
    def client(pair: KeyPair) -> aiohttp.ClientSession:
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes(pair.key)
        context = trust(running)
        context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
        return aiohttp.ClientSession(running.url, connector=aiohttp.TCPConnector(ssl=context))

    async with client(running.authority.client("ann", ("crew",))) as session:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        async with session.post(path, json={}) as answer:
            user = (await answer.json())["status"]["userInfo"]
    assert user == {"username": "ann", "groups": ["crew", "system:authenticated"]}


async def test_strangers_are_not_trusted(running: ApiServer) -> None:
    async with aiohttp.ClientSession(running.url) as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get("/healthz")


async def test_objects_over_http(http: aiohttp.ClientSession) -> None:
    body = {"metadata": {"name": "a"}, "nosuch": 1}
    async with http.post("/api/v1/namespaces/default/configmaps", json=body) as answer:
        assert answer.status == 201
        assert answer.headers["Warning"] == '299 - "unknown field \\"nosuch\\""'
    async with http.get("/api/v1/namespaces/default/configmaps?labelSelector=%21x&limit=5") as answer:
        assert [item["metadata"]["name"] for item in (await answer.json())["items"]] == ["a"]
    async with http.head("/api/v1/namespaces/default/configmaps/a") as answer:
        assert answer.status == 200


async def test_watches_over_http(http: aiohttp.ClientSession) -> None:
    async with http.get(f"{PODS}?watch=true&timeoutSeconds=30") as stream:
        pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        async with http.post(PODS, json=pod) as answer:
            assert answer.status == 201
        line = await stream.content.readline()
        assert json.loads(line)["type"] == "ADDED"


async def test_big_lists_arrive_whole(http: aiohttp.ClientSession) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    for number in range(6):
        async with http.post(path, json={"metadata": {"name": f"c{number}"}, "data": {"x": "y" * 900_000}}) as answer:
            assert answer.status == 201
    async with http.get(path) as answer:
        assert [len(item["data"]["x"]) for item in (await answer.json())["items"]] == [900_000] * 6


async def test_bodies_that_are_too_large(http: aiohttp.ClientSession, wire: Wire) -> None:
    code, _ = await wire.exchange(b"POST /api HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_LIMIT + 1))
    assert code == 413


async def test_chunked_bodies_and_pipelining(running: ApiServer, wire: Wire) -> None:
    token = running.admin_token.encode()
    head = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nAuthorization: Bearer " + token + b"\r\n"
    head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b'8\r\n{"metada\r\n14;x=y\r\nta": {"name": "a"}}\n\r\n0\r\nTrailer: x\r\n\r\n'
    second = b"GET /healthz HTTP/1.1\r\n\r\n"
    wire.writer.write(head + body[:11])
    await wire.writer.drain()
    code, _ = await wire.exchange(body[11:] + second)
    assert code == 201
    assert await wire.exchange(b"") == (200, b"ok")


async def test_expect_continue(running: ApiServer, wire: Wire) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
    wire.writer.write(head + b"Authorization: Bearer " + running.admin_token.encode() + b"\r\n\r\n")
    async with asyncio.timeout(10):
        assert await wire.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (await wire.exchange(b"{}"))[0] == 404


@pytest.mark.parametrize(
    "head",
    [
        b"GET",
        b"GET /",
        b"GET / HTTP/2.0",
        b"GET nowhere HTTP/1.1",
        b"GET / HTTP/1.1\r\nno colon",
        b"GET / HTTP/1.1\r\n folded: x",
        b"GET / HTTP/1.1\r\nspace : x",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
    ],
)
def test_heads_that_are_no_http(head: bytes) -> None:
    with pytest.raises(Refused):
        parse_head(head)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"nonsense\r\n\r\n",
    ],
)
async def test_nonsense_is_refused_and_the_connection_closed(wire: Wire, data: bytes) -> None:
    code, _ = await wire.exchange(data)
    assert code == 400
    async with asyncio.timeout(10):
        assert await wire.reader.read() == b""


async def test_connections_close_when_asked(wire: Wire) -> None:
    assert (await wire.exchange(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"))[0] == 200
    async with asyncio.timeout(10):
        assert await wire.reader.read() == b""


async def test_metrics(http: aiohttp.ClientSession) -> None:
    async with http.get(PODS), http.get("/nowhere"):
        pass
    async with http.get("/metrics") as answer:
        text = await answer.text()
    assert 'apiserver_request_total{code="200",group="",resource="pods",verb="LIST",version="v1"} 1.0' in text
    assert 'apiserver_resource_objects{resource="namespaces"} 4.0' in text


async def test_the_kubeconfig_is_the_owners_alone(running: ApiServer, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    running.write_kubeconfig(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert running.admin_token in path.read_text()
    with pytest.raises(InputError, match="cannot write the kubeconfig"):
        running.write_kubeconfig(tmp_path / "nowhere" / "kubeconfig")


async def test_a_port_that_is_taken(running: ApiServer) -> None:
    port = int(running.url.rpartition(":")[2])
    with pytest.raises(InputError, match="cannot listen"):
        async with ApiServer(Options(port=port)):
            pytest.fail("two servers cannot share a port")


async def test_watches_end_when_the_server_stops() -> None:
    async with ApiServer(Options()) as server:
        connector = aiohttp.TCPConnector(ssl=trust(server))
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        session = aiohttp.ClientSession(server.url, headers=headers, connector=connector)
        stream = await session.get("/api/v1/namespaces?watch=true&resourceVersion=1000")
    async with asyncio.timeout(10):
        await stream.content.read()
    stream.release()
    await session.close()


def test_discovery(api: Api) -> None:
    assert api.get("/api")["versions"] == ["v1"]
    core = {r["name"]: r for r in api.get("/api/v1")["resources"]}
    assert core["pods"]["shortNames"] == ["po"]
    assert core["pods/binding"] == {
        "name": "pods/binding", "singularName": "", "namespaced": True, "kind": "Binding", "verbs": ["create"],
    }  # fmt: skip
    assert core["pods/eviction"]["group"] == "policy"
    groups = {g["name"]: g for g in api.get("/apis")["groups"]}
    assert groups["apps"]["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert api.get("/apis/apps")["kind"] == "APIGroup"
    assert api("GET", "/apis/nosuch").code == 404
    assert "/apis/apps/v1" in api.get("/")["paths"]


def test_aggregated_discovery(api: Api) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    found = api("GET", "/apis", accept=accept).body
    assert found["kind"] == "APIGroupDiscoveryList"
    [apps] = [group for group in found["items"] if group["metadata"]["name"] == "apps"]
    resources = {r["resource"]: r for r in apps["versions"][0]["resources"]}
    assert resources["deployments"]["scope"] == "Namespaced"
    assert {s["subresource"] for s in resources["deployments"]["subresources"]} == {"status", "scale"}


def test_openapi(api: Api) -> None:
    index = api.get("/openapi/v3")["paths"]
    assert index["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")
    document = api.get("/openapi/v3/api/v1")
    spec = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]
    assert spec["required"] == ["containers"]
    containers = spec["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert api.get("/openapi/v2")["definitions"]["io.k8s.api.apps.v1.Deployment"]
    assert api("GET", "/openapi/v2", accept="application/xml").code == 406
    assert api("GET", "/openapi/v3/apis/nosuch/v1").code == 404
