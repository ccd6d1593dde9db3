"""Two pods, one device: only ever one of them gets it. $MOORAGE_CLAIM_RACES says how often that is tried."""

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

import pytest
from tests.cluster.scheduler_world import Tree, World
from tests.cluster.test_scheduler_claims import Devices, free

from moorage.kube.access import load_access
from moorage.kube.informer import Informer
from moorage.kube.transport import Client
from moorage.objects import KubeObject, Pod, ResourceClaim

RACES = int(os.environ.get("MOORAGE_CLAIM_RACES", "40"))
LANES = 8
"""Races that go on beside each other, each over a device of its own."""
PATIENCE = 60.0

pytestmark = pytest.mark.timeout(1800)

Kind = TypeVar("Kind", bound=KubeObject)


class Witness:
    """Sees each version of each claim and pod of a world, and which devices were ever held by two claims at once."""

    def __init__(self) -> None:
        self.claims: dict[str, ResourceClaim] = {}
        self.pods: dict[str, Pod] = {}
        self.doubly_held: list[tuple[str, str, str]] = []
        self.allocations = 0
        self._changed = asyncio.Event()

    def saw_claim(self, name: str, new: ResourceClaim | None) -> None:
        before = self.claims.pop(name, None)
        if new is not None:
            self.claims[name] = new
            self.allocations += len(_devices(new)) > 0 and (before is None or not _devices(before))
            for other, claim in self.claims.items():
                if other != name:
                    self.doubly_held += set(_devices(claim)) & set(_devices(new))
        self._wake()

    def saw_pod(self, name: str, new: Pod | None) -> None:
        if new is None:
            self.pods.pop(name, None)
        else:
            self.pods[name] = new
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something that is seen by this witness."""
        async with asyncio.timeout(PATIENCE):
            while not happened():
                await self._changed.wait()

    def bound(self, *names: str) -> list[str]:
        """Which of these pods have a node."""
        return [name for name in names if name in self.pods and self.pods[name].spec.node_name]

    def is_refused(self, name: str) -> bool:
        """Whether an attempt at the pod has failed."""
        pod = self.pods.get(name)
        return pod is not None and any(
            one.type == "PodScheduled" and one.status == "False" for one in pod.status.conditions
        )


class _Telling(Generic[Kind]):
    """Tells a witness of one kind."""

    def __init__(self, tell: Callable[[str, Kind | None], None]) -> None:
        self._tell = tell

    def added(self, new: Kind) -> None:
        self._tell(new.metadata.name, new)

    def updated(self, _old: Kind, new: Kind) -> None:
        self._tell(new.metadata.name, new)

    def deleted(self, old: Kind) -> None:
        self._tell(old.metadata.name, None)

    def synced(self) -> None: ...


def _devices(claim: ResourceClaim) -> list[tuple[str, str, str]]:
    allocation = claim.status.allocation
    return [(one.driver, one.pool, one.device) for one in allocation.devices.results] if allocation else []


@contextlib.asynccontextmanager
async def witnessing(world: World) -> AsyncIterator[Witness]:
    """A witness of the world, until the block ends."""
    witness = Witness()
    async with Client(load_access(world.access.kubeconfig)) as client:
        claims = Informer(client, ResourceClaim, namespace=world.name)
        pods = Informer(client, Pod, namespace=world.name)
        claims.add_handler(_Telling(witness.saw_claim))
        pods.add_handler(_Telling(witness.saw_pod))
        async with asyncio.TaskGroup() as group:
            following = [group.create_task(claims.run()), group.create_task(pods.run())]
            await claims.synced.wait()
            await pods.synced.wait()
            yield witness
            for task in following:
                task.cancel()


async def race(rounds: int, one: Callable[[int, int], Awaitable[None]]) -> None:
    """Run `one(lane, number)` for each number, as many at once as there are lanes."""
    numbers = itertools.count()

    async def run(lane: int) -> None:
        for number in numbers:
            if number >= rounds:
                return
            await one(lane, number)

    async with asyncio.TaskGroup() as group:
        for lane in range(LANES):
            group.create_task(run(lane))


async def clear(world: World, *, pods: list[str], claims: list[str]) -> None:
    await asyncio.gather(*(world.delete("Pod", name) for name in pods))
    await asyncio.gather(*(free(world, name) for name in claims))
    await asyncio.gather(*(world.delete("ResourceClaim", name) for name in claims))


def on(node: str) -> Tree:
    return {"nodeSelector": {"kubernetes.io/hostname": node}, "cpu": "1m"}


async def test_two_pods_never_get_one_device(world: World) -> None:
    """One gets it; the other waits, and gets it when the first has gone."""
    devices = Devices(world)
    nodes = [await world.node(f"n{lane}", pods="100") for lane in range(LANES)]
    for node in nodes:
        await devices.offer(node, "only")
    await devices.device_class()

    async with witnessing(world) as seen, world.scheduling():

        async def one(lane: int, number: int) -> None:
            names = [f"a{number}", f"b{number}"]
            await asyncio.gather(*(devices.claim(name) for name in names))
            await asyncio.gather(*(devices.pod(name, name, **on(nodes[lane])) for name in names))
            await seen.until(lambda: len(seen.bound(*names)) > 0 and any(map(seen.is_refused, names)))
            (winner,) = seen.bound(*names)
            (loser,) = set(names) - {winner}
            await clear(world, pods=[winner], claims=[winner])
            await seen.until(lambda: seen.bound(loser) == [loser])
            await clear(world, pods=[loser], claims=[loser])

        await race(RACES, one)
        await seen.until(lambda: not seen.claims)
    assert seen.doubly_held == []
    assert seen.allocations == 2 * RACES


async def test_two_schedulers_never_allocate_one_claim_twice(world: World) -> None:
    """Each decides on a node of its own; who comes second finds the claim taken, and its pod waits."""
    devices = Devices(world)
    here = [await world.node(f"x{lane}", pods="100") for lane in range(LANES)]
    there = [await world.node(f"y{lane}", pods="100") for lane in range(LANES)]
    for node in (*here, *there):
        await devices.offer(node, "only")
    await devices.device_class()
    other = f"{world.name}-other"
    winners: set[str] = set()

    async with (
        witnessing(world) as seen,
        world.scheduling(),
        world.scheduling(profiles=[{"schedulerName": other}]),
    ):

        async def one(lane: int, number: int) -> None:
            claim, names = f"c{number}", [f"a{number}", f"b{number}"]
            await devices.claim(claim)
            await asyncio.gather(
                devices.pod(names[0], claim, **on(here[lane])),
                devices.pod(names[1], claim, **on(there[lane]), schedulerName=other),
            )
            await seen.until(lambda: len(seen.bound(*names)) > 0 and any(map(seen.is_refused, names)))
            (winner,) = seen.bound(*names)
            winners.add(winner[0])
            await seen.until(lambda: len(_devices(seen.claims[claim])) > 0)
            ((_, pool, _),) = _devices(seen.claims[claim])
            assert pool == seen.pods[winner].spec.node_name
            assert [user.name for user in seen.claims[claim].status.reserved_for] == [winner]
            await clear(world, pods=names, claims=[claim])

        await race(RACES, one)
        await seen.until(lambda: not seen.claims)
    assert seen.doubly_held == []
    assert seen.allocations == RACES
    assert winners == {"a", "b"}
