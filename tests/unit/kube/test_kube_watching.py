import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from moorage.kube.backoff import Backoff
from moorage.kube.decoding import Decoder, Unreadable
from moorage.kube.errors import AnswerLost, Gone
from moorage.kube.transport import Client
from moorage.kube.watching import Cursor, Step, Target, lines, list_and_watch, watch_forever, watch_stream
from moorage.objects import Pod

if TYPE_CHECKING:
    from tests.unit.kube.conftest import FakeApi

PATH = "/api/v1/pods"


def pod(name: str, version: int, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "resourceVersion": str(version)}, "spec": spec}


def event(kind: str, name: str, version: int) -> dict[str, Any]:
    return {"type": kind, "object": pod(name, version)}


def bookmark(version: int, *, ends: bool = False) -> dict[str, Any]:
    annotations = {"k8s.io/initial-events-end": "true"} if ends else {}
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    return {"type": "BOOKMARK", "object": {"metadata": metadata}}


EXPIRED = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}


def listing(*names: str, version: int, more: str = "") -> dict[str, Any]:
    return {
        "metadata": {"resourceVersion": str(version), "continue": more},
        "items": [pod(name, version) for name in names],
    }


def target(**settings: Any) -> Target[Pod]:
    return Target(PATH, Decoder(Pod), **settings)


async def first(steps: AsyncIterator[Any], wanted: int) -> list[str]:
    """The first things to come, flat: `listing`, `listed`, `+name`, `-name`, `~name`, `?name`."""
    marks = {"ADDED": "+", "DELETED": "-", "MODIFIED": "~"}
    told: list[str] = []
    async with asyncio.timeout(10):
        async for step in steps:
            if isinstance(step, Step):
                told.append(step.value)
            else:
                for item in step:
                    if isinstance(item, Unreadable):
                        told.append("?" + item.name)
                    else:
                        told.append(marks[item.type] + item.object.metadata.name)
            if len(told) >= wanted:
                break
    return told


@given(st.lists(st.binary(min_size=1, max_size=20).filter(lambda raw: b"\n" not in raw)), st.data())
async def test_lines_come_whole_however_they_are_cut(content: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(each + b"\n" for each in content) + b"cut off"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))

    async def chunks() -> AsyncIterator[bytes]:
        for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True):
            if a < b:
                yield raw[a:b]

    got = [line async for batch in lines(chunks()) for line in batch]
    assert got == [each for each in content if not each.isspace()]


async def test_one_stream_asks_for_bookmarks_and_a_timeout(api: "FakeApi", client: Client) -> None:
    api.watch(PATH, event("ADDED", "a", 5), stay=False)
    selected = target(selectors={"fieldSelector": "spec.nodeName="}, watch_seconds=100)
    batches = [batch async for batch in watch_stream(client, selected, {"resourceVersion": "4"})]
    assert len(batches) == 1
    query = api.seen[0].query
    assert query["allowWatchBookmarks"] == "true"
    assert query["resourceVersion"] == "4"
    assert query["fieldSelector"] == "spec.nodeName="
    assert 100 <= int(query["timeoutSeconds"]) <= 200


async def test_a_line_of_megabytes_is_just_a_line(api: "FakeApi", client: Client) -> None:
    big = event("ADDED", "big", 5)
    big["object"]["metadata"]["annotations"] = {"blob": "x" * 3_000_000}
    api.watch(PATH, big, stay=False)
    batches = [batch async for batch in watch_stream(client, target(), {})]
    assert len(batches[0]) == 1


async def test_list_then_watch_then_watch_on_from_there(api: "FakeApi", client: Client) -> None:
    api.answer("GET", PATH, listing("a", "b", version=10))
    api.watch(PATH, event("ADDED", "c", 11), bookmark(20), stay=False)
    api.watch(PATH, event("DELETED", "c", 21))
    cursor = Cursor(streaming=False)
    async with aclosing(list_and_watch(client, target(), cursor)) as steps:
        told = await first(steps, 6)
    assert told == ["listing", "+a", "+b", "listed", "+c", "-c"]
    assert [seen.query["resourceVersion"] for seen in api.asked("WATCH")] == ["10", "20"]


async def test_lists_come_in_pages(api: "FakeApi", client: Client) -> None:
    api.answer("GET", PATH, listing("a", "b", version=10, more="t1"))
    api.answer("GET", PATH, listing("c", version=10))
    api.watch(PATH)
    async with aclosing(list_and_watch(client, target(page_size=2), Cursor(streaming=False))) as steps:
        assert await first(steps, 5) == ["listing", "+a", "+b", "+c", "listed"]
    one, two = api.asked("GET")
    assert (one.query, two.query) == ({"limit": "2"}, {"limit": "2", "continue": "t1"})


