"""Pods held at Permit: allowed, rejected, timed out, deleted; nodes and names given back."""

from typing import Any, ClassVar

from tests.cluster.scheduler_world import World

from moorage.columns import PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.points import PermitAnswer
from moorage.framework.status import Status, unschedulable, wait


class Doorkeeper:
    """Holds pods that say so, for as long as they say; remembers what was given back."""

    unreserved: ClassVar[list[str]] = []

    def __init__(self, _args: Any, handle: Handle) -> None:
        self.handle = handle

    def reserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return None

    def unreserve(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        self.unreserved.append(pod.key)

    def permit(self, _state: CycleState, pod: PodInfo, _node_name: str) -> PermitAnswer | Status | None:
        match pod.annotations.get("door", ""):
            case "":
                return None
            case "closed":
                return unschedulable("the door is closed")
            case seconds:
                return PermitAnswer(wait(), float(seconds))


def profile(world: World) -> list[dict[str, Any]]:
    return [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": [{"name": "Doorkeeper"}]}}}]


def at_the_door(seconds: str) -> dict[str, Any]:
    return {"annotations": {"door": seconds}}


async def test_a_pod_is_held_until_it_is_allowed(world: World) -> None:
    node = await world.node("a")
    async with world.scheduling(profiles=profile(world), plugins=[Doorkeeper]) as scheduler:
        await world.pod("patient", metadata=at_the_door("60"))

        async def expected() -> bool:
            return bool((await world.get("Pod", "patient"))["status"].get("nominatedNodeName") == node)

        await world.eventually(expected)
        assert "nodeName" not in (await world.get("Pod", "patient"))["spec"]
        (held,) = scheduler.held
        assert held.pending_plugins() == ["Doorkeeper"]
        held.allow("Doorkeeper")
        assert await world.bound("patient") == node
        assert not (await world.get("Pod", "patient"))["status"].get("nominatedNodeName")


async def test_a_pod_that_is_denied_gives_everything_back(world: World) -> None:
    await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Doorkeeper]):
        await world.pod("denied", metadata=at_the_door("closed"))
        refusal = await world.refused("denied")
        await world.pod("next")
        await world.bound("next")
    assert refusal["message"] == "0/1 nodes are available: 1 the door is closed."
    assert f"{world.name}/denied" in Doorkeeper.unreserved


async def test_a_pod_is_not_held_longer_than_its_plugin_said(world: World) -> None:
    await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Doorkeeper]):
        await world.pod("late", metadata=at_the_door("0.3"))
        refusal = await world.refused("late")
        await world.delete("Pod", "late")
    text = "rejected due to timeout after waiting 300ms at plugin Doorkeeper"
    assert refusal["message"] == f"0/1 nodes are available: 1 {text}."


async def test_a_pod_deleted_at_the_door_makes_room_at_once(world: World) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Doorkeeper]) as scheduler:
        await world.pod("doomed", metadata=at_the_door("60"))

        async def is_held() -> bool:
            return len(scheduler.held) == 1

        await world.eventually(is_held)
        await world.pod("next")
        await world.refused("next")
        await world.delete("Pod", "doomed")
        assert await world.bound("next") == node
        assert len(scheduler.held) == 0


async def test_a_pod_at_the_door_can_be_preempted(world: World) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Doorkeeper]) as scheduler:
        await world.pod("low", metadata=at_the_door("60"))

        async def is_held() -> bool:
            return len(scheduler.held) == 1

        await world.eventually(is_held)
        await world.pod("high", priorityClassName="system-cluster-critical")
        assert await world.bound("high") == node
        assert "deletionTimestamp" not in (await world.get("Pod", "low"))["metadata"]
