"""An extender over HTTP: what goes in and out, who is let in, and what hostile callers get."""

import asyncio
import contextlib
import json
import logging
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from moorage.apiserver.certificates import load_or_create
from moorage.columns import PodInfo
from moorage.config.gates import features_of
from moorage.engine.engine import default_registry
from moorage.errors import InputError
from moorage.extender import ExtenderService, aiohttp_app, asgi_app, make_extender
from moorage.extender.configuring import plugins_config, register
from moorage.extender.guarding import Guard, Limits, server_context
from moorage.extender.mounting import serving
from moorage.framework import CycleState, Node, NodeInfo, Status, unresolvable, unschedulable

POD = {"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": {"containers": [{"name": "main"}]}}


class ByLabel:
    """The label `answer` of a node says what to answer."""

    def __init__(self, args: Any, handle: Any) -> None: ...

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        match node.labels.get("answer"):
            case "no":
                return unschedulable("not now")
            case "never":
                return unresolvable("never")
            case "break":
                raise RuntimeError("out of luck")
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return int(node.labels.get("score", "0"))


class ByLabelAndReserving(ByLabel):
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None: ...

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "more": {"than": "we read"}}


def whole(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"Pod": POD, "Nodes": {"metadata": {}, "items": list(nodes)}, "NodeNames": None}


@pytest.fixture
def service() -> ExtenderService:
    return make_extender(ByLabel, whole_nodes=True)


async def asked(service: ExtenderService, verb: str, body: Any) -> Any:
    reply = await service.answer(verb, body if isinstance(body, bytes) else json.dumps(body).encode())
    assert reply.status == 200, reply.body
    return json.loads(reply.body)


class TestAnswers:
    async def test_whole_nodes_come_back_whole(self, service: ExtenderService) -> None:
        good = node("a", answer="yes")
        body = whole(good, node("b", answer="no"), node("c", answer="never"))
        assert await asked(service, "filter", body) == {
            "Nodes": {"metadata": {}, "items": [good]},
            "NodeNames": None,
            "FailedNodes": {"b": "not now"},
            "FailedAndUnresolvableNodes": {"c": "never"},
            "Error": "",
        }

    async def test_nodes_that_change_or_are_not_sent_any_more(self, service: ExtenderService) -> None:
        await asked(service, "filter", whole(node("a", answer="no"), node("b")))
        answer = await asked(service, "filter", whole(node("a")))
        assert [item["metadata"]["name"] for item in answer["Nodes"]["items"]] == ["a"]
        assert [info.name for info in service.cluster.snapshot.nodes] == ["a"]

    async def test_the_casing_of_old_versions(self, service: ExtenderService) -> None:
        body = {"pod": POD, "nodes": {"items": [node("a")]}, "nodenames": None}
        assert (await asked(service, "filter", body))["Error"] == ""

    async def test_nodes_in_neither_form(self, service: ExtenderService) -> None:
        answer = await asked(service, "filter", {"Pod": POD})
        assert (answer["NodeNames"], answer["Error"]) == ([], "")
        assert await asked(service, "prioritize", {"Pod": POD}) == []

    async def test_scores_in_tens(self, service: ExtenderService) -> None:
        body = whole(node("a", score="100"), node("b", score="44"), node("c", score="45"))
        scores = await asked(service, "prioritize", body)
        assert scores == [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 4}, {"Host": "c", "Score": 5}]

    async def test_weights_and_arguments_come_from_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "config.yaml"
        entries = [{"name": "ByLabel", "weight": 3}, {"name": "NodeResourcesFit"}]
        profile = {"plugins": {"multiPoint": {"enabled": entries}}}
        document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        file.write_text(json.dumps({**document, "profiles": [profile]}))
        service = make_extender(ByLabel, whole_nodes=True, config=file)
        assert await asked(service, "prioritize", whole(node("a", score="70"))) == [{"Host": "a", "Score": 7}]
        file.write_text(json.dumps({**document, "profiles": [{}]}))
        with pytest.raises(InputError, match="ByLabel is enabled nowhere"):
            make_extender(ByLabel, whole_nodes=True, config=file)

    @pytest.mark.parametrize("version", ["1.36", "1.37"])
    async def test_plugins_are_told_whose_decisions_to_take(self, version: str) -> None:
        class Telling:
            def __init__(self, _args: Any, handle: Any) -> None:
                self.handle = handle

            def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
                return unschedulable(self.handle.features.version)

        registry = default_registry()
        names = register(registry, [Telling])
        config = plugins_config(registry, names, None, features=features_of(version))
        answer = await asked(ExtenderService(config, registry, None), "filter", whole(node("a")))
        assert answer["FailedNodes"] == {"a": version}

    async def test_a_plugin_that_breaks(self, service: ExtenderService) -> None:
        answer = await asked(service, "filter", whole(node("a", answer="break")))
        assert 'running "ByLabel" filter plugin: RuntimeError: out of luck' in answer["Error"]
        assert answer["NodeNames"] is None
        reply = await service.answer("prioritize", json.dumps(whole(node("a", score="900"))).encode())
        assert reply.status == 500
        assert b"ByLabel" in reply.body

    async def test_verbs_that_the_plugins_have_nothing_to_say_on(self, service: ExtenderService) -> None:
        assert service.verbs == ("filter", "prioritize")
        for verb in ("bind", "preempt", "etc/passwd", ""):
            reply = await service.answer(verb, b"{}")
            assert (reply.status, b"served: filter, prioritize" in reply.body) == (404, True)


