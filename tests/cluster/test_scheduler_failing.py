"""Pods that fit nowhere are told why in kube-scheduler's words, and tried again when something may have changed."""

import json

from tests.cluster.scheduler_world import World


async def test_why_a_pod_fits_nowhere(world: World) -> None:
    await world.node("a", cpu="1")
    await world.node("b", spec={"taints": [{"key": "only", "value": "others", "effect": "NoSchedule"}]})
    async with world.scheduling():
        await world.pod("big", cpu="3")
        refusal = await world.refused("big")
        event = await world.event("big", "FailedScheduling")
    text = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    assert refusal["reason"] == "Unschedulable"
    assert refusal["message"] == text
    assert event["type"] == "Warning"
    assert event["action"] == "Scheduling"
    assert event["note"] == text


async def test_a_pod_waits_for_the_first_node(world: World) -> None:
    async with world.scheduling():
        await world.pod("early")
        assert (await world.refused("early"))["message"] == "no nodes available to schedule pods"
        node = await world.node("a")
        assert await world.bound("early") == node


async def test_a_node_that_would_do_wakes_a_rejected_pod(world: World) -> None:
    await world.node("small", cpu="1")
    async with world.scheduling():
        await world.pod("big", cpu="3")
        await world.refused("big")
        node = await world.node("large", cpu="4")
        assert await world.bound("big") == node


async def test_a_pod_that_leaves_makes_room(world: World) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling():
        await world.pod("first")
        await world.bound("first")
        await world.pod("second")
        await world.refused("second")
        await world.delete("Pod", "first")
        assert await world.bound("second") == node


async def test_a_node_that_is_uncordoned_wakes_a_rejected_pod(world: World) -> None:
    node = await world.node("a", spec={"unschedulable": True})
    async with world.scheduling():
        await world.pod("waiting")
        assert "were unschedulable" in (await world.refused("waiting"))["message"]
        await world.client.patch(f"/api/v1/nodes/{node}", json.dumps({"spec": {"unschedulable": False}}).encode())
        assert await world.bound("waiting") == node


async def test_the_condition_is_not_written_again_without_need(world: World) -> None:
    await world.node("small", cpu="1")
    async with world.scheduling() as scheduler:
        await world.pod("big", cpu="3")
        await world.refused("big")
        before = await world.get("Pod", "big")
        cycles = scheduler.queue.scheduling_cycle
        scheduler.queue.activate([queued.pod for _, queued in scheduler.queue.pods()])
        scheduler.loop.wake()

        async def tried_again() -> bool:
            return scheduler.queue.scheduling_cycle > cycles

        await world.eventually(tried_again)
    assert await world.get("Pod", "big") == before
