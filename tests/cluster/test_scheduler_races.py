"""Things that change under our hands: pods and nodes deleted in every stage, a second scheduler on the same nodes."""

import asyncio
from typing import Any

import pytest
from tests.cluster.scheduler_world import World

from moorage.columns import PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.kube.decoding import MODIFIED, WatchEvent
from moorage.objects import Node, Pod, convert


class Brake:
    """Holds every pod at one stage of its binding until it is let go."""

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle

    async def _wait(self, stage: str, pod: PodInfo) -> None:
        if pod.annotations.get("brake") == stage:
            Brake.reached.set()
            await Brake.released.wait()

    reached: asyncio.Event
    released: asyncio.Event

    async def pre_bind(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | None:
        await self._wait("PreBind", pod)
        return None

    async def bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        await self._wait("Bind", pod)
        await self._handle.host.bind(pod, node_name)
        return None

    async def post_bind(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        await self._wait("PostBind", pod)


@pytest.fixture(autouse=True)
async def brake() -> type[Brake]:
    """The brake, with nobody at it."""
    Brake.reached, Brake.released = asyncio.Event(), asyncio.Event()
    return Brake


def profile(world: World) -> list[dict[str, Any]]:
    plugins = {"preBind": {"enabled": [{"name": "Brake"}]}, "postBind": {"enabled": [{"name": "Brake"}]}}
    bind = {"disabled": [{"name": "*"}], "enabled": [{"name": "Brake"}]}
    return [{"schedulerName": world.name, "plugins": {**plugins, "bind": bind}}]


def braking(stage: str) -> dict[str, Any]:
    return {"annotations": {"brake": stage}}


@pytest.mark.parametrize("stage", ["PreBind", "Bind", "PostBind"])
async def test_a_pod_deleted_while_it_is_bound_leaves_nothing_behind(world: World, stage: str) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Brake]) as scheduler:
        await world.pod("doomed", metadata=braking(stage))
        await Brake.reached.wait()
        await world.delete("Pod", "doomed")
        await world.pod("next")
        assert await world.bound("next") == node
        Brake.released.set()

        async def none_under_way() -> bool:
            return len(scheduler.bindings) == 0

        await world.eventually(none_under_way)
        assert scheduler.queue.in_flight() == []


@pytest.mark.parametrize("stage", ["PreBind", "Bind"])
async def test_a_node_deleted_under_an_assumed_pod(world: World, stage: str) -> None:
    await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Brake]) as scheduler:
        await world.pod("web", metadata=braking(stage))
        await Brake.reached.wait()
        await world.delete("Node", f"{world.name}-a")

        async def unseen() -> bool:
            return len(scheduler.cluster.snapshot.nodes) == 0

        await world.eventually(unseen)
        Brake.released.set()
        # The API server binds to nodes it does not know; whoever deletes nodes deletes their pods.
        await world.bound("web")
        await world.delete("Pod", "web")


async def test_a_pod_made_again_under_its_name_is_scheduled(world: World) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Brake]):
        await world.pod("web", metadata=braking("Bind"))
        await Brake.reached.wait()
        await world.delete("Pod", "web")
        again = await world.pod("web")
        Brake.released.set()
        assert await world.bound("web") == node
        event = await world.event("web", "Scheduled")
    assert event["regarding"]["uid"] == again["metadata"]["uid"]


async def test_two_schedulers_on_the_same_pods_bind_each_once(world: World) -> None:
    for name in "abcd":
        await world.node(name, cpu="64", pods="64")
    async with world.scheduling(), world.scheduling():
        await asyncio.gather(*(world.pod(f"pod-{number}") for number in range(32)))
        await asyncio.gather(*(world.bound(f"pod-{number}") for number in range(32)))
        for number in range(32):
            await world.event(f"pod-{number}", "Scheduled")
    for number in range(32):
        assert len(await world.events(f"pod-{number}", "Scheduled")) == 1
        # Who came too late says nothing: the pod is done, and what it says of itself is right.
        assert await world.events(f"pod-{number}", "FailedScheduling") == []
        conditions = (await world.get("Pod", f"pod-{number}"))["status"].get("conditions", ())
        assert {"PodScheduled": "False"} not in [{one["type"]: one["status"]} for one in conditions]


async def test_a_malformed_pod_stops_nobody(world: World) -> None:
    await world.node("a")
    async with world.scheduling() as scheduler:
        handler = scheduler.informers.pods
        broken = await world.pod("broken", schedulerName="somebody-else")
        broken["spec"]["schedulerName"] = world.name
        broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "much"
        handler._apply(WatchEvent(MODIFIED, _renewed(broken)))
        await world.pod("web")
        await world.bound("web")
        assert [queued.key for _, queued in scheduler.queue.pods()] == []


def _renewed(tree: dict[str, Any]) -> Pod:
    tree["metadata"]["resourceVersion"] += "0"
    pod: Pod = convert(tree, Pod)
    assert not isinstance(pod, Node)
    return pod