async def test_an_expired_page_token_begins_the_list_again_and_at_last_in_one_piece(
    api: "FakeApi", client: Client
) -> None:
    expired = {"code": 410, "reason": "Expired", "message": "token too old"}
    for _ in range(2):
        api.answer("GET", PATH, listing("a", version=10, more="t"))
        api.answer("GET", PATH, expired, status=410)
    api.answer("GET", PATH, listing("a", "b", version=12))
    async with aclosing(list_and_watch(client, target(page_size=1), Cursor(streaming=False))) as steps:
        told = await first(steps, 8)
    assert told == ["listing", "+a", "listing", "+a", "listing", "+a", "+b", "listed"]
    assert "limit" not in api.asked("GET")[-1].query


async def test_a_streaming_list_goes_on_as_a_watch(api: "FakeApi", client: Client) -> None:
    api.watch(
        PATH,
        event("ADDED", "a", 3),
        event("ADDED", "b", 9),
        bookmark(10, ends=True),
        event("MODIFIED", "a", 11),
        stay=False,
    )
    api.watch(PATH, event("DELETED", "a", 12))
    cursor = Cursor()
    async with aclosing(list_and_watch(client, target(), cursor)) as steps:
        assert await first(steps, 6) == ["listing", "+a", "+b", "listed", "~a", "-a"]
    assert api.asked("GET") == []
    opening, resumed = api.asked("WATCH")
    assert opening.query["sendInitialEvents"] == "true"
    assert opening.query["resourceVersionMatch"] == "NotOlderThan"
    assert "sendInitialEvents" not in resumed.query
    assert resumed.query["resourceVersion"] == "11"


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_without_streaming_lists_is_asked_once_only(api: "FakeApi", client: Client, status: int) -> None:
    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"code": status, "message": "sendInitialEvents is forbidden"}, status=status)

    api.on("WATCH", PATH, refuse)
    api.watch(PATH)
    api.answer("GET", PATH, listing("a", version=10))
    cursor = Cursor()
    async with aclosing(list_and_watch(client, target(), cursor)) as steps:
        assert await first(steps, 4) == ["listing", "listing", "+a", "listed"]
    assert not cursor.streaming


async def test_a_server_that_ignores_the_wish_for_a_streaming_list_is_noticed(api: "FakeApi", client: Client) -> None:
    api.watch(PATH, event("ADDED", "a", 3))
    api.answer("GET", PATH, listing("a", version=10))
    cursor = Cursor()
    async with aclosing(list_and_watch(client, target(inactivity=0.1), cursor)) as steps:
        assert await first(steps, 5) == ["listing", "+a", "listing", "+a", "listed"]
    assert not cursor.streaming


async def test_an_initial_list_cut_in_the_middle_does_not_move_the_cursor(api: "FakeApi", client: Client) -> None:
    api.watch(PATH, event("ADDED", "a", 3), EXPIRED, stay=False)
    cursor = Cursor()
    with pytest.raises(Gone):
        async for _ in list_and_watch(client, target(), cursor):
            pass
    assert cursor == Cursor()


async def test_a_silent_watch_goes_on_at_once_on_a_connection_of_its_own(api: "FakeApi", client: Client) -> None:
    api.watch(PATH, event("ADDED", "a", 11))
    api.watch(PATH)
    api.watch(PATH, event("ADDED", "b", 12))
    cursor = Cursor("10")
    async with aclosing(list_and_watch(client, target(inactivity=0.1), cursor)) as steps:
        assert await first(steps, 2) == ["+a", "+b"]
    asked = api.asked("WATCH")
    assert [seen.query["resourceVersion"] for seen in asked] == ["10", "11", "11"]
    assert len({seen.peer for seen in asked}) == 3


