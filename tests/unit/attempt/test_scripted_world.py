"""A world whose answers are the caller's."""

from typing import Any

from moorage.attempt.scripted import LATER, Bind, Delete, Evict, Measured, PatchStatus, Read, ScriptedWorld
from moorage.attempt.virtual import Cancelled
from moorage.attempt.world import World
from moorage.columns import PodInfo, Snapshot
from moorage.framework.writes import Bound, Done, Refused
from moorage.objects import Condition, Node
from moorage.testing import a_node, a_pod


def pod(name: str = "web") -> PodInfo:
    return Snapshot().info(a_pod(name).build())


def test_it_is_a_world() -> None:
    world: World = ScriptedWorld(observer=Measured())
    assert world.now() == 0


def test_everything_is_agreed_to_and_taken_down() -> None:
    world = ScriptedWorld()
    web, condition = pod(), Condition("DisruptionTarget", "True")
    node = a_node("a").build()

    async def ask() -> list[Any]:
        return [
            await world.bind(web, "a", uncertain=False),
            await world.evict(web, condition),
            await world.patch_status(web, {"nominatedNodeName": "a"}),
            await world.create(node),
            await world.delete(node),
        ]

    assert world.time.finish(ask()) == [Bound(), Done(), Done(), node, Done()]
    assert [type(request) for request in world.requests][:3] == [Bind, Evict, PatchStatus]
    assert world.requests[-1] == Delete(node)


def test_it_holds_no_objects_unless_it_is_told_so() -> None:
    world = ScriptedWorld()
    assert isinstance(world.time.finish(world.read(Node, "a", "")), Refused)
    node = a_node("a").build()
    world.answer = lambda request: node if request == Read(Node, "a") else Done()
    assert world.time.finish(world.read(Node, "a", "")) is node


def test_what_is_answered_later_waits_in_the_open_for_any_order() -> None:
    world = ScriptedWorld(answer=lambda _request: LATER)
    seen: list[str] = []

    async def bind(name: str) -> None:
        await world.bind(pod(name), "a", uncertain=False)
        seen.append(name)

    for name in ("one", "two"):
        world.spawn(bind(name))
    world.time.run()
    first, second = world.open
    second.give(Bound())
    first.give(Bound())
    world.time.run()
    assert seen == ["two", "one"]
    assert world.open == []


def test_a_request_whose_asker_was_cancelled_is_open_no_more() -> None:
    world = ScriptedWorld(answer=lambda _request: LATER)
    seen: list[str] = []

    async def bind() -> None:
        try:
            await world.bind(pod(), "a", uncertain=False)
        except Cancelled:
            seen.append("cancelled")
            raise

    job = world.spawn(bind())
    world.time.run()
    job.cancel()
    world.time.run()
    assert (seen, world.open) == (["cancelled"], [])
