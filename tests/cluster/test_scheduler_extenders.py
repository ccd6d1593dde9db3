"""Our scheduler asks extenders that were written with nothing of ours."""

import asyncio
import json
import threading
import time
from typing import Any

import pytest
from tests.cluster.plain_extender import Tree, names_of, passing, plain_extender, pod_of
from tests.cluster.scheduler_world import World

ALL = ("filter", "prioritize")
GPUS: Any = {"example.com/gpu": "8"}


def short(world: World, names: list[str]) -> list[str]:
    """Nodes by the names the test gave them."""
    return sorted(name.removeprefix(f"{world.name}-") for name in names)


@pytest.mark.parametrize("by_names", [True, False], ids=["names", "whole nodes"])
async def test_filter_and_prioritize(world: World, by_names: bool) -> None:
    nodes = [await world.node(name) for name in ("a", "b", "c")]
    await world.node("full", cpu="10m")

    def answer(verb: str, body: Tree) -> Any:
        names = names_of(body)
        if verb == "filter":
            failed = {nodes[0]: "out of luck"}
            return passing(body, [name for name in names if name != nodes[0]], FailedNodes=failed)
        return [{"Host": name, "Score": 9 if name == nodes[2] else 3} for name in names]

    with plain_extender(answer) as extender:
        async with world.scheduling(extenders=[extender.entry(*ALL, weight=10, nodeCacheCapable=by_names)]):
            await world.pod("p")
            assert await world.bound("p") == nodes[2]
    (_, filtered), (_, scored) = extender.calls
    assert extender.verbs() == ["filter", "prioritize"]
    assert short(world, names_of(filtered)) == ["a", "b", "c"]
    assert short(world, names_of(scored)) == ["b", "c"]
    for body in (filtered, scored):
        pod = body["Pod"]
        assert pod["spec"]["dnsPolicy"] == "ClusterFirst", "a field we do not read ourselves"
        assert not {"kind", "apiVersion"} & pod.keys()
        assert "managedFields" not in pod["metadata"]
        assert (body["Nodes"] is None, body["NodeNames"] is None) == (by_names, not by_names)
        for node in body["Nodes"]["items"] if body["Nodes"] else ():
            assert not {"kind", "apiVersion"} & node.keys()
            assert node["status"]["conditions"][0]["type"] == "Ready"


async def test_one_node_left_is_not_scored(world: World) -> None:
    nodes = [await world.node(name) for name in ("a", "b")]
    with plain_extender(lambda _, body: passing(body, [nodes[1]])) as extender:
        async with world.scheduling(extenders=[extender.entry(*ALL, weight=1)]):
            await world.pod("p")
            assert await world.bound("p") == nodes[1]
    assert extender.verbs() == ["filter"]


async def test_refusals_are_told_and_any_event_wakes_the_pod(world: World) -> None:
    node = await world.node("a")
    lucky = False

    def answer(_verb: str, body: Tree) -> Any:
        if lucky:
            return passing(body, [node])
        return passing(body, [], FailedNodes={node: "no luck today"})

    with plain_extender(answer) as extender:
        async with world.scheduling(extenders=[extender.entry("filter", nodeCacheCapable=True)]):
            await world.pod("p")
            assert "0/1 nodes are available: 1 no luck today." in (await world.refused("p"))["message"]
            lucky = True
            await world.patch("Node", node, {"metadata": {"labels": {"changed": "yes"}}})
            assert await world.bound("p") == node


async def test_each_sees_what_the_last_left_and_ignorable_ones_come_last(world: World) -> None:
    nodes = [await world.node(name) for name in ("a", "b", "c")]
    with (
        plain_extender(lambda _verb, body: passing(body, names_of(body)[:1])) as last,
        plain_extender(
            lambda _verb, body: passing(body, [name for name in names_of(body) if name != nodes[0]])
        ) as first,
        plain_extender(lambda _verb, _body: (500, b"broken")) as broken,
    ):
        extenders = [
            broken.entry("filter", ignorable=True),
            first.entry("filter"),
            last.entry("filter", nodeCacheCapable=True),
        ]
        async with world.scheduling(extenders=extenders):
            await world.pod("p")
            assert await world.bound("p") in nodes[1:]
        assert len(names_of(last.calls[0][1])) == 2
        assert len(names_of(broken.calls[0][1])) == 1