HOSTILE: list[bytes] = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"<xml/>",
    b"\xff\xfe",
    b'{"Pod":null}',
    b'{"Pod":7,"NodeNames":["a"]}',
    b'{"Pod":{"spec":{"containers":"none"}},"NodeNames":["a"]}',
    b'{"Pod":{"spec":{"containers":[{"resources":{"requests":{"cpu":"lots"}}}]}},"NodeNames":["a"]}',
    b'{"Pod":{},"NodeNames":"a"}',
    b'{"Pod":{},"NodeNames":[1]}',
    b'{"Pod":{},"Nodes":{"items":[{"metadata":5}]}}',
    b'{"Pod":{},"Nodes":{"items":["a"]}}',
    b"[" * 50_000,
]


@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: repr(body[:40]))
async def test_junk_is_answered_and_harms_nobody(service: ExtenderService, body: bytes) -> None:
    answer = await asked(service, "filter", body)
    assert answer["Error"]
    assert answer["NodeNames"] is answer["Nodes"] is None
    assert (await service.answer("prioritize", body)).status == 400
    assert (await asked(service, "filter", whole(node("a"))))["Error"] == ""


# ----------------------------------------------------------------------------------------------------------- over HTTP


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as one:
        yield one


def at(service: ExtenderService, **more: Any) -> AbstractAsyncContextManager[int]:
    limits = more.pop("limits", None)
    tls = more.pop("tls", None)
    return serving(aiohttp_app(service, limits=limits, **more), "127.0.0.1", 0, tls=tls, limits=limits)