async def test_silence_after_a_streaming_list_is_nothing_to_speak_of(
    api: "FakeApi", client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    api.watch(PATH, event("ADDED", "a", 3), bookmark(7, ends=True))
    api.watch(PATH, event("ADDED", "b", 8))
    assert await first(forever(client, Cursor(), inactivity=0.1), 4) == ["listing", "+a", "listed", "+b"]
    assert [seen.query["resourceVersion"] for seen in api.asked("WATCH")] == ["", "7"]
    assert caplog.messages == []


async def test_a_watch_that_does_not_begin_is_tried_again(api: "FakeApi", client: Client) -> None:
    async def hang(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError("nobody waits for this")

    api.on("WATCH", PATH, hang)
    api.watch(PATH, event("ADDED", "a", 11))
    assert await first(forever(client, Cursor("10"), opening=0.1), 1) == ["+a"]


async def test_a_watch_that_ends_at_once_is_a_failure(api: "FakeApi", client: Client) -> None:
    api.watch(PATH, stay=False)
    with pytest.raises(AnswerLost, match="at once"):
        async for _ in list_and_watch(client, target(), Cursor("10")):
            pass


def forever(client: Client, cursor: Cursor, **settings: Any) -> AsyncIterator[Any]:
    return watch_forever(client, target(**settings), cursor=cursor, backoff=Backoff(0.001, 0.01))


async def test_410_lists_again(api: "FakeApi", client: Client) -> None:
    api.answer("GET", PATH, listing("a", version=10))
    api.answer("GET", PATH, listing("b", version=30))
    api.watch(PATH, EXPIRED)
    api.watch(PATH, event("ADDED", "c", 31))
    told = await first(forever(client, Cursor(streaming=False)), 7)
    assert told == ["listing", "+a", "listed", "listing", "+b", "listed", "+c"]


async def test_a_watch_cut_mid_line_goes_on_where_it_was(api: "FakeApi", client: Client) -> None:
    whole = json.dumps(event("ADDED", "b", 12)).encode()

    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(json.dumps(event("ADDED", "a", 11)).encode() + b"\n" + whole[:30])
        assert request.transport is not None
        request.transport.abort()
        return response

    api.answer("GET", PATH, listing(version=10))
    api.on("WATCH", PATH, cut)
    api.watch(PATH, whole[:30], whole[30:] + b"\n")
    told = await first(forever(client, Cursor(streaming=False)), 4)
    assert told == ["listing", "listed", "+a", "+b"]
    assert [seen.query["resourceVersion"] for seen in api.asked("WATCH")] == ["10", "11"]
    assert len(api.asked("GET")) == 1


async def test_a_server_in_trouble_is_asked_again_after_what_it_said(
    api: "FakeApi", client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_to_wait: list[float | None] = []

    class Watched(Backoff):
        def next(self, at_least: float | None = None) -> float:
            asked_to_wait.append(at_least)
            return 0.0

    api.answer("GET", PATH, {"message": "busy"}, status=429, headers={"Retry-After": "4"})
    api.answer("GET", PATH, {"message": "broken"}, status=500)
    api.answer("GET", PATH, listing("a", version=10))
    api.watch(PATH)
    steps = watch_forever(client, target(), cursor=Cursor(streaming=False), backoff=Watched(1, 1))
    assert await first(steps, 5) == ["listing", "listing", "listing", "+a", "listed"]
    assert asked_to_wait == [4.0, None]


async def test_garbage_in_the_stream_lists_again(api: "FakeApi", client: Client) -> None:
    api.answer("GET", PATH, listing("a", version=10))
    api.answer("GET", PATH, listing("a", "b", version=12))
    api.watch(PATH, b"garbage\n")
    api.watch(PATH)
    told = await first(forever(client, Cursor(streaming=False)), 7)
    assert told == ["listing", "+a", "listed", "listing", "+a", "+b", "listed"]


async def test_a_malformed_object_is_an_item_and_moves_the_cursor(api: "FakeApi", client: Client) -> None:
    api.watch(PATH, {"type": "ADDED", "object": pod("bad", 11, priority="x")}, event("ADDED", "good", 12), stay=False)
    api.watch(PATH, {"type": "MODIFIED", "object": pod("bad", 13, priority="x")}, stay=False)
    api.watch(PATH)
    cursor = Cursor("10")
    assert await first(forever(client, cursor), 3) == ["?bad", "+good", "?bad"]


class Told(Backoff):
    """Remembers what it was told."""

    def __init__(self) -> None:
        super().__init__(0.001, 0.01)
        self.calls: list[str] = []

    def next(self, at_least: float | None = None) -> float:
        self.calls.append("failed")
        return super().next(at_least)

    def reset(self) -> None:
        self.calls.append("answered")
        super().reset()


async def test_a_list_that_is_refused_is_asked_for_ever_more_seldom_and_told_once(
    api: "FakeApi", client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        api.answer("GET", PATH, {"kind": "Status", "code": 403, "message": "no"}, status=403)
    api.answer("GET", PATH, listing("a", version=10))
    backoff = Told()
    steps = watch_forever(client, target(), cursor=Cursor(streaming=False), backoff=backoff)
    assert (await first(steps, 5))[-2:] == ["listing", "+a"]
    assert backoff.calls == ["failed", "failed", "failed", "answered"]
    assert caplog.messages == [f"{PATH}: no; `moorage manifests` prints all rights that are needed"]
