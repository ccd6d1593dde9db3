"""Pods get nodes, with kube-scheduler's events and conditions; other schedulers' pods are left alone."""

import asyncio

from tests.cluster.scheduler_world import World, condition


async def test_a_pod_is_bound_and_told_so(world: World) -> None:
    node = await world.node("a")
    async with world.scheduling():
        await world.pod("web")
        assert await world.bound("web") == node
        event = await world.event("web", "Scheduled")
    assert event["type"] == "Normal"
    assert event["action"] == "Binding"
    assert event["note"] == f"Successfully assigned {world.name}/web to {node}"
    assert event["reportingController"] == world.name
    assert condition(await world.get("Pod", "web"), "PodScheduled")


async def test_pods_that_were_there_before_are_bound(world: World) -> None:
    await world.pod("early")
    node = await world.node("a")
    async with world.scheduling():
        assert await world.bound("early") == node


async def test_pods_of_other_schedulers_are_left_alone(world: World) -> None:
    await world.node("a")
    async with world.scheduling():
        await world.pod("theirs", schedulerName="somebody-else")
        await world.pod("ours")
        await world.bound("ours")
    pod = await world.get("Pod", "theirs")
    assert "nodeName" not in pod["spec"]
    assert not condition(pod, "PodScheduled", "False")


async def test_each_profile_schedules_its_own_pods(world: World) -> None:
    small = await world.node("small", cpu="2")
    large = await world.node("large", cpu="16")
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    args = {"scoringStrategy": strategy}
    packing = {
        "schedulerName": f"{world.name}-packing",
        "pluginConfig": [{"name": "NodeResourcesFit", "args": args}],
        "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}},
    }
    async with world.scheduling(profiles=[{"schedulerName": world.name}, packing]):
        await world.pod("packed", schedulerName=f"{world.name}-packing")
        assert await world.bound("packed") == small
        await world.pod("spread")
        assert await world.bound("spread") == large
        packed = await world.event("packed", "Scheduled")
        spread = await world.event("spread", "Scheduled")
    assert packed["reportingController"] == f"{world.name}-packing"
    assert spread["reportingController"] == world.name


async def test_a_gated_pod_waits_for_its_gates(world: World) -> None:
    await world.node("a")
    async with world.scheduling() as scheduler:
        await world.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
        await world.pod("open")
        await world.bound("open")
        assert "nodeName" not in (await world.get("Pod", "gated"))["spec"]
        assert [place for place, _ in scheduler.queue.pods()] == ["gated"]
        await world.client.patch(
            f"/api/v1/namespaces/{world.name}/pods/gated",
            b'{"spec": {"schedulingGates": []}}',
            content_type="application/merge-patch+json",
        )
        await world.bound("gated")


async def test_a_burst_fills_the_nodes_and_no_more(world: World) -> None:
    for name in "abc":
        await world.node(name, cpu="4")
    async with world.scheduling():
        await asyncio.gather(*(world.pod(f"pod-{number}") for number in range(14)))

        async def all_seen_to() -> bool:
            pods = await world.pods()
            bound = [pod for pod in pods if pod["spec"].get("nodeName")]
            refused = [pod for pod in pods if condition(pod, "PodScheduled", "False")]
            return (len(bound), len(refused)) == (12, 2)

        await world.eventually(all_seen_to)
