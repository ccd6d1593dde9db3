"""Failure is normal: whatever the API server does, no pod is lost, none bound twice, no node overfull."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from tests.cluster.faulty_server import Fault, FaultyServer, failure, faulty_server
from tests.cluster.forgetful_proxy import forgetful_proxy
from tests.cluster.scheduler_world import World

from moorage.kube.access import load_access


@pytest.fixture
async def server(world: World) -> AsyncIterator[FaultyServer]:
    """The API server of the world, with a way to make it fail."""
    async with faulty_server(world.access.kubeconfig) as made:
        yield made


async def bindings(world: World, name: str) -> int:
    """How often a pod was said to be bound."""
    return len(await world.events(name, "Scheduled"))


@pytest.mark.parametrize(
    "fault",
    [
        Fault.DROPPED,
        Fault.ANSWER_LOST,
        failure(429, "TooManyRequests", headers={"Retry-After": "0"}),
        failure(500, "InternalError"),
        failure(503, "ServiceUnavailable"),
    ],
    ids=["dropped", "answer lost", "429", "500", "503"],
)
async def test_a_bind_that_fails_is_repeated_safely(world: World, server: FaultyServer, fault: Fault) -> None:
    node = await world.node("a")
    async with world.scheduling(access=server.access):
        server.fail("POST", "/web/binding", fault)
        await world.pod("web")
        assert await world.bound("web") == node
        await world.event("web", "Scheduled")
        await world.pod("next")
        await world.bound("next")
    assert await bindings(world, "web") == 1


async def test_a_bind_that_is_refused_is_tried_again_after_a_while(world: World, server: FaultyServer) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling(access=server.access):
        server.fail("POST", "/web/binding", failure(409, "Conflict", "somebody was faster"))
        await world.pod("web")
        event = await world.event("web", "FailedScheduling")
        assert await world.bound("web") == node
    assert event["note"] == 'running Bind plugin "DefaultBinder": somebody was faster'


async def test_watches_that_are_cut_go_on_where_they_were(world: World, server: FaultyServer) -> None:
    await world.node("a")
    async with world.scheduling(access=server.access):
        for number in range(3):
            assert server.cut_streams() > 0
            await world.pod(f"pod-{number}")
            await world.bound(f"pod-{number}")


async def test_a_watch_that_lost_its_place_lists_again(world: World, server: FaultyServer) -> None:
    await world.node("a", cpu="2")
    async with world.scheduling(access=server.access):
        await world.pod("first")
        await world.bound("first")
        server.fail("GET", "/pods?watch", failure(410, "Expired"), times=2)
        server.cut_streams()
        await world.delete("Pod", "first")
        await world.pod("second", cpu="2")
        await world.bound("second")


async def test_the_api_server_goes_and_comes_back(world: World, server: FaultyServer) -> None:
    await world.node("a", cpu="3")
    async with world.scheduling(access=server.access) as scheduler:
        await world.pod("before")
        await world.bound("before")
        await server.go_down()
        await world.pod("during")
        await world.delete("Pod", "before")
        await asyncio.sleep(2)
        await server.come_back()
        await world.bound("during")
        await world.pod("after", cpu="2")
        await world.bound("after")
        assert scheduler.synced.is_set()


async def test_connections_that_carry_nothing_any_more_are_left_for_new_ones(world: World) -> None:
    await world.node("a")
    through = forgetful_proxy(load_access(world.access.kubeconfig))
    async with through as (proxy, access), world.scheduling(access=access):
        await world.pod("before")
        await world.bound("before")
        await world.event("before", "Scheduled")
        proxy.forget()
        await world.pod("after")
        # No connection was closed and every byte acknowledged; `bound` waits for 30 s.
        await world.bound("after")
        await world.event("after", "Scheduled")


async def test_the_room_of_a_bind_that_may_have_happened_is_given_to_nobody(world: World, server: FaultyServer) -> None:
    node = await world.node("a", cpu="1")

    def go_blind(request: web.Request) -> Fault | None:
        """From the moment the binding arrives, neither its answer nor the bound pod is seen for a while."""
        if not request.path.endswith("/web/binding"):
            return None
        server.rules.remove(go_blind)
        server.fail("GET", "/pods/web", Fault.DROPPED, times=20)
        server.fail("GET", "/pods?watch", failure(503, "ServiceUnavailable"), times=3)
        server.cut_streams()
        return Fault.ANSWER_LOST

    async with world.scheduling(access=server.access) as scheduler:
        server.rules.append(go_blind)
        await world.pod("web")
        assert await world.bound("web") == node
        assert [pod.name for pod in scheduler.cluster.assumed()] == ["web"]
        await world.pod("next")
        message = (await world.refused("next"))["message"]
    assert "Insufficient cpu" in message
    assert await bindings(world, "web") <= 1


async def test_a_status_that_cannot_be_written_holds_up_nobody(world: World, server: FaultyServer) -> None:
    await world.node("a", cpu="1")
    async with world.scheduling(access=server.access):
        server.fail("PATCH", "/big/status", failure(500, "InternalError"), times=100)
        await world.pod("big", cpu="8")
        await world.event("big", "FailedScheduling")
        await world.pod("small")
        await world.bound("small")


async def test_events_that_cannot_be_written_hold_up_nobody(world: World, server: FaultyServer) -> None:
    await world.node("a")
    async with world.scheduling(access=server.access):
        server.fail("POST", "/events", failure(403, "Forbidden"), times=1000)
        await world.pod("quiet")
        await world.bound("quiet")
    assert await bindings(world, "quiet") == 0


async def test_an_eviction_that_fails_is_tried_again(world: World, server: FaultyServer) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling(access=server.access):
        await world.pod("low")
        await world.bound("low")
        server.fail("DELETE", "/pods/low", failure(403, "Forbidden"), times=2)
        await world.pod("high", priorityClassName="system-cluster-critical")
        assert await world.bound("high") == node


async def test_a_victim_whose_going_is_not_seen_yet_is_not_replaced_by_another(
    world: World, server: FaultyServer
) -> None:
    for name in "ab":
        await world.node(name, cpu="1")
    async with world.scheduling(access=server.access) as scheduler:
        for name in ("low-1", "low-2"):
            await world.pod(name, terminationGracePeriodSeconds=0)
            await world.bound(name)

        def hold(request: web.Request) -> None:
            if request.method == "DELETE":
                server.hold_streams()

        server.rules.append(hold)
        await world.pod("high", priorityClassName="system-cluster-critical")
        await world.eventually(lambda: _later(any(seen.startswith("DELETE") for seen in server.seen)))
        await scheduler.core.evictions.drain()
        cycles = scheduler.queue.scheduling_cycle
        scheduler.queue.activate([queued.pod for _, queued in scheduler.queue.pods()])
        scheduler.loop.wake()
        await world.eventually(lambda: _later(scheduler.queue.scheduling_cycle > cycles))
        await scheduler.core.evictions.drain()
        server.rules.remove(hold)
        server.release_streams()
        await world.bound("high")
        left = {one["metadata"]["name"] for one in await world.pods()}
    assert len(left) == 2
    assert sum(seen.startswith("DELETE") for seen in server.seen) == 1


async def _later(value: bool) -> bool:
    return value
