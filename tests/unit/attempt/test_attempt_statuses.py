"""What is written into pods' status: one request at a time for each pod, and only what changes something."""

import logging
from typing import Any

import pytest

from moorage.attempt.scripted import LATER, PatchStatus, ScriptedWorld
from moorage.attempt.statuses import StatusWriter
from moorage.attempt.virtual import VirtualTime
from moorage.cluster import ClusterState
from moorage.columns import PodInfo, Snapshot
from moorage.framework.writes import Done, Gone, Unknown
from moorage.objects import Condition
from moorage.testing import PodBuilder, a_pod

WEB = a_pod("web").metadata(generation=3)
SECOND_ZERO = 1_767_225_600.0


class Writing:
    """A writer, its world, in which every answer takes its time, and one pod."""

    def __init__(self, pod: PodBuilder = WEB) -> None:
        self.world = ScriptedWorld(lambda _request: LATER, time=VirtualTime(SECOND_ZERO))
        self.cluster = ClusterState(Snapshot())
        self.writer = StatusWriter(world=self.world, cluster=self.cluster)
        self.pod: PodInfo = self.cluster.snapshot.info(pod.build())
        self.cluster.set_pending(self.pod)

    def refuse(self, message: str, nominated: str | None = "") -> None:
        self.writer.unscheduled(self.pod, "Unschedulable", message, nominated)
        self.world.time.run()

    def answer(self, answer: Any = None) -> None:
        """Answer what is on its way: it is done, if nothing else is said."""
        self.world.open[0].give(answer or Done())
        self.world.time.run()

    @property
    def patches(self) -> list[Any]:
        assert all(isinstance(one, PatchStatus) and one.pod is self.pod for one in self.world.requests)
        return [one.status for one in self.world.requests if isinstance(one, PatchStatus)]

    @property
    def messages(self) -> list[str]:
        return [patch["conditions"][0]["message"] for patch in self.patches]


def test_a_refusal_as_the_api_wants_it() -> None:
    writing = Writing()
    writing.refuse("0/3 nodes are available")
    assert writing.patches == [
        {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "observedGeneration": 3,
                }
            ]
        }
    ]


def test_nothing_is_written_where_nothing_changes() -> None:
    known = Condition("PodScheduled", "False", "Unschedulable", "no room", "2026-01-01T00:00:00Z", 3)
    writing = Writing(WEB.status(conditions=(known,), nominated_node_name="a"))
    writing.refuse("no room", nominated="a")
    writing.refuse("no room", nominated=None)
    assert writing.patches == []


def test_the_time_of_the_last_transition_stays_while_the_status_does() -> None:
    known = Condition("PodScheduled", "False", "Unschedulable", "no room", "2025-01-01T00:00:00Z", 3)
    writing = Writing(WEB.status(conditions=(known,)))
    writing.refuse("still no room")
    (condition,) = writing.patches[0]["conditions"]
    assert condition["lastTransitionTime"] == "2025-01-01T00:00:00Z"


def test_a_promise_is_written_and_taken_back() -> None:
    writing = Writing()
    writing.refuse("no room", nominated="a")
    assert writing.patches[0]["nominatedNodeName"] == "a"
    writing = Writing(WEB.nominated_to("a"))
    writing.refuse("no room", nominated="")
    assert writing.patches[0]["nominatedNodeName"] is None


def test_of_what_waits_only_the_newest_is_written() -> None:
    writing = Writing()
    for message in ("one", "two", "three"):
        writing.refuse(message)
    assert writing.messages == ["one"]
    writing.answer()
    assert writing.messages == ["one", "three"]
    assert writing.writer.is_writing(writing.pod.uid)
    writing.answer()
    assert writing.messages == ["one", "three"]
    assert not writing.writer.is_writing(writing.pod.uid)


def test_what_waits_is_written_even_if_it_is_what_we_last_saw() -> None:
    """The informer has not yet told that the first patch arrived: going back to what it knows is a change."""
    known = Condition("PodScheduled", "False", "Unschedulable", "one", "2026-01-01T00:00:00Z", 3)
    writing = Writing(WEB.status(conditions=(known,)))
    writing.refuse("two")
    writing.refuse("one")
    writing.answer()
    assert writing.messages == ["two", "one"]


def test_settling_drops_what_waits_and_waits_for_what_is_on_its_way() -> None:
    writing = Writing()
    writing.refuse("one")
    writing.refuse("two")
    seen: list[str] = []

    async def settle() -> None:
        await writing.writer.settle(writing.pod.uid)
        seen.append("settled")

    writing.world.spawn(settle())
    writing.world.time.run()
    assert seen == []
    writing.answer()
    assert seen == ["settled"]
    assert writing.messages == ["one"]


def test_settling_a_pod_of_which_nothing_is_written_takes_no_time() -> None:
    writing = Writing()
    writing.world.time.finish(writing.writer.settle(writing.pod.uid))
    assert writing.world.now() == SECOND_ZERO


@pytest.mark.parametrize(
    ("answer", "level"), [(Gone("no such pod"), logging.DEBUG), (Unknown("nobody answers"), logging.WARNING)]
)
def test_what_was_not_written_is_logged_and_given_up(caplog: pytest.LogCaptureFixture, answer: Any, level: int) -> None:
    writing = Writing()
    with caplog.at_level(logging.DEBUG):
        writing.refuse("one")
        writing.answer(answer)
    assert [record.levelno for record in caplog.records] == [level]
    assert not writing.writer.is_writing(writing.pod.uid)


def test_draining_waits_until_everything_is_written() -> None:
    writing = Writing()
    writing.refuse("one")
    writing.refuse("two")
    seen: list[str] = []

    async def drain() -> None:
        await writing.writer.drain()
        seen.append("drained")

    writing.world.spawn(drain())
    writing.world.time.run()
    writing.answer()
    assert seen == []
    writing.answer()
    assert seen == ["drained"]
