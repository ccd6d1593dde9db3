"""The same extender under kube-scheduler and under ours: the same calls, bodies field by field, and nodes."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from tests.cluster.plain_extender import PlainExtender, Tree, names_of, passing, plain_extender, pod_of
from tests.cluster.scheduler_world import World
from tools.control_plane.running import ControlPlane

from moorage.kube.errors import NotFound

#: What differs between two pods of the same name, or from one moment to the next (a condition has the last message).
_VARIES = frozenset(
    {"uid", "UID", "PodUID", "resourceVersion", "creationTimestamp", "lastTransitionTime", "time", "message"}
)

_VERBS = ("filter", "prioritize", "preempt", "bind")


def steady(tree: Any) -> Any:
    """Without what varies; its presence still counts."""
    if isinstance(tree, dict):
        return {key: "..." if key in _VARIES and value else steady(value) for key, value in sorted(tree.items())}
    if isinstance(tree, list):
        return [steady(item) for item in tree]
    return tree


def in_order(body: Tree) -> Tree:
    """With nodes by name: schedulers look at them in an order of their own."""
    body = dict(body)
    if body.get("NodeNames"):
        body["NodeNames"] = sorted(body["NodeNames"])
    if body.get("Nodes"):
        items = sorted(body["Nodes"]["items"], key=lambda node: node["metadata"]["name"])
        body["Nodes"] = {**body["Nodes"], "items": items}
    return body


class Scene:
    """Nodes, an extender with an opinion on them, and pods that come one after the other."""

    def __init__(self, world: World, *, by_names: bool) -> None:
        self.world = world
        self.by_names = by_names
        self.nodes: list[str] = []
        self._loop = asyncio.get_running_loop()

    async def prepare(self) -> None:
        world = self.world
        self.nodes = [await world.node(name, cpu="2", labels={"disk": "fast"}) for name in ("a", "b", "c")]
        await world.node("small", cpu="100m")
        urgent = {"metadata": {"name": f"{world.name}-urgent"}, "value": 100}
        await world.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **urgent})

    def answer(self, verb: str, body: Tree) -> Any:
        a, b, c = self.nodes
        match verb:
            case "filter":
                failed = {a: "node a is resting"}
                return passing(body, [name for name in names_of(body) if name != a], FailedNodes=failed)
            case "prioritize":
                return [{"Host": name, "Score": 8 if name == c else 2} for name in names_of(body)]
            case "preempt":
                given = body["NodeNameToMetaVictims"] or {
                    name: {**victims, "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
                    for name, victims in body["NodeNameToVictims"].items()
                }
                return {"NodeNameToMetaVictims": {b: given[b]}}
        asyncio.run_coroutine_threadsafe(self._bind(body), self._loop).result(20)
        return {"Error": ""}

    async def _urgent_is_promised_a_node(self) -> bool:
        return bool((await self.world.get("Pod", "urgent"))["status"].get("nominatedNodeName"))

    async def _let_go(self) -> None:
        for name in ("first", "second"):
            await self.world.patch("Pod", name, {"metadata": {"finalizers": None}})

    async def _bind(self, body: Tree) -> None:
        target = {"kind": "Node", "name": body["Node"]}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": body["PodName"]}, "target": target}
        path = f"/api/v1/namespaces/{body['PodNamespace']}/pods/{body['PodName']}/binding"
        await self.world.client.post(path, json.dumps(binding).encode())

    def config(self, extender: PlainExtender) -> Tree:
        return {"extenders": [extender.entry(*_VERBS, weight=5, nodeCacheCapable=self.by_names)]}

    async def play(self, scheduling: AbstractAsyncContextManager[Any]) -> dict[str, str]:
        """The pods come; where each of them went."""
        world = self.world
        went = {}
        async with scheduling:
            for name in ("first", "second"):
                metadata = {"labels": {"app": name}, "annotations": {"note": name}, "finalizers": ["example.com/hold"]}
                await world.pod(name, cpu="2", metadata=metadata)
                went[name] = await world.bound(name)
            await world.pod("urgent", cpu="2", priorityClassName=f"{world.name}-urgent")
            # The victims go when everybody has seen whom the room is for: what is asked then depends on that.
            await world.eventually(self._urgent_is_promised_a_node)
            await asyncio.sleep(0.3)
            await self._let_go()
            went["urgent"] = await world.bound("urgent")
        for name in ("first", "second", "urgent"):
            try:
                await world.delete("Pod", name)
                await world.gone(name)
            except NotFound:
                pass
        return went


@pytest.mark.parametrize("by_names", [True, False], ids=["names", "whole nodes"])
async def test_the_same_calls_bodies_and_placements(control_plane: ControlPlane, world: World, by_names: bool) -> None:
    scene = Scene(world, by_names=by_names)
    await scene.prepare()
    with plain_extender(scene.answer) as extender:
        theirs_went = await scene.play(kube_scheduler(control_plane, world, scene.config(extender)))
        theirs, extender.calls = without_retries(extender.calls), []
        ours_went = await scene.play(world.scheduling(**scene.config(extender)))
        ours = without_retries(extender.calls)
    assert ours_went == theirs_went
    assert {verb for verb, _ in theirs} == set(_VERBS), "every verb is exercised"
    assert [(verb, pod_of(body)) for verb, body in ours] == [(verb, pod_of(body)) for verb, body in theirs]
    for (verb, our_body), (_, their_body) in zip(ours, theirs, strict=True):
        assert list(differences(steady(in_order(our_body)), steady(in_order(their_body)), verb)) == []


def without_retries(calls: list[tuple[str, Tree]]) -> list[tuple[str, Tree]]:
    """Of attempts in a row at the same pod the last: how often events wake one that waits for its victims is chance."""
    return [
        call
        for call, following in zip(calls, [*calls[1:], None], strict=True)
        if following is None or (call[0], pod_of(call[1])) != (following[0], pod_of(following[1]))
    ]


def differences(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    """Where two trees differ, a line each."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from differences(ours.get(key, "absent"), theirs.get(key, "absent"), f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(our, their, f"{path}[{index}]")
    elif ours != theirs:
        yield f"{path}: ours {ours!r}, theirs {theirs!r}"


@asynccontextmanager
async def kube_scheduler(control_plane: ControlPlane, world: World, config: Tree) -> AsyncIterator[None]:
    """kube-scheduler for the pods of this world."""
    process = await asyncio.to_thread(
        control_plane.start_kube_scheduler, {"profiles": [{"schedulerName": world.name}], **config}
    )
    try:
        yield
    finally:
        await asyncio.to_thread(process.end)