async def test_pods_that_ask_for_nothing_of_its_own_are_not_sent(world: World) -> None:
    await world.node("a", **GPUS)
    resources = [{"name": "example.com/gpu"}]
    with plain_extender(lambda _, body: passing(body, names_of(body))) as extender:
        async with world.scheduling(extenders=[extender.entry("filter", managedResources=resources)]):
            await world.pod("plain")
            await world.bound("plain")
            amounts = {"example.com/gpu": "1"}
            container = {
                "name": "main",
                "image": "example/app:1",
                "resources": {"requests": amounts, "limits": amounts},
            }
            await world.pod("greedy", containers=[container])
            await world.bound("greedy")
    assert [pod_of(body) for _, body in extender.calls] == ["greedy"]


async def test_binding_is_the_extenders(world: World) -> None:
    node = await world.node("a")
    loop = asyncio.get_running_loop()

    def answer(_verb: str, body: Tree) -> Any:
        asyncio.run_coroutine_threadsafe(bind(body), loop).result()
        return {"Error": ""}

    async def bind(body: Tree) -> None:
        binding = {
            "kind": "Binding",
            "metadata": {"name": body["PodName"], "uid": body["PodUID"]},
            "target": {"kind": "Node", "name": body["Node"]},
        }
        path = f"/api/v1/namespaces/{body['PodNamespace']}/pods/{body['PodName']}/binding"
        await world.client.post(path, json.dumps({"apiVersion": "v1", **binding}).encode())

    with plain_extender(answer) as extender:
        async with world.scheduling(extenders=[extender.entry("bind")]):
            pod = await world.pod("p")
            assert await world.bound("p") == node
            await world.event("p", "Scheduled")
    meta = pod["metadata"]
    body = {"PodName": "p", "PodNamespace": world.name, "PodUID": meta["uid"], "Node": node}
    assert extender.calls == [("bind", body)]


@pytest.mark.parametrize("by_names", [True, False], ids=["names", "whole victims"])
async def test_preemption_goes_where_the_extender_lets_it(world: World, by_names: bool) -> None:
    nodes = [await world.node(name, cpu="1") for name in ("a", "b")]

    def answer(verb: str, body: Tree) -> Any:
        if verb == "filter":
            return passing(body, names_of(body))
        given = body["NodeNameToMetaVictims"] or {
            name: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
            for name, victims in body["NodeNameToVictims"].items()
        }
        return {"NodeNameToMetaVictims": {nodes[1]: given[nodes[1]]}}

    with plain_extender(answer) as extender:
        async with world.scheduling(extenders=[extender.entry("filter", "preempt", nodeCacheCapable=by_names)]):
            for name in ("low1", "low2"):
                await world.pod(name)
                await world.bound(name)
            urgent = {"metadata": {"name": f"{world.name}-urgent"}, "value": 100}
            await world.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **urgent})
            await world.pod("urgent", priorityClassName=f"{world.name}-urgent")
            assert await world.bound("urgent") == nodes[1]
    body = next(body for verb, body in extender.calls if verb == "preempt")
    given, other = (
        ("NodeNameToMetaVictims", "NodeNameToVictims") if by_names else ("NodeNameToVictims", "NodeNameToMetaVictims")
    )
    assert body[other] is None
    assert sorted(body[given]) == sorted(nodes)
    if not by_names:
        (victim,) = body[given][nodes[0]]["Pods"]
        assert victim["spec"]["dnsPolicy"] == "ClusterFirst"
        assert "managedFields" not in victim["metadata"]