_HEAD = b"POST /filter HTTP/1.1\r\nHost: x\r\n"
MALFORMED: dict[str, tuple[bytes, str]] = {
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "HTTPS traffic on an HTTP port"),
    "no HTTP": (b"hello\r\n\r\n", "sent what is no request"),
    "a length that is none": (_HEAD + b"Content-Length: -5\r\n\r\n{}", "sent what is no request"),
    "a header that is none": (_HEAD + b"X\r\n\r\n", "sent what is no request"),
    "a chunk that is none": (_HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n", "sent what is no request"),
    "a long line": (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", "sent what is no request"),
    "no gzip": (_HEAD + b"Content-Encoding: gzip\r\nContent-Length: 6\r\n\r\nabcdef", "a body that cannot be read"),
    "a body cut short": (_HEAD + b"Content-Length: 50\r\n\r\n{", "a body that cannot be read"),
}


class TestHttp:
    async def test_served_on_its_own(self, service: ExtenderService, session: aiohttp.ClientSession) -> None:
        async with at(service) as port:
            url = f"http://127.0.0.1:{port}"
            async with session.post(f"{url}/filter", json=whole(node("a"))) as answer:
                assert answer.content_type == "application/json"
                assert (await answer.json())["Nodes"]["items"] == [node("a")]
            for path in ("/healthz", "/livez", "/readyz"):
                async with session.get(url + path) as answer:
                    assert (answer.status, await answer.text()) == (200, "ok")
            async with session.get(f"{url}/metrics") as answer:
                text = await answer.text()
            assert 'moorage_extender_request_duration_seconds_count{outcome="ok",verb="filter"} 1.0' in text
            async with session.get(f"{url}/filter") as answer:
                assert answer.status == 404

    async def test_mounted_in_an_application(self, service: ExtenderService, session: aiohttp.ClientSession) -> None:
        outer = web.Application()
        outer.add_subapp("/plugins", aiohttp_app(service))
        runner = web.AppRunner(outer)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/plugins/prioritize"
        async with session.post(url, json=whole(node("a", score="50"))) as answer:
            assert await answer.json() == [{"Host": "a", "Score": 5}]
        await runner.cleanup()

    async def test_a_body_beyond_the_limit(self, service: ExtenderService, session: aiohttp.ClientSession) -> None:
        async with (
            at(service, limits=Limits(body=1000)) as port,
            session.post(f"http://127.0.0.1:{port}/filter", data=b" " * 1001) as answer,
        ):
            assert answer.status == 413

    async def test_a_body_that_does_not_come(self, service: ExtenderService) -> None:
        async with at(service, limits=Limits(body_seconds=0.05)) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            assert b" 408 " in await reader.readline()
            writer.close()

    async def test_a_caller_that_says_nothing_is_hung_up_on(
        self, service: ExtenderService, session: aiohttp.ClientSession
    ) -> None:
        async with at(service, limits=Limits(head_seconds=0.05)) as port:
            url = f"http://127.0.0.1:{port}/healthz"
            async with session.get(url):
                pass
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /fil")
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
            async with session.get(url) as answer:
                assert answer.status == 200, "who spoke is still heard"

    async def test_a_port_that_is_taken(self, service: ExtenderService) -> None:
        async with at(service) as port:
            with pytest.raises(InputError, match="cannot listen"):
                async with serving(aiohttp_app(make_extender(ByLabel, whole_nodes=True)), "127.0.0.1", port):
                    pass

    @pytest.mark.parametrize("sent", MALFORMED, ids=list(MALFORMED))
    async def test_a_malformed_request_is_a_line_in_the_log(
        self, service: ExtenderService, sent: str, caplog: pytest.LogCaptureFixture, session: aiohttp.ClientSession
    ) -> None:
        raw, line = MALFORMED[sent]
        async with at(service) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(raw)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b"" or sent != "a body cut short"
            writer.close()
            async with session.post(f"http://127.0.0.1:{port}/filter", json=whole(node("a"))) as answer:
                assert answer.status == 200
        told = [one for one in caplog.records if one.levelno >= logging.WARNING]
        assert [(line in one.getMessage(), one.exc_info, "\n" in one.getMessage()) for one in told] == [
            (True, None, False)
        ]


class Living(ByLabel):
    """Has a life of its own beside the answers."""

    def __init__(self, args: Any, handle: Any) -> None:
        self.handle = handle
        self.lived: list[str] = []

    async def start(self) -> None:
        self.lived.append("started")
        self.handle.spawn(self.work())
        await self.handle.host.sleep(0)

    async def work(self) -> None:
        self.lived.append("working")
        try:
            await asyncio.Event().wait()
        finally:
            self.lived.append("cancelled")

    async def stop(self) -> None:
        self.lived.append("stopped")


class TestLifecycle:
    async def test_start_work_and_stop(self, session: aiohttp.ClientSession) -> None:
        service = make_extender(Living, whole_nodes=True)
        plugin: Living = service.plugin("Living")
        assert plugin.lived == []
        async with at(service) as port:
            async with session.post(f"http://127.0.0.1:{port}/filter", json=whole(node("a"))) as answer:
                assert answer.status == 200
            assert plugin.lived == ["started", "working"]
        assert plugin.lived == ["started", "working", "cancelled", "stopped"]

    @pytest.mark.parametrize("where", ["start", "work"])
    async def test_what_breaks_is_told_and_shown_by_readyz(
        self, where: str, session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def broken(_self: Living) -> None:
            raise KeyError("tide")

        service = make_extender(type("Living", (Living,), {where: broken}), whole_nodes=True)
        async with at(service) as port:
            url = f"http://127.0.0.1:{port}"
            async with session.get(f"{url}/readyz") as answer:
                assert (answer.status, "has broken: the log says how" in await answer.text()) == (503, True)
            async with session.post(f"{url}/filter", json=whole(node("a"))) as answer:
                assert (await answer.json())["Error"] == "", "it answers all the same"
        assert [one for one in caplog.messages if "KeyError: 'tide' (at extender/test_extender_serving.py:" in one]

    async def test_an_end_that_hangs_is_not_waited_for(self, caplog: pytest.LogCaptureFixture) -> None:
        async def stop(_self: Living) -> None:
            await asyncio.Event().wait()

        service = make_extender(type("Living", (Living,), {"stop": stop}), whole_nodes=True)
        async with at(service):
            pass
        assert "plugins were not stopped within 1.5 s" in caplog.text

    async def test_without_a_cluster_nothing_is_read(self) -> None:
        service = make_extender(Living, whole_nodes=True)
        with pytest.raises(RuntimeError, match="no cluster is followed here"):
            await service.plugin("Living").handle.host.read(Node, "a")
        with pytest.raises(RuntimeError, match="nothing can be bound"):
            await service.plugin("Living").handle.host.bind(None, "a")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"events_to_register": lambda _: [7]}, "events_to_register: answered 7"),
        ({"reads": ("ConfigMap",)}, "reads has 'ConfigMap'"),
        ({"writes": "Pod"}, "writes is 'Pod'"),
    ],
)
def test_what_a_plugin_declares_wrongly_is_told_before_anything_is_opened(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=f"plugin ByLabel: {re.escape(problem)}"):
        make_extender(type("ByLabel", (ByLabel,), said), whole_nodes=True)


