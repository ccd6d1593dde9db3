import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.extender.conftest import Webhook, serving

from moorage.apiserver.certificates import load_or_create
from moorage.config import Extender, ExtenderTLSConfig
from moorage.engine.asking import ChosenVictims, FilterAnswer
from moorage.errors import ExtenderError, InputError
from moorage.extender import wire
from moorage.extender.client import ExtenderClient, NodesInQuestion
from moorage.values.duration import Duration

POD = msgspec.Raw(b'{"metadata":{"name":"p"}}')
NAMES = NodesInQuestion(["a", "b"])
WHOLE = NodesInQuestion(["a", "b"], [msgspec.Raw(b'{"metadata":{"name":"%s"}}' % name) for name in (b"a", b"b")])


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def client_of(webhook: Webhook, **more: Any) -> ExtenderClient:
    timeout = more.pop("timeout", 5.0)
    fields = {name: more.pop(name) for name in list(more) if name in Extender.__struct_fields__}
    config = Extender(
        **{
            "url_prefix": webhook.url,
            "filter_verb": "filter",
            "prioritize_verb": "prioritize",
            "preempt_verb": "preempt",
            "bind_verb": "bind",
            "weight": 1,
            "http_timeout": Duration(int(timeout * 1_000_000_000)),
            **fields,
        }
    )
    return ExtenderClient(config, **more)


@pytest.fixture
async def client(webhook: Webhook) -> AsyncIterator[ExtenderClient]:
    async with client_of(webhook) as one:
        yield one


class TestAsking:
    async def test_filter_by_name(self, webhook: Webhook, client: ExtenderClient) -> None:
        webhook.answer({"NodeNames": ["b"], "FailedNodes": {"a": "full"}, "Error": ""})
        assert await client.filter(POD, NAMES) == FilterAnswer(frozenset("b"), {"a": "full"})
        assert webhook.paths == ["POST /scheduler/filter HTTP/1.1"]
        assert webhook.headers[0]["content-type"] == "application/json"
        assert webhook.headers[0]["host"] == f"127.0.0.1:{webhook.port}"
        assert json.loads(webhook.bodies[0]) == {
            "Pod": {"metadata": {"name": "p"}},
            "Nodes": None,
            "NodeNames": ["a", "b"],
        }

    async def test_filter_by_whole_nodes(self, webhook: Webhook, client: ExtenderClient) -> None:
        webhook.answer({"Nodes": {"items": [{"metadata": {"name": "a"}}]}})
        assert await client.filter(POD, WHOLE) == FilterAnswer(frozenset("a"))
        assert json.loads(webhook.bodies[0])["Nodes"]["items"] == [{"metadata": {"name": name}} for name in "ab"]

    async def test_names_do_not_count_where_whole_nodes_were_sent(
        self, webhook: Webhook, client: ExtenderClient
    ) -> None:
        webhook.answer({"NodeNames": ["a"]})
        assert (await client.filter(POD, WHOLE)).passed == frozenset()

    async def test_whole_nodes_count_where_names_are_missing(self, webhook: Webhook, client: ExtenderClient) -> None:
        webhook.answer({"Nodes": {"items": [{"metadata": {"name": "a"}}]}})
        assert (await client.filter(POD, NAMES)).passed == frozenset("a")

    async def test_unresolvable_wins_and_strangers_are_passed_over(
        self, webhook: Webhook, client: ExtenderClient
    ) -> None:
        reasons = {"a": "full", "z": "who?"}
        webhook.answer({"NodeNames": [], "FailedNodes": reasons, "FailedAndUnresolvableNodes": {"a": "never"}})
        assert await client.filter(POD, NAMES) == FilterAnswer(frozenset(), {}, {"a": "never"})

    async def test_scores(self, webhook: Webhook, client: ExtenderClient) -> None:
        webhook.answer([{"Host": "a", "Score": 7}, {"Host": "z", "Score": 1}, {"Host": "a", "Score": 2}])
        assert await client.prioritize(POD, NAMES) == {"a": 9}

    async def test_scores_given_twice_add_up_in_64_bits(self, webhook: Webhook, client: ExtenderClient) -> None:
        most = 2**63 - 1
        twice = [("a", most), ("a", 1), ("b", 2), ("b", 3), ("stranger", 9)]
        webhook.answer([{"Host": host, "Score": score} for host, score in twice])
        assert await client.prioritize(POD, NAMES) == {"a": -most - 1, "b": 5}

    async def test_victims(self, webhook: Webhook, client: ExtenderClient) -> None:
        webhook.answer({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}})
        args = wire.PreemptionArgs(POD, meta_victims={"a": wire.MetaVictims([wire.MetaPod("u")])})
        assert (await client.preempt(args)).victims == {"a": ChosenVictims(("u",), 1)}

    async def test_binding(self, webhook: Webhook, client: ExtenderClient) -> None:
        webhook.answer({"Error": ""})
        await client.bind(namespace="ns", name="p", uid="u", node_name="a")
        body = {"PodName": "p", "PodNamespace": "ns", "PodUID": "u", "Node": "a"}
        assert json.loads(webhook.bodies[0]) == body

    async def test_an_error_in_an_answer_is_the_extenders_word(self, webhook: Webhook, client: ExtenderClient) -> None:
        webhook.answer({"Error": "no card left"})
        for asking in (client.filter(POD, NAMES), client.bind(namespace="n", name="p", uid="u", node_name="a")):
            with pytest.raises(ExtenderError, match=rf"extender {webhook.url}: no card left"):
                await asking

    async def test_a_user_in_the_address_is_sent_along(self, webhook: Webhook) -> None:
        webhook.answer({})
        url = webhook.url.replace("://", "://me:secret@")
        async with client_of(webhook, url_prefix=url) as client:
            await client.filter(POD, NAMES)
        assert webhook.headers[0]["authorization"] == "Basic bWU6c2VjcmV0"
        assert webhook.headers[0]["host"] == f"127.0.0.1:{webhook.port}"