async def test_others_are_decided_while_one_thinks(world: World) -> None:
    """kube-scheduler stands still meanwhile."""
    await world.node("a", **GPUS)
    thinking, both_asked = threading.Event(), threading.Event()

    def answer(_verb: str, body: Tree) -> Any:
        if len(extender.calls) == 2:
            both_asked.set()
        thinking.wait(20)
        return passing(body, names_of(body))

    amounts = {"example.com/gpu": "1"}
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": amounts, "limits": amounts}}
    with plain_extender(answer) as extender:
        entry = extender.entry("filter", httpTimeout="20s", managedResources=[{"name": "example.com/gpu"}])
        async with world.scheduling(extenders=[entry]):
            for name in ("slow1", "slow2"):
                await world.pod(name, containers=[container])
            for index in range(3):
                await world.pod(f"quick{index}", cpu="100m")
            for index in range(3):
                await world.bound(f"quick{index}")
            await asyncio.to_thread(both_asked.wait, 20)
            assert not (await world.get("Pod", "slow1"))["spec"].get("nodeName")
            await world.delete("Pod", "slow2")
            thinking.set()
            await world.bound("slow1")


async def test_one_that_serves_one_after_the_other_is_not_flooded(world: World) -> None:
    """kube-scheduler asks one question at a time, which such an extender can take for granted."""
    await world.node("a", cpu="100")
    names = [f"p{index:02}" for index in range(16)]

    def slowly(_verb: str, body: Tree) -> Any:
        time.sleep(0.15)
        return passing(body, names_of(body))

    with plain_extender(slowly, one_at_a_time=True) as extender:
        entry = extender.entry("filter", httpTimeout="500ms", nodeCacheCapable=True)
        async with world.scheduling(extenders=[entry]):
            for name in names:
                await world.pod(name, cpu="100m")
            for name in names:
                await world.bound(name)
        assert len(extender.calls) < 3 * len(names)


async def test_a_pod_that_waits_is_not_overtaken_for_ever(world: World) -> None:
    """Others take the room while an extender thinks; then the more important pod makes room, and it is kept for it."""
    await world.node("a", cpu="1", **GPUS)
    asked = threading.Event()

    def answer(_verb: str, body: Tree) -> Any:
        asked.set()
        time.sleep(0.5)
        return passing(body, names_of(body))

    amounts = {"example.com/gpu": "1", "cpu": "1"}
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": amounts, "limits": amounts}}
    urgent = {"metadata": {"name": f"{world.name}-urgent"}, "value": 100}
    await world.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **urgent})
    with plain_extender(answer) as extender:
        async with world.scheduling(
            extenders=[extender.entry("filter", managedResources=[{"name": "example.com/gpu"}])]
        ):
            await world.pod("urgent", containers=[container], priorityClassName=f"{world.name}-urgent")
            await asyncio.to_thread(asked.wait, 20)
            for index in range(6):
                await world.pod(f"low{index}")
            await world.bound("urgent")
            assert not any(
                one["spec"].get("nodeName") for one in await world.pods() if one["metadata"]["name"] != "urgent"
            )


HOSTILE: dict[str, Any] = {
    "500": (500, b"out of order"),
    "junk": b"<html>",
    "wrong types": {"NodeNames": 5},
    "strangers": {"NodeNames": ["never-heard-of"]},
    "huge": b" " * 50_000_000,
    "an Error": {"Error": "not today"},
}


@pytest.mark.parametrize("ignorable", [True, False])
@pytest.mark.parametrize("what", HOSTILE)
async def test_hostile_answers_fail_the_pod_or_are_passed_over(world: World, what: str, ignorable: bool) -> None:
    await world.node("a")
    with plain_extender(lambda _verb, _body: HOSTILE[what]) as extender:
        entry = extender.entry("filter", nodeCacheCapable=True, ignorable=ignorable, managedResources=[])
        async with world.scheduling(extenders=[entry]) as scheduler:
            await world.pod("p")
            if ignorable:
                await world.bound("p")
            else:
                message = (await world.refused("p"))["message"]
                assert message.startswith(f"extender {extender.url}: ")
            durations = scheduler.metrics.extender_duration.values
            assert all(url == extender.url for url, _, _ in durations)


async def test_an_extender_that_hangs_is_given_up_in_time(world: World) -> None:
    await world.node("a")

    def slowly(_verb: str, _body: Tree) -> Any:
        time.sleep(1)
        return {}

    with plain_extender(slowly) as extender:
        async with world.scheduling(extenders=[extender.entry("filter", httpTimeout="100ms")]):
            await world.pod("p")
            assert "no answer within 0.1 s" in (await world.refused("p"))["message"]
