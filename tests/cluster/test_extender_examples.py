"""The examples in three ways, placed alike: in our scheduler, as a webhook beside it, and beside the stock one."""

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from moorage_gpushare import GpuShare
from moorage_gpushare.cards import COUNT, INDEX, MEMORY
from sample_extender import SampleExtender, luck
from tests.cluster.scheduler_world import World
from tools.control_plane.processes import Process, free_ports
from tools.control_plane.running import ControlPlane

from moorage.testing import a_pod

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Enough for the example to outweigh what others think of nodes: totals that happen to be equal would be drawn.
WEIGHT = 10

Tree = dict[str, Any]
Scheduling = AbstractAsyncContextManager[Any]


async def in_three_ways(world: World, request: pytest.FixtureRequest, plugin: type, entry: Tree, play: Any) -> None:
    """Play once in each way; all of them must go the same."""
    profiles = [
        {
            "schedulerName": world.name,
            "plugins": {"multiPoint": {"enabled": [{"name": plugin.__name__, "weight": WEIGHT}]}},
        }
    ]
    inside = await play(world.scheduling(profiles=profiles, plugins=[plugin]))
    beside = await play(world.scheduling(extenders=[entry]))
    assert beside == inside
    if os.environ.get("MOORAGE_TEST_CLUSTER") == "real":
        control_plane: ControlPlane = request.getfixturevalue("control_plane")
        assert await play(stock(control_plane, world, entry)) == inside


@contextlib.asynccontextmanager
async def stock(control_plane: ControlPlane, world: World, entry: Tree) -> AsyncIterator[None]:
    config = {"profiles": [{"schedulerName": world.name}], "extenders": [entry]}
    process = await asyncio.to_thread(control_plane.start_kube_scheduler, config)
    try:
        yield
    finally:
        await asyncio.to_thread(process.end)


@contextlib.asynccontextmanager
async def webhook(world: World, folder: Path, command: Sequence[str]) -> AsyncIterator[str]:
    """The process of a webhook; its address, once it is ready."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    kubeconfig = str(world.access.kubeconfig)
    everything = [sys.executable, "-m", *command, "--port", str(port), "--kubeconfig", kubeconfig]
    async with aiohttp.ClientSession() as session:

        async def is_ready() -> bool:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{url}/readyz") as answer:
                    return answer.status == 200
            return False

        with Process("webhook", everything, folder / "webhook.log"):
            await world.eventually(is_ready)
            yield url


async def come_and_go(world: World, scheduling: Scheduling, pods: Sequence[tuple[str, Tree]]) -> list[Tree]:
    """The pods come one after the other, each when the last has its node; as they then are."""
    async with scheduling:
        for name, spec in pods:
            await world.pod(name, **spec)
            await world.bound(name)
        seen = [await world.get("Pod", name) for name, _ in pods]
        for name, _ in pods:
            await world.delete("Pod", name)
            await world.gone(name)
    return seen


async def test_the_sample(world: World, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    nodes = [await world.node(f"n{index}", cpu=str(4 + 3 * index), memory=f"{8 + 5 * index}Gi") for index in range(6)]

    def has_one_best(name: str) -> bool:
        """Of several with the most luck one would be drawn where the rest of their scores happens to be equal."""
        lucks = [luck(a_pod(name).namespace(world.name).info(), node) for node in nodes]
        return lucks.count(max(lucks)) == 1

    names = itertools.islice(filter(has_one_best, (f"p{index}" for index in itertools.count())), 8)
    pods = [(name, {"cpu": "500m"}) for name in names]

    async def play(scheduling: Scheduling) -> list[str]:
        return [pod["spec"]["nodeName"] for pod in await come_and_go(world, scheduling, pods)]

    plugin = f"{EXAMPLES / 'sample_extender' / 'sample_extender.py'}:SampleExtender"
    async with webhook(world, tmp_path, ["moorage", "extender", "--plugin", plugin]) as url:
        verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind"}
        # By names: sent whole nodes, kube-scheduler forgets what pods use of them before it scores.
        entry = {"urlPrefix": url, **verbs, "weight": WEIGHT, "nodeCacheCapable": True}
        await in_three_ways(world, request, SampleExtender, entry, play)


async def test_gpu_sharing(
    world: World, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, cpu, memory, count in (("small", "5", "16", "2"), ("large", "64", "64", "2"), ("plain", "30", "", "")):
        cards: Any = {MEMORY: memory, COUNT: count} if memory else {}
        # No two nodes score alike: ties would be drawn.
        await world.node(name, cpu=cpu, memory=f"{cpu}Gi", **cards)
    needs = (6, 5, 30, 2, 8, 3, 8, 7)
    pods = []
    for index, need in enumerate(needs):
        amounts = {MEMORY: str(need), "cpu": "600m"}
        container = {"name": "main", "image": "cuda:1", "resources": {"requests": amounts, "limits": amounts}}
        pods.append((f"p{index}", {"containers": [container]}))

    async def play(scheduling: Scheduling) -> list[tuple[str, str]]:
        seen = await come_and_go(world, scheduling, pods)
        return [(pod["spec"]["nodeName"], pod["metadata"]["annotations"][INDEX]) for pod in seen]

    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES / "gpushare"))
    async with webhook(world, tmp_path, ["moorage_gpushare"]) as url:
        entry = {
            "urlPrefix": f"{url}/gpushare-scheduler",
            "filterVerb": "filter",
            "bindVerb": "bind",
            "nodeCacheCapable": True,
            "managedResources": [{"name": MEMORY}],
        }
        await in_three_ways(world, request, GpuShare, entry, play)
