"""Pods of higher priority get room: victims are told, deleted once, and their node is promised meanwhile."""

import asyncio
from typing import Any

from tests.cluster.scheduler_world import World, condition

HIGH: dict[str, Any] = {"priorityClassName": "system-cluster-critical"}


async def fill(world: World, count: int, *, grace: int = 0) -> list[str]:
    """Bind so many small pods that a node is full."""
    names = [f"low-{number}" for number in range(count)]
    for name in names:
        await world.pod(name, terminationGracePeriodSeconds=grace)
    for name in names:
        await world.bound(name)
    return names


async def test_victims_leave_and_the_pod_takes_their_place(world: World) -> None:
    node = await world.node("a", cpu="2")
    async with world.scheduling():
        victim, other = await fill(world, 2)
        pod = await world.pod("high", cpu="1", **HIGH)
        assert await world.bound("high") == node
        left = {one["metadata"]["name"] for one in await world.pods()}
        assert len(left) == 2
        gone = victim if victim not in left else other
        event = await world.event(gone, "Preempted")
    assert event["type"] == "Normal"
    assert event["action"] == "Preempting"
    assert event["note"] == f"Preempted by pod {pod['metadata']['uid']} on node {node}"


async def test_a_victim_is_told_before_it_is_deleted_and_evicted_once(world: World) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling() as scheduler:
        (victim,) = await fill(world, 1, grace=30)
        await world.client.patch(
            f"/api/v1/namespaces/{world.name}/pods/{victim}",
            b'{"metadata": {"finalizers": ["example.com/hold"]}}',
            content_type="application/merge-patch+json",
        )
        await world.pod("high", cpu="1", **HIGH)

        async def leaving() -> bool:
            return "deletionTimestamp" in (await world.get("Pod", victim))["metadata"]

        await world.eventually(leaving)
        told = condition(await world.get("Pod", victim), "DisruptionTarget")
        assert told is not None
        assert told["reason"] == "PreemptionByScheduler"
        assert told["message"] == f"{world.name}: preempting to accommodate a higher priority pod"

        async def promised() -> bool:
            return bool((await world.get("Pod", "high"))["status"].get("nominatedNodeName") == node)

        await world.eventually(promised)
        # As long as the victim is leaving, trying again evicts nobody.
        cycles = scheduler.queue.scheduling_cycle
        scheduler.queue.activate([queued.pod for _, queued in scheduler.queue.pods()])
        scheduler.loop.wake()
        await world.eventually(lambda: _later(scheduler.queue.scheduling_cycle > cycles))
        message = (await world.refused("high"))["message"]
        assert len(await world.events(victim, "Preempted")) == 1
        await world.client.patch(
            f"/api/v1/namespaces/{world.name}/pods/{victim}",
            b'{"metadata": {"finalizers": null}}',
            content_type="application/merge-patch+json",
        )
        await world.delete("Pod", victim)
        assert await world.bound("high") == node
    assert message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


async def test_nobody_is_evicted_for_a_pod_that_may_not_preempt(world: World) -> None:
    name = f"{world.name}-meek"
    meek = {"value": 1000, "preemptionPolicy": "Never", "metadata": {"name": name}}
    await world.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **meek})
    await world.node("a", cpu="1")
    async with world.scheduling():
        (low,) = await fill(world, 1)
        await world.pod("meek", priorityClassName=name)
        message = (await world.refused("meek"))["message"]
        assert "nodeName" in (await world.get("Pod", low))["spec"]
    assert message == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )


async def test_many_preemptors_evict_no_more_than_they_need(world: World) -> None:
    for name in "abc":
        await world.node(name, cpu="4")
    async with world.scheduling():
        await fill(world, 12)
        await asyncio.gather(*(world.pod(f"high-{number}", cpu="1", **HIGH) for number in range(5)))
        await asyncio.gather(*(world.bound(f"high-{number}") for number in range(5)))
        names = {one["metadata"]["name"] for one in await world.pods()}
    assert len([name for name in names if name.startswith("low")]) == 7


async def _later(value: bool) -> bool:
    return value
