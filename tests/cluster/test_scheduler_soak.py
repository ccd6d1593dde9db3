"""Churn of all kinds for a while (MOORAGE_SOAK_SECONDS, 15 by default): nothing is lost, doubled or left behind."""

import asyncio
import os
from collections import Counter
from random import Random
from typing import Any

import pytest
from tests.cluster.mixed_workload import MixedWorkload
from tests.cluster.scheduler_world import World

from moorage.kube.errors import StatusError
from moorage.live.scheduler import LiveScheduler

SECONDS = float(os.environ.get("MOORAGE_SOAK_SECONDS", "15"))
MOST_PODS, NODES = 150, 10


class Churn:
    """Random things that happen to a cluster, the same for the same seed."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._draw = Random(seed)
        self._workload = MixedWorkload(seed, world.name)
        self._pods: list[str] = []
        self._made = 0
        self.done: Counter[str] = Counter()

    async def begin(self) -> None:
        for number in range(NODES):
            await self._world.node(f"n{number:02d}", **self._workload.node(number))

    async def step(self) -> None:
        """One more thing happens."""
        happens = self._draw.choices(
            (self.make_pods, self.delete_pods, self.relabel_node, self.replace_node, self.gate_pod),
            weights=(10, 8, 2, 1, 1),
        )[0]
        self.done[happens.__name__] += 1
        try:
            await happens()
        except StatusError as refusal:
            # A victim of preemption that we wanted to delete ourselves, say.
            self.done[f"refused {refusal.code}"] += 1

    async def make_pods(self) -> None:
        for _ in range(min(self._draw.randrange(1, 12), MOST_PODS - len(self._pods))):
            drawn = self._workload.pod(self._made)
            self._made += 1
            if self._draw.random() < 0.1:
                drawn["spec"]["priorityClassName"] = "system-cluster-critical"
            self._pods.append(drawn["name"])
            await self._world.pod(drawn["name"], metadata=drawn["metadata"], **drawn["spec"])

    async def delete_pods(self) -> None:
        for _ in range(min(self._draw.randrange(1, 12), len(self._pods))):
            await self._world.delete("Pod", self._pods.pop(self._draw.randrange(len(self._pods))))

    async def relabel_node(self) -> None:
        await self._patch_node({"metadata": {"labels": {"disk": self._draw.choice(("ssd", "hdd"))}}})

    async def replace_node(self) -> None:
        await self._patch_node({"spec": {"unschedulable": self._draw.random() < 0.3}})

    async def gate_pod(self) -> None:
        name = f"gated-{self._made}"
        self._made += 1
        self._pods.append(name)
        await self._world.pod(name, schedulingGates=[{"name": "example.com/never"}])

    async def end(self) -> None:
        """Everybody leaves."""
        for pod in await self._world.pods():
            await self._world.delete("Pod", pod["metadata"]["name"])

    async def _patch_node(self, patch: dict[str, Any]) -> None:
        name = f"{self._world.name}-n{self._draw.randrange(NODES):02d}"
        await self._world.patch("Node", name, patch)


def leftovers(scheduler: LiveScheduler, namespace: str) -> dict[str, int]:
    """What the scheduler still holds that belongs to pods of the world."""
    nodes = scheduler.cluster.snapshot.nodes.infos
    return {
        "counted": sum(pod.namespace == namespace for node in nodes for pod in node.pods.values()),
        "assumed": scheduler.cluster.sizes["assumed_pods"],
        "queued": len(scheduler.queue.pods()),
        "in flight": len(scheduler.queue.in_flight()),
        "bindings": len(scheduler.bindings),
        "held": len(scheduler.held),
        "nominations": len(scheduler.cluster.snapshot.nominations),
        "statuses": len(scheduler.core.statuses._writing),
        "evictions": len(scheduler.core.evictions._under_way),
        "pending": len(scheduler.cluster._pending),
    }


@pytest.mark.timeout(SECONDS + 240)
async def test_churn_leaves_nothing_behind(world: World) -> None:
    churn = Churn(world, seed=7)
    await churn.begin()
    loop = asyncio.get_running_loop()
    async with world.scheduling() as scheduler:
        end = loop.time() + SECONDS
        checked = loop.time()
        while loop.time() < end:
            await churn.step()
            await asyncio.sleep(0.02)
            if loop.time() - checked > 10:
                await world.settled(scheduler)
                checked = loop.time()
        await world.settled(scheduler)
        await churn.end()

        async def empty() -> bool:
            return not any(leftovers(scheduler, world.name).values())

        try:
            await world.eventually(empty)
        except TimeoutError:
            pytest.fail(f"left behind: {leftovers(scheduler, world.name)}")
    events = await world.listed("Event")
    scheduled = Counter(one["regarding"]["uid"] for one in events if one["reason"] == "Scheduled")
    assert scheduled
    assert set(scheduled.values()) == {1}
