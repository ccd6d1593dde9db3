"""What is written into pods' status: one request at a time for each pod, and only what changes something."""

import asyncio
from typing import Any

import msgspec
import pytest

from moorage.cluster import ClusterState
from moorage.columns import PodInfo, Snapshot
from moorage.kube.access import ClusterAccess
from moorage.kube.lanes import Lanes
from moorage.kube.transport import JSON, Client, Query
from moorage.live.statuses import StatusWriter
from moorage.objects import Condition
from moorage.testing import PodBuilder, a_pod

pytestmark = pytest.mark.looptime

WEB = a_pod("web").metadata(generation=3)


class SlowServer(Client):
    """Takes a second for each patch, and remembers them."""

    def __init__(self) -> None:
        super().__init__(ClusterAccess("http://nowhere"))
        self.patches: list[dict[str, Any]] = []

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        query: Query | None = None,
        content_type: str = JSON,
        deadline: float | None = None,
    ) -> bytes:
        assert path == "/api/v1/namespaces/default/pods/web/status"
        self.patches.append(msgspec.json.decode(body))
        await asyncio.sleep(1)
        return b"{}"


class Writing:
    """A writer, its server, and one pod."""

    def __init__(self, pod: PodBuilder = WEB) -> None:
        self.server = SlowServer()
        self.cluster = ClusterState(Snapshot())
        self.writer = StatusWriter(Lanes(self.server, qps=0), self.cluster)
        self.pod: PodInfo = self.cluster.snapshot.info(pod.build())
        self.cluster.set_pending(self.pod)

    def refuse(self, message: str, nominated: str | None = "") -> None:
        self.writer.unscheduled(self.pod, "Unschedulable", message, nominated)

    @property
    def messages(self) -> list[str]:
        return [patch["status"]["conditions"][0]["message"] for patch in self.server.patches]


async def test_a_refusal_as_the_api_wants_it() -> None:
    writing = Writing()
    writing.refuse("0/3 nodes are available")
    await writing.writer.drain()
    (patch,) = writing.server.patches
    (condition,) = patch["status"].pop("conditions")
    assert patch == {"metadata": {"uid": writing.pod.uid}, "status": {}}
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available",
        "observedGeneration": 3,
    }


async def test_nothing_is_written_where_nothing_changes() -> None:
    known = Condition("PodScheduled", "False", "Unschedulable", "no room", "2026-01-01T00:00:00Z", 3)
    writing = Writing(WEB.status(conditions=(known,), nominated_node_name="a"))
    writing.refuse("no room", nominated="a")
    writing.refuse("no room", nominated=None)
    await writing.writer.drain()
    assert writing.server.patches == []


async def test_the_time_of_the_last_transition_stays_while_the_status_does() -> None:
    known = Condition("PodScheduled", "False", "Unschedulable", "no room", "2026-01-01T00:00:00Z", 3)
    writing = Writing(WEB.status(conditions=(known,)))
    writing.refuse("still no room")
    await writing.writer.drain()
    (condition,) = writing.server.patches[0]["status"]["conditions"]
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_a_promise_is_written_and_taken_back() -> None:
    writing = Writing()
    writing.refuse("no room", nominated="a")
    await writing.writer.drain()
    assert writing.server.patches[0]["status"]["nominatedNodeName"] == "a"
    writing = Writing(WEB.nominated_to("a"))
    writing.refuse("no room", nominated="")
    await writing.writer.drain()
    assert writing.server.patches[0]["status"]["nominatedNodeName"] is None


async def test_of_what_waits_only_the_newest_is_written() -> None:
    writing = Writing()
    for message in ("one", "two", "three"):
        writing.refuse(message)
        await asyncio.sleep(0.1)
    await writing.writer.drain()
    assert writing.messages == ["one", "three"]


async def test_what_waits_is_written_even_if_it_is_what_we_last_saw() -> None:
    """The informer has not yet told that the first patch arrived: going back to what it knows is a change."""
    known = Condition("PodScheduled", "False", "Unschedulable", "one", "2026-01-01T00:00:00Z", 3)
    writing = Writing(WEB.status(conditions=(known,)))
    writing.refuse("two")
    await asyncio.sleep(0.1)
    writing.refuse("one")
    await writing.writer.drain()
    assert writing.messages == ["two", "one"]


async def test_settling_drops_what_waits_and_waits_for_what_is_on_its_way() -> None:
    writing = Writing()
    writing.refuse("one")
    await asyncio.sleep(0.1)
    writing.refuse("two")
    before = asyncio.get_running_loop().time()
    await writing.writer.settle(writing.pod.uid)
    assert asyncio.get_running_loop().time() > before
    await writing.writer.drain()
    assert writing.messages == ["one"]


async def test_settling_a_pod_of_which_nothing_is_written_takes_no_time() -> None:
    writing = Writing()
    before = asyncio.get_running_loop().time()
    await writing.writer.settle(writing.pod.uid)
    assert asyncio.get_running_loop().time() == before
