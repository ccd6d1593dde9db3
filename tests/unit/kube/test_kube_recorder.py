import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from moorage.kube.errors import Forbidden, NotFound
from moorage.kube.lanes import Lanes
from moorage.kube.recorder import (
    FIRST_REFRESH,
    NEWCOMERS,
    NEWCOMERS_REFILL,
    OBJECT_BURST,
    SERIES_LIFETIME,
    WARNING,
    EventRecorder,
)
from moorage.objects import ObjectReference

if TYPE_CHECKING:
    from tests.unit.kube.conftest import ScriptedClient

pytestmark = pytest.mark.looptime

Scripted = type["ScriptedClient"]
WEB = ObjectReference(api_version="v1", kind="Pod", namespace="team-a", name="web", uid="u1")
EVENTS = "/apis/events.k8s.io/v1/namespaces/team-a/events"


async def accept(_method: str, _path: str, _body: Any) -> Any:
    return {}


def recorder_of(client: "ScriptedClient", **settings: Any) -> EventRecorder:
    clock = asyncio.get_running_loop().time
    return EventRecorder(Lanes(client), controller="default-scheduler", instance="me", clock=clock, **settings)


def failed(recorder: EventRecorder, note: str = "0/3 nodes are available", about: ObjectReference = WEB) -> None:
    recorder.record(about, type=WARNING, reason="FailedScheduling", action="Scheduling", note=note)


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_event_as_the_api_wants_it(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    related = ObjectReference(kind="Node", name="n1")
    async with running(recorder):
        recorder.record(WEB, reason="Scheduled", action="Binding", note="Successfully assigned", related=related)
        await recorder.drain()
    [(method, path, event)] = client.sent
    assert (method, path) == ("POST", EVENTS)
    assert re.fullmatch(r"web\.[0-9a-f]{16}", event["metadata"].pop("name"))
    assert re.fullmatch(r".*T.*\.\d{6}Z", event.pop("eventTime"))
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "team-a"},
        "reportingController": "default-scheduler",
        "reportingInstance": "me",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "team-a", "name": "web", "uid": "u1"},
        "related": {"kind": "Node", "name": "n1"},
        "note": "Successfully assigned",
        "type": "Normal",
    }


