"""Watches: where they start, what they see, bookmarks, ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from moorage.apiserver.verbs import watch as watching
from moorage.apiserver.verbs.watch import Watch

Json = dict[str, Any]
Api = Any
MakePod = Callable[..., Json]

PODS = "/api/v1/namespaces/default/pods"


class Lines:
    """The events of a watch, one at a time."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._chunks = watch.chunks()
        self._waiting: list[Json] = []

    async def next(self) -> Json:
        while not self._waiting:
            async with asyncio.timeout(10):
                chunk = await anext(self._chunks)
            self._waiting = [json.loads(line) for line in chunk.splitlines()]
        return self._waiting.pop(0)

    async def seen(self, count: int) -> list[tuple[str, str]]:
        """The type and name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def end(self) -> None:
        async with asyncio.timeout(10):
            with pytest.raises(StopAsyncIteration):
                await anext(self._chunks)


@asynccontextmanager
async def follow(api: Api, path: str = PODS, **query: Any) -> AsyncIterator[Lines]:
    watch = api.watch(path, **query)
    lines = Lines(watch)
    try:
        yield lines
    finally:
        await lines._chunks.aclose()  # type: ignore[attr-defined]
        watch.close()


async def test_without_a_version_the_state_comes_first(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a"))
    async with follow(api) as lines:
        assert await lines.seen(1) == [("ADDED", "a")]
        api.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})
        api.post(PODS, pod("b"))
        api.delete(f"{PODS}/a")
        assert await lines.seen(3) == [("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]


async def test_from_a_version_on(api: Api, pod: MakePod) -> None:
    version = api.post(PODS, pod("a"))["metadata"]["resourceVersion"]
    api.post(PODS, pod("b"))
    async with follow(api, resourceVersion=version) as lines:
        assert await lines.seen(1) == [("ADDED", "b")]
        api.delete(f"{PODS}/a")
        event = await lines.next()
        assert event["type"] == "DELETED"
        assert event["object"]["metadata"]["resourceVersion"] == api.get(PODS)["metadata"]["resourceVersion"]


async def test_only_the_namespace(api: Api, pod: MakePod) -> None:
    async with follow(api, resourceVersion="1") as lines:
        api.post("/api/v1/namespaces/kube-system/pods", pod("other"))
        api.post(PODS, pod("mine"))
        assert await lines.seen(1) == [("ADDED", "mine")]


async def test_objects_come_into_a_selection_and_leave_it(api: Api, pod: MakePod) -> None:
    async with follow(api, labelSelector="app=x", resourceVersion="1") as lines:
        api.post(PODS, pod("a"))
        api.patch(f"{PODS}/a", {"metadata": {"labels": {"app": "x"}}})
        api.patch(f"{PODS}/a", {"metadata": {"labels": {"more": "1"}}})
        left = api.patch(f"{PODS}/a", {"metadata": {"labels": {"app": "y"}}})
        api.delete(f"{PODS}/a")
        api.post(PODS, pod("b", labels={"app": "x"}))
        assert await lines.seen(2) == [("ADDED", "a"), ("MODIFIED", "a")]
        gone = await lines.next()
        assert gone["type"] == "DELETED"
        assert gone["object"]["metadata"]["labels"]["app"] == "x"
        assert gone["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
        assert await lines.seen(1) == [("ADDED", "b")]


async def test_pods_of_one_node(api: Api, pod: MakePod) -> None:
    async with follow(api, fieldSelector="spec.nodeName=n1", resourceVersion="1") as lines:
        api.post(PODS, pod("a"))
        api.post(PODS, pod("elsewhere", nodeName="n2"))
        api.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n1"}})
        api.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
        assert await lines.seen(2) == [("ADDED", "a"), ("DELETED", "a")]


async def test_initial_events_end_with_a_bookmark(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with follow(api, **query) as lines:
        assert await lines.seen(1) == [("ADDED", "a")]
        bookmark = await lines.next()
        assert bookmark["type"] == "BOOKMARK"
        assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert bookmark["object"]["metadata"]["resourceVersion"] == api.get(PODS)["metadata"]["resourceVersion"]


def test_initial_events_need_a_match(api: Api) -> None:
    assert api("GET", PODS, watch="true", sendInitialEvents="true").code == 422
    assert api("GET", PODS, watch="true", resourceVersionMatch="NotOlderThan", resourceVersion="1").code == 422


async def test_a_forgotten_version_is_an_error_event(server: Any, api: Api, pod: MakePod) -> None:
    server.store.collection("pods").history.limit = 2
    version = api.post(PODS, pod("a"))["metadata"]["resourceVersion"]
    for name in "bcde":
        api.post(PODS, pod(name))
    async with follow(api, resourceVersion=version) as lines:
        event = await lines.next()
        assert event["type"] == "ERROR"
        assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
        await lines.end()


async def test_a_version_of_the_future_is_an_error_event(api: Api) -> None:
    async with follow(api, resourceVersion="999999") as lines:
        assert (await lines.next())["object"]["code"] == 504


async def test_a_watch_ends_with_its_time(api: Api) -> None:
    async with follow(api, timeoutSeconds="1", allowWatchBookmarks="true") as lines:
        assert (await lines.next())["type"] == "BOOKMARK"
        await lines.end()


async def test_bookmarks_say_how_far_a_watch_has_come(api: Api, pod: MakePod, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_SECONDS", 0.05)
    async with follow(api, allowWatchBookmarks="true", resourceVersion="1") as lines:
        api.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "x"}})
        event = await lines.next()
        assert event["type"] == "BOOKMARK"
        assert event["object"]["metadata"]["resourceVersion"] == api.get(PODS)["metadata"]["resourceVersion"]


async def test_who_falls_too_far_behind_is_let_go(api: Api, pod: MakePod) -> None:
    async with follow(api, resourceVersion="1") as lines:
        lines.watch.follower.limit = 3
        for name in "abcde":
            api.post(PODS, pod(name))
        assert await lines.seen(3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
        await lines.end()


async def test_many_watchers_share_one_encoding(api: Api, pod: MakePod) -> None:
    watches = [api.watch(PODS, resourceVersion="1") for _ in range(50)]
    api.post(PODS, pod("a"))
    lines = [watch.follower.take()[0].lines for watch in watches]
    assert all(each is lines[0] for each in lines)
    for watch in watches:
        watch.close()


async def test_tables_can_be_watched(api: Api, pod: MakePod) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    async with follow(api, resourceVersion="1", accept=accept) as lines:
        api.post(PODS, pod("a"))
        event = await lines.next()
        assert event["object"]["kind"] == "Table"
        assert event["object"]["rows"][0]["cells"][0] == "a"


async def test_one_object_by_its_path(api: Api, pod: MakePod) -> None:
    async with follow(api, f"{PODS}/b", resourceVersion="1") as lines:
        api.post(PODS, pod("a"))
        api.post(PODS, pod("b"))
        assert await lines.seen(1) == [("ADDED", "b")]


async def test_watches_end_when_their_kind_goes(server: Any, api: Api) -> None:
    async with follow(api) as lines:
        server.store.collection("pods").history.close()
        await lines.end()
