"""The loop and the binding cycle, on a clock that jumps: retries, back-off, waits, stops."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from tests.unit.live.conftest import make_rig, running

from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.status import unschedulable
from moorage.kube.errors import AnswerLost, Conflict, Forbidden, Unreachable
from moorage.queue import Place
from moorage.testing import a_node, a_pod

if TYPE_CHECKING:
    from moorage.columns import PodInfo
    from moorage.framework.cycle_state import CycleState
    from moorage.framework.handle import Handle
    from moorage.framework.status import Status

pytestmark = pytest.mark.looptime

NODE = a_node("a").allocatable(cpu="2", pods="10")
WEB = a_pod("web").requests(cpu="1")
BIG = a_pod("big").requests(cpu="3")


async def test_a_pod_is_bound_once_and_reported() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        uid = rig.pod(WEB)
        await asyncio.sleep(1)
        assert rig.nodes_of() == {"web": "a"}
        assert rig.api.bindings == {"web": 1}
        assert rig.api.reasons("web") == ["Scheduled"]
        assert not rig.scheduler.cluster.is_assumed(uid)
        assert rig.scheduler.queue.in_flight() == []


async def test_a_rejected_pod_sleeps_until_something_helps() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        rig.pod(BIG)
        await asyncio.sleep(60)
        assert rig.message("big").startswith("0/1 nodes are available: 1 Insufficient cpu.")
        assert rig.scheduler.queue.scheduling_cycle == 1
        rig.node(a_node("b").allocatable(cpu="4", pods="10"))
        await asyncio.sleep(3)
        assert rig.nodes_of() == {"big": "b"}


async def test_a_rejected_pod_is_tried_again_after_five_minutes_whatever_happened() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        rig.pod(BIG)
        await asyncio.sleep(360)
        assert rig.scheduler.queue.scheduling_cycle == 2
        assert rig.api.reasons("big") == ["FailedScheduling"]


async def test_a_refused_bind_backs_off_longer_each_time() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        refusal = Conflict("not now", code=409, reason="Conflict")
        rig.api.failures["POST /api/v1/namespaces/default/pods/web/binding"] = [refusal] * 3
        rig.pod(WEB)
        times = []
        for _ in range(60):
            times.append(rig.api.sent.count("POST /api/v1/namespaces/default/pods/web/binding"))
            await asyncio.sleep(1)
        assert rig.nodes_of() == {"web": "a"}
        tries = [second for second in range(1, 60) if times[second] > times[second - 1]]
        waits = [later - earlier for earlier, later in pairwise(tries)]
        assert sorted(waits) == waits
        assert len(tries) == 4


async def test_the_room_of_an_assumed_pod_is_taken() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        rig.api.failures["POST /api/v1/namespaces/default/pods/web/binding"] = [Unreachable("gone")] * 8
        rig.pod(WEB.requests(cpu="2"))
        await asyncio.sleep(1)
        rig.pod(a_pod("next").requests(cpu="1"))
        await asyncio.sleep(1)
        assert "Insufficient cpu" in rig.message("next")
        await asyncio.sleep(60)
        assert rig.nodes_of()["web"] == "a"


async def test_a_bind_whose_answer_was_lost_is_looked_up() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        bind = rig.api._bind

        def bind_and_vanish(pod: Any, tree: Any) -> None:
            bind(pod, tree)
            rig.api._bind = bind  # type: ignore[method-assign]
            raise AnswerLost("no answer")

        rig.api._bind = bind_and_vanish  # type: ignore[method-assign]
        rig.pod(WEB)
        await asyncio.sleep(5)
        assert rig.api.bindings == {"web": 1}
        assert rig.api.reasons("web") == ["Scheduled"]


@pytest.mark.parametrize("other", ["a", "b"])
async def test_a_pod_that_somebody_else_bound_is_done(other: str) -> None:
    """What the watch shows lags: only the API server knows, so it is asked, and nothing is written about the pod."""
    async with running(make_rig()) as rig:
        rig.node(NODE)
        uid = rig.pod(WEB.requests(cpu="2"))
        bind = rig.api._bind
        watch = rig.api.tell

        def somebody_is_quicker(pod: Any, tree: Any) -> None:
            rig.api._bind, rig.api.tell = bind, lambda *_: None  # type: ignore[method-assign]
            rig.api.store(replace(pod, spec=replace(pod.spec, node_name=other)))
            rig.api.tell = watch  # type: ignore[method-assign]
            raise Conflict("pod web is already assigned to a node", code=409, reason="Conflict")

        rig.api._bind = somebody_is_quicker  # type: ignore[method-assign]
        await asyncio.sleep(20)
        assert rig.api.events == []
        assert [one for one in rig.api.sent if "PATCH" in one] == []
        # Where it is, its room is taken until the watch says so, too; elsewhere ours is free again.
        assert rig.scheduler.cluster.is_assumed(uid) == (other == "a")
        rig.pod(a_pod("next").requests(cpu="1"))
        await asyncio.sleep(20)
        assert rig.nodes_of()["next"] == ("" if other == "a" else "a")


async def test_a_pod_that_is_being_deleted_is_not_scheduled() -> None:
    async with running(make_rig()) as rig:
        rig.pod(WEB)
        await asyncio.sleep(1)
        pod = rig.api.pods["web"]
        rig.api.store(replace(pod, metadata=replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")))
        rig.node(NODE)
        await asyncio.sleep(30)
        assert rig.nodes_of() == {"web": ""}
        notes = [event["note"] for event in rig.api.events]
        assert "skip schedule deleting pod: default/web" in notes


async def test_the_refusal_of_a_pod_never_lands_on_one_that_is_bound() -> None:
    """The patch that says why a pod was refused is still waiting when the pod is bound: it must not be sent."""
    async with running(make_rig()) as rig:
        rig.api.failures["PATCH /api/v1/namespaces/default/pods/web/status"] = [Unreachable("slow")] * 3
        rig.pod(WEB)
        await asyncio.sleep(0.05)
        rig.node(NODE)
        await asyncio.sleep(30)
        patch, bind = (
            f"{verb} /api/v1/namespaces/default/pods/web/{what}"
            for verb, what in (("PATCH", "status"), ("POST", "binding"))
        )
        assert bind in rig.api.sent
        assert patch not in rig.api.sent[rig.api.sent.index(bind) :]


async def test_a_stop_finishes_what_is_on_the_wire() -> None:
    made = make_rig()
    async with running(made) as rig:
        rig.node(NODE)
        rig.pod(WEB)
        for _ in range(20):
            await asyncio.sleep(0)
    assert made.nodes_of() == {"web": "a"}
    assert made.api.reasons("web") == ["Scheduled"]


class Holder:
    """Holds every pod in PreBind for ever."""

    def __init__(self, _args: Any, _handle: "Handle") -> None: ...

    async def pre_bind(self, _state: "CycleState", _pod: "PodInfo", _node_name: str) -> "Status | None":
        await asyncio.Event().wait()
        return None


async def test_a_stop_undoes_what_is_not_on_the_wire_yet() -> None:
    profile = {"plugins": {"preBind": {"enabled": [{"name": "Holder"}]}}}
    made = make_rig([Holder], profiles=[profile])
    async with running(made) as rig:
        rig.node(NODE)
        uid = rig.pod(WEB)
        await asyncio.sleep(1)
        assert rig.scheduler.cluster.is_assumed(uid)
    assert not made.scheduler.cluster.is_assumed(uid)
    assert made.api.bindings == {}


async def test_a_pod_in_prebind_makes_room_for_a_more_important_one() -> None:
    profiles = [
        {"schedulerName": "default-scheduler"},
        {"schedulerName": "slow", "plugins": {"preBind": {"enabled": [{"name": "Holder"}]}}},
    ]
    async with running(make_rig([Holder], profiles=profiles)) as rig:
        rig.node(NODE)
        rig.pod(a_pod("low").requests(cpu="2").scheduler("slow"))
        await asyncio.sleep(1)
        rig.pod(a_pod("high").requests(cpu="2").priority(1000))
        await asyncio.sleep(30)
        assert rig.nodes_of() == {"high": "a", "low": ""}
        assert "DELETE /api/v1/namespaces/default/pods/low" not in rig.api.sent


async def test_pods_of_low_priority_are_evicted_once() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        for name in ("low-1", "low-2"):
            rig.pod(a_pod(name).requests(cpu="1"))
        await asyncio.sleep(1)
        rig.pod(a_pod("high").requests(cpu="1").priority(1000))
        await asyncio.sleep(30)
        assert rig.nodes_of()["high"] == "a"
        assert len(rig.api.pods) == 2
        assert len([one for one in rig.api.sent if one.startswith("DELETE")]) == 1
        assert "Preempted" in {event["reason"] for event in rig.api.events}


async def test_an_eviction_that_fails_lets_the_pod_try_again() -> None:
    async with running(make_rig()) as rig:
        rig.node(NODE)
        rig.pod(a_pod("low").requests(cpu="2"))
        await asyncio.sleep(1)
        rig.api.failures["DELETE /api/v1/namespaces/default/pods/low"] = [Forbidden("no", code=403)] * 2
        rig.pod(a_pod("high").requests(cpu="2").priority(1000))
        await asyncio.sleep(60)
        assert rig.nodes_of() == {"high": "a"}


async def test_an_hour_of_churn_leaves_nothing_behind() -> None:
    async with running(make_rig()) as rig:
        for number in range(4):
            rig.node(a_node(f"n{number}").allocatable(cpu="8", pods="30"))
        for minute in range(60):
            for number in range(20):
                rig.pod(a_pod(f"pod-{minute}-{number}").requests(cpu="500m").priority(number % 3))
            rig.pod(a_pod(f"huge-{minute}").requests(cpu="64"))
            await asyncio.sleep(30)
            for name in [*rig.api.pods][:: 1 + minute % 2]:
                rig.api.remove(name)
            await asyncio.sleep(30)
        for name in list(rig.api.pods):
            rig.api.remove(name)
        await asyncio.sleep(60)
        scheduler = rig.scheduler
        assert scheduler.cluster.sizes == {"assumed_pods": 0, "pods": 0, "nodes": 4}
        assert scheduler.queue.pods() == []
        assert scheduler.queue.in_flight() == []
        assert len(scheduler.bindings) == 0
        assert len(scheduler.cluster.snapshot.nominations) == 0
        assert scheduler.core.statuses._writing == {}
        assert len(scheduler.core.evictions) == 0
        assert set(rig.api.bindings.values()) == {1}


async def test_a_pod_that_fits_does_not_wait_until_all_others_were_asked_about_a_storm_of_events() -> None:
    asked: list[str] = []

    class Stuck:
        """Refuses the pods it is to refuse, and tells of every time it is asked about an event."""

        def __init__(self, args: object, handle: "Handle") -> None: ...

        def filter(self, _state: "CycleState", pod: "PodInfo", _node: object) -> "Status | None":
            return unschedulable("stuck") if pod.labels.get("stuck") else None

        def events_to_register(self) -> Sequence[EventHint]:
            return (on(Resource.NODE, Action.UPDATE_NODE_LABEL, self._after_node),)

        def _after_node(self, pod: "PodInfo", _old: object, _new: object) -> Hint:
            asked.append(pod.name)
            return Hint.SKIP

    plugins = {"multiPoint": {"enabled": [{"name": "Stuck"}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    async with running(make_rig([Stuck], profiles=[profile])) as rig:
        rig.node(NODE)
        for index in range(100):
            rig.pod(a_pod(f"stuck-{index}").labels(stuck="yes"))
        await asyncio.sleep(30)
        assert rig.scheduler.queue.pending()[Place.UNSCHEDULABLE] == 100
        old = NODE.build()
        for number in range(500):
            new = replace(old, metadata=replace(old.metadata, labels={"storm": str(number)}))
            rig.scheduler.core.node_events.updated(old, new)
            old = new
        assert asked == [], "nobody is asked in the middle of an event"
        rig.pod(WEB)
        for _ in range(10_000):
            if rig.scheduler.queue.scheduling_cycle > 100:
                break
            await asyncio.sleep(0)
        asked_before = len(asked)
        await asyncio.sleep(10)
        assert asked_before < len(asked) == 50_000
        assert rig.nodes_of()["web"] == "a"