async def test_objects_without_a_namespace_have_their_events_in_default(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    async with running(recorder):
        failed(recorder, about=ObjectReference(kind="Node", name="n1"))
        await recorder.drain()
    assert client.sent[0][1] == "/apis/events.k8s.io/v1/namespaces/default/events"


async def test_repeats_become_a_series_written_less_and_less_often(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    async with running(recorder):
        for _ in range(300):
            failed(recorder)
            await asyncio.sleep(1)
    created, *patches = client.sent
    assert created[0] == "POST"
    name = created[2]["metadata"]["name"]
    assert {(method, path) for method, path, _ in patches} == {("PATCH", f"{EVENTS}/{name}")}
    counts = [body["series"]["count"] for _, _, body in patches]
    assert counts == sorted(counts)
    assert 3 <= len(counts) <= 7
    assert "lastObservedTime" in patches[0][2]["series"]


async def test_another_note_is_another_event_and_so_is_one_after_a_long_silence(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    async with running(recorder):
        failed(recorder)
        failed(recorder, "0/4 nodes are available")
        await asyncio.sleep(SERIES_LIFETIME + 1)
        failed(recorder)
        await recorder.drain()
    assert [method for method, _, _ in client.sent] == ["POST"] * 3
    assert len({body["metadata"]["name"] for _, _, body in client.sent}) == 3


async def test_an_event_the_server_forgot_is_made_again_with_its_count(scripted: Scripted) -> None:
    async def forgetful(method: str, _path: str, _body: Any) -> Any:
        if method == "PATCH":
            raise NotFound("expired", code=404)
        return {}

    client = scripted(forgetful)
    recorder = recorder_of(client)
    async with running(recorder):
        failed(recorder)
        failed(recorder)
        await asyncio.sleep(FIRST_REFRESH + 5)
    first, _patch, again = client.sent
    assert again[0] == "POST"
    assert again[2]["series"]["count"] == 2
    assert again[2]["metadata"] == first[2]["metadata"]


async def test_an_object_that_causes_many_different_events_is_cut_short(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    async with running(recorder):
        for number in range(100):
            failed(recorder, f"note {number}")
        failed(recorder, about=ObjectReference(kind="Pod", namespace="team-a", name="other"))
        await recorder.drain()
    assert len(client.sent) == OBJECT_BURST + 1
    assert recorder.dropped == 100 - OBJECT_BURST


async def test_a_full_queue_drops_and_never_blocks(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client, capacity=5)
    for number in range(50):
        failed(recorder, about=ObjectReference(kind="Pod", namespace="team-a", name=f"p{number}"))
    assert recorder.dropped == 45
    async with running(recorder):
        await recorder.drain()
    assert len(client.sent) == 5


async def test_an_event_that_cannot_be_written_stops_nothing(scripted: Scripted) -> None:
    async def terminating(_method: str, _path: str, body: Any) -> Any:
        if body["note"] == "a":
            raise Forbidden("namespace is being terminated", code=403)
        return {}

    client = scripted(terminating)
    recorder = recorder_of(client)
    async with running(recorder):
        failed(recorder, "a")
        failed(recorder, "b")
        await recorder.drain()
    assert [body["note"] for _, _, body in client.sent] == ["a", "b"]


async def test_long_notes_are_shortened_to_what_the_api_takes(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    async with running(recorder):
        failed(recorder, "x" * 5000)
        await recorder.drain()
    note = client.sent[0][2]["note"]
    assert len(note) == 1024
    assert note.endswith("x...")


async def test_what_is_remembered_is_bounded(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client, capacity=10)
    async with running(recorder):
        for number in range(200):
            failed(recorder, about=ObjectReference(kind="Pod", namespace="team-a", name=f"p{number}"))
            await recorder.drain()
    assert len(client.sent) == 200
    assert len(recorder._series) == 20
    assert len(recorder._buckets) == 20


async def test_of_more_repeating_events_than_can_be_kept_in_mind_few_begin_anew(scripted: Scripted) -> None:
    client = scripted(accept)
    lanes = Lanes(client, qps=0, burst=1)
    recorder = EventRecorder(lanes, controller="us", clock=asyncio.get_running_loop().time, capacity=10)
    objects = [ObjectReference(kind="Pod", namespace="team-a", name=f"p{number}") for number in range(NEWCOMERS)]
    async with running(recorder):
        for _ in range(10):
            for about in objects:
                failed(recorder, about=about)
                await recorder.drain()
        told = len(client.sent)
        await asyncio.sleep(1)
        for about in objects:
            failed(recorder, about=about)
            await recorder.drain()
    assert told == NEWCOMERS + 20
    assert len(client.sent) - told == NEWCOMERS_REFILL


async def test_counts_of_what_is_forgotten_are_not_kept_either(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client, capacity=10)
    async with running(recorder):
        for number in range(200):
            about = ObjectReference(kind="Pod", namespace="team-a", name=f"p{number}")
            failed(recorder, about=about)
            failed(recorder, about=about)
            await recorder.drain()
            await asyncio.sleep(FIRST_REFRESH / 10)
        assert len(recorder._repeated) <= 20
        about = ObjectReference(kind="Pod", namespace="team-a", name="last")
        failed(recorder, about=about)
        await recorder.drain()
    assert client.sent[-1][2]["regarding"]["name"] == "last"


async def test_what_happens_once_begins_no_series(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    async with running(recorder):
        for _ in range(3):
            recorder.record(WEB, reason="Scheduled", action="Binding", note="to n1", repeats=False)
        await recorder.drain()
    assert len(client.sent) == 3
    assert len(recorder._series) == 0


async def test_an_object_that_changed_is_still_the_same(scripted: Scripted) -> None:
    client = scripted(accept)
    recorder = recorder_of(client)
    async with running(recorder):
        for version in ("1", "2"):
            failed(recorder, about=replace(WEB, resource_version=version))
        await recorder.drain()
    assert len(client.sent) == 1
