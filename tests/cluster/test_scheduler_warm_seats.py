"""WarmSeats on an API server: a pod comes back softly to its node, also with a scheduler that has just begun."""

import json
from typing import Any

from tests.cluster.scheduler_world import World

from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH
from moorage.live.scheduler import LiveScheduler
from moorage.plugins import WarmSeats

MEMBER = {"annotations": {"moorage.dev/warm-seat": "member"}}


def profiles(world: World) -> list[dict[str, Any]]:
    enabled = [{"name": "WarmSeats", "weight": 100}]
    return [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": enabled}}}]


def plugin_of(scheduler: LiveScheduler) -> WarmSeats:
    return next(plugin for _, plugin in scheduler.plugins if isinstance(plugin, WarmSeats))


async def run_once(world: World) -> str:
    """A member that ran and is gone; its node."""
    await world.pod("db-0", metadata=MEMBER)
    node = await world.bound("db-0")
    await world.event("db-0", "Scheduled")
    path = f"{resource_of('Pod').path(world.name, 'db-0')}/status"
    status = {"status": {"phase": "Running", "startTime": "2030-01-01T00:00:00Z"}}
    await world.client.patch(path, json.dumps(status).encode(), content_type=MERGE_PATCH)
    await world.pod("neighbour", nodeName=node)
    await world.delete("Pod", "db-0")
    await world.gone("db-0")
    return node


async def test_a_member_comes_back_to_its_node(world: World) -> None:
    for name in ("a", "b", "c"):
        await world.node(name)
    async with world.scheduling(profiles=profiles(world)) as scheduler:
        node = await run_once(world)
        await world.pod("db-0", metadata=MEMBER)
        assert await world.bound("db-0") == node
        (counter,) = plugin_of(scheduler).counters()

        async def is_counted() -> bool:
            return counter.values.get(("hit",)) == 1

        await world.eventually(is_counted)


async def test_a_scheduler_that_has_just_begun_learns_it_from_events(world: World) -> None:
    for name in ("a", "b", "c"):
        await world.node(name)
    async with world.scheduling(profiles=profiles(world)):
        node = await run_once(world)
    async with world.scheduling(profiles=profiles(world)) as scheduler:
        memory = plugin_of(scheduler)._memory

        async def is_learnt() -> bool:
            return memory.warm_nodes(("member", world.name, "db-0")) == [node]

        await world.eventually(is_learnt)
        await world.pod("db-0", metadata=MEMBER)
        assert await world.bound("db-0") == node