class TestGuard:
    async def test_a_token(self, service: ExtenderService, session: aiohttp.ClientSession, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("secret\n")
        async with at(service, guard=Guard(token_file=file)) as port:
            url = f"http://127.0.0.1:{port}"
            for header, status in (("", 401), ("Bearer wrong", 401), ("Basic secret", 401), ("Bearer secret", 200)):
                async with session.post(
                    f"{url}/filter", json=whole(), headers={"Authorization": header} if header else {}
                ) as answer:
                    assert answer.status == status
            async with session.get(f"{url}/metrics") as answer:
                assert answer.status == 401
            async with session.get(f"{url}/healthz") as answer:
                assert answer.status == 200

    def test_a_token_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="--token-file"):
            Guard(token_file=tmp_path / "nowhere")
        (tmp_path / "token").write_text("\n")
        with pytest.raises(InputError, match="is empty"):
            Guard(token_file=tmp_path / "token")

    async def test_certificates_of_callers(self, service: ExtenderService, tmp_path: Path) -> None:
        authority = load_or_create(tmp_path)
        for name, pair in (("server", authority.server(("127.0.0.1",))), ("client", authority.client("scheduler"))):
            (tmp_path / f"{name}.crt").write_bytes(pair.certificate)
            (tmp_path / f"{name}.key").write_bytes(pair.key)
        tls = server_context(tmp_path / "server.crt", tmp_path / "server.key", tmp_path / "ca.crt")
        async with at(service, tls=tls, guard=Guard(certificates=True)) as port:
            for certificate, path, status in ((False, "filter", 401), (True, "filter", 200), (False, "healthz", 200)):
                context = ssl.create_default_context(cafile=tmp_path / "ca.crt")
                if certificate:
                    context.load_cert_chain(tmp_path / "client.crt", tmp_path / "client.key")
                connector = aiohttp.TCPConnector(ssl=context)
                async with aiohttp.ClientSession(connector=connector) as session:
                    url = f"https://127.0.0.1:{port}/{path}"
                    asking = session.get(url) if path == "healthz" else session.post(url, json=whole())
                    async with asking as answer:
                        assert answer.status == status

    def test_certificates_that_are_none(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="--tls-cert"):
            server_context(tmp_path / "no.crt", tmp_path / "no.key", None)


class TestAsgi:
    async def call(
        self, service: ExtenderService, method: str, path: str, *body: bytes, **more: Any
    ) -> tuple[int, bytes]:
        application = asgi_app(service, **more)
        pieces = [{"type": "http.request", "body": piece, "more_body": True} for piece in body]
        incoming = iter([*pieces, {"type": "http.request", "body": b"", "more_body": False}])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(incoming)

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": f"/mount{path}", "root_path": "/mount", "headers": []}
        await application(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]

    async def test_mounted_it_starts_with_its_first_request(self, service: ExtenderService) -> None:
        body = json.dumps(whole(node("a", score="50"))).encode()
        status, answer = await self.call(service, "POST", "/prioritize", body[:9], body[9:])
        assert (status, json.loads(answer)) == (200, [{"Host": "a", "Score": 5}])
        assert await self.call(service, "GET", "/readyz") == (200, b"ok")

    async def test_limits_and_credentials(self, service: ExtenderService, tmp_path: Path) -> None:
        assert (await self.call(service, "POST", "/filter", b"123", limits=Limits(body=2)))[0] == 413
        (tmp_path / "token").write_text("secret")
        guard = Guard(token_file=tmp_path / "token")
        assert (await self.call(service, "POST", "/filter", guard=guard))[0] == 401

    async def test_lifespan(self, service: ExtenderService) -> None:
        application = asgi_app(service)
        incoming = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
        sent: list[str] = []

        async def receive() -> Any:
            return next(incoming)

        async def send(message: Any) -> None:
            sent.append(message["type"])

        await application({"type": "lifespan"}, receive, send)
        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