HOSTILE: dict[str, tuple[bytes, str]] = {
    "an error page": (
        b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops",
        "failed filter .*, code 500 .it begins 'oops'",
    ),
    "not found": (b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", "code 404"),
    "another success": (b"HTTP/1.1 201 X\r\nContent-Length: 2\r\n\r\n{}", "code 201"),
    "elsewhere": (b"HTTP/1.1 302 X\r\nLocation: http://a/\r\nContent-Length: 0\r\n\r\n", "code 302"),
    "a page": (b"HTTP/1.1 200 X\r\nContent-Length: 12\r\n\r\n<html>\n hi</", "junk: .*it begins '<html> hi</'"),
    "nothing in it": (b"HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n", "junk"),
    "cut JSON": (b'HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\n{"NodeName', "junk"),
    "wrong types": (b'HTTP/1.1 200 X\r\nContent-Length: 15\r\n\r\n{"NodeNames":7}', "junk"),
    "a list": (b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n[]", "junk"),
    "a stranger": (
        b'HTTP/1.1 200 X\r\nContent-Length: 19\r\n\r\n{"NodeNames":["z"]}',
        'junk: .* node "z" which is not',
    ),
    "a strange whole node": (
        b'HTTP/1.1 200 X\r\nContent-Length: 46\r\n\r\n{"Nodes":{"items":[{"metadata":{"name":"z"}}]}}'[:-1],
        "junk",
    ),
    "cut off": (b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n{", "closed the connection"),
    "cut off in a chunk": (b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "closed the connection"),
    "a chunk of no size": (b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n", "does not speak HTTP"),
    "another language": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "does not speak HTTP"),
    "hangs up": (b"", "closed the connection"),
    "much too long": (b"HTTP/1.1 200 X\r\nContent-Length: 50000000\r\n\r\n{", "longer than"),
    "endless": (b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n" + b"8000\r\n" + b" " * 0x8000, "longer than"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_is_no_answer_is_an_error_that_says_whose(webhook: Webhook, name: str) -> None:
    raw, message = HOSTILE[name]
    webhook.send(raw)
    async with client_of(webhook, answer_limit=10_000) as client:
        with pytest.raises(ExtenderError, match=message) as caught:
            await client.filter(POD, NAMES)
        assert str(caught.value).startswith(f"extender {webhook.url}: ")
        assert len(webhook.bodies) == 1, "asked once"


async def test_silence_ends_with_the_time_given(webhook: Webhook) -> None:
    webhook.hang()
    seen: list[tuple[str, str]] = []

    def observe(_url: str, verb: str, outcome: str, _seconds: float) -> None:
        seen.append((verb, outcome))

    async with client_of(webhook, timeout=0.5, observe=observe) as client:
        with pytest.raises(ExtenderError, match="no answer within"):
            await client.prioritize(POD, NAMES)
    assert seen == [("prioritize", "timeout")]


async def test_a_trickle_is_no_answer_in_time(webhook: Webhook) -> None:
    async def trickle(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 100000\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    webhook.answering = trickle
    async with client_of(webhook, timeout=0.5) as client:
        with pytest.raises(ExtenderError, match="no answer within"):
            await client.filter(POD, NAMES)


async def test_nobody_there() -> None:
    async with serving() as gone:
        pass
    async with client_of(gone) as client:
        with pytest.raises(ExtenderError, match="cannot connect"):
            await client.filter(POD, NAMES)


async def test_others_are_asked_meanwhile(webhook: Webhook) -> None:
    """One that hangs holds up nobody else."""
    webhook.hang()
    async with serving() as other, client_of(webhook) as slow, client_of(other) as quick:
        hanging = asyncio.create_task(slow.filter(POD, NAMES))
        other.answer({"NodeNames": ["a"]})
        assert (await quick.filter(POD, NAMES)).passed == frozenset("a")
        hanging.cancel()
        await asyncio.wait([hanging])
        assert hanging.cancelled()


class TestBreaker:
    async def test_after_failures_in_a_row_nobody_asks(self, webhook: Webhook) -> None:
        clock = Clock()
        webhook.answer(b"junk")
        async with client_of(webhook, breaker=3, now=clock) as client:
            for _ in range(3):
                with pytest.raises(ExtenderError, match="junk"):
                    await client.filter(POD, NAMES)
            with pytest.raises(ExtenderError, match=r"left alone after failing .*junk.* tried again in 1 s"):
                await client.filter(POD, NAMES)
            assert len(webhook.bodies) == 3
            clock.now += 1
            webhook.answer({"NodeNames": ["a"]})
            assert (await client.filter(POD, NAMES)).passed == frozenset("a")
            assert (await client.filter(POD, NAMES)).passed == frozenset("a")
            assert len(webhook.bodies) == 5

    async def test_what_names_strangers_counts_as_failing(self, webhook: Webhook) -> None:
        webhook.answer({"NodeNames": ["z"]})
        async with client_of(webhook, breaker=2) as client:
            for _ in range(5):
                with pytest.raises(ExtenderError):
                    await client.filter(POD, NAMES)
        assert len(webhook.bodies) == 2

    async def test_an_error_in_a_proper_answer_does_not(self, webhook: Webhook) -> None:
        webhook.answer({"Error": "not today"})
        async with client_of(webhook, breaker=2) as client:
            for _ in range(5):
                with pytest.raises(ExtenderError, match="not today"):
                    await client.filter(POD, NAMES)
        assert len(webhook.bodies) == 5

    async def test_one_tries_while_the_others_are_sent_away(self, webhook: Webhook) -> None:
        clock = Clock()
        webhook.answer(b"junk")
        async with client_of(webhook, breaker=1, now=clock) as client:
            with pytest.raises(ExtenderError):
                await client.filter(POD, NAMES)
            clock.now += 1
            webhook.hang()
            trying = asyncio.create_task(client.filter(POD, NAMES))
            await asyncio.sleep(0)
            with pytest.raises(ExtenderError, match="tried again just now"):
                await client.filter(POD, NAMES)
            trying.cancel()
            await asyncio.wait([trying])
            webhook.answer({"NodeNames": []})
            assert await client.filter(POD, NAMES) == FilterAnswer(frozenset())

    async def test_pauses_grow(self, webhook: Webhook) -> None:
        clock = Clock()
        webhook.answer(b"junk")
        async with client_of(webhook, breaker=1, now=clock) as client:
            for pause in (1, 2, 4, 8, 16, 30, 30):
                with pytest.raises(ExtenderError, match="junk"):
                    await client.filter(POD, NAMES)
                assert client.breaker.seconds_left == pause
                clock.now += pause

    async def test_it_can_be_left_out(self, webhook: Webhook) -> None:
        webhook.answer(b"junk")
        async with client_of(webhook, breaker=0) as client:
            for _ in range(8):
                with pytest.raises(ExtenderError, match="junk"):
                    await client.filter(POD, NAMES)
        assert len(webhook.bodies) == 8


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    authority = load_or_create(folder)
    for name, pair in (("server", authority.server(("127.0.0.1", "localhost"))), ("client", authority.client("me"))):
        (folder / f"{name}.crt").write_bytes(pair.certificate)
        (folder / f"{name}.key").write_bytes(pair.key)
    (folder / "ca.pem").write_bytes(authority.certificate)
    return folder


def server_context(pki: Path, *, client_ca: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(pki / "ca.pem")
    return context


class TestTLS:
    async def reach(self, pki: Path, tls: ExtenderTLSConfig | None, *, client_ca: bool = False, **more: Any) -> None:
        async with serving(server_context(pki, client_ca=client_ca)) as webhook:
            webhook.answer({"NodeNames": ["a"]})
            async with client_of(webhook, tls_config=tls, **more) as client:
                assert (await client.filter(POD, NAMES)).passed == frozenset("a")

    async def test_an_authority_from_a_file_or_inline(self, pki: Path) -> None:
        await self.reach(pki, ExtenderTLSConfig(ca_file=str(pki / "ca.pem")), enable_https=True)
        await self.reach(pki, ExtenderTLSConfig(ca_data=(pki / "ca.pem").read_bytes()), enable_https=True)

    async def test_without_an_authority_nothing_is_checked(self, pki: Path) -> None:
        await self.reach(pki, None, enable_https=True)
        await self.reach(pki, ExtenderTLSConfig(insecure=True))

    async def test_an_unknown_authority_is_not_trusted(self, pki: Path) -> None:
        with pytest.raises(ExtenderError, match="certificate verify failed"):
            await self.reach(pki, None)

    async def test_the_name_to_expect(self, pki: Path) -> None:
        authority = str(pki / "ca.pem")
        await self.reach(pki, ExtenderTLSConfig(ca_file=authority, server_name="localhost"))
        with pytest.raises(ExtenderError, match="elsewhere"):
            await self.reach(pki, ExtenderTLSConfig(ca_file=authority, server_name="elsewhere"))

    async def test_a_certificate_of_ones_own(self, pki: Path) -> None:
        authority, certificate, key = (str(pki / name) for name in ("ca.pem", "client.crt", "client.key"))
        tls = ExtenderTLSConfig(ca_file=authority, cert_file=certificate, key_file=key)
        await self.reach(pki, tls, client_ca=True)
        with pytest.raises(ExtenderError):
            await self.reach(pki, ExtenderTLSConfig(ca_file=str(pki / "ca.pem")), client_ca=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url_prefix": "127.0.0.1:8888/x"}, r"extenders\[0\].urlPrefix: expected http://HOST"),
        ({"url_prefix": "ftp://x/"}, "urlPrefix"),
        ({"url_prefix": "http://x:99999/"}, "urlPrefix"),
        ({"url_prefix": "http://x/a b\r\nX: y"}, "urlPrefix"),
        (
            {"url_prefix": "https://x", "tls_config": ExtenderTLSConfig(ca_file="/nowhere")},
            "tlsConfig.caFile: /nowhere",
        ),
        ({"url_prefix": "https://x", "tls_config": ExtenderTLSConfig(ca_data=b"no")}, "tlsConfig: .*not a PEM"),
        ({"url_prefix": "https://x", "tls_config": ExtenderTLSConfig(cert_data=b"no")}, "tlsConfig: .* needs its key"),
    ],
)
async def test_a_bad_address_or_certificate_is_the_users_fault(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ExtenderClient(Extender(**fields), where="extenders[0]")
