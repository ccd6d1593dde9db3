"""A scheduler that is killed (kill -9) while it writes what it decided: no device stays taken for nobody."""

import asyncio
import contextlib
import json
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from tests.cluster.faulty_server import Fault, FaultyServer, faulty_server
from tests.cluster.scheduler_process import SchedulerProcess, scheduler_process
from tests.cluster.scheduler_world import WAIT_SECONDS, World
from tests.cluster.test_claim_controllers import controlling, gone, is_free
from tests.cluster.test_scheduler_claims import Devices, held
from tools.control_plane.running import Access

Writes = tuple[str, ...]
MADE: Writes = (r"POST .*/resourceclaims",)
ALLOCATED: Writes = (r"PATCH .*/resourceclaims/[^/]+/status",)
#: The pod's status, once the claim has been allocated: before that it only names the node it is meant for.
TOLD: Writes = (*ALLOCATED, r"PATCH .*/pods/p/status")
BOUND: Writes = (r"POST .*/pods/p/binding",)

#: A write, and whether it still arrives: the last thing the scheduler does.
OF_A_CLAIM = [
    (ALLOCATED, Fault.DROPPED),
    (ALLOCATED, Fault.ANSWER_LOST),
    (BOUND, Fault.DROPPED),
    (BOUND, Fault.ANSWER_LOST),
]
OF_A_RESOURCE = [(MADE, Fault.ANSWER_LOST), (TOLD, Fault.DROPPED), (TOLD, Fault.ANSWER_LOST), *OF_A_CLAIM]


class Killer:
    """Kills a scheduler when the last of these writes has come as far as the proxy before the API server."""

    def __init__(self, proxy: FaultyServer, writes: Writes, fault: Fault) -> None:
        self._writes, self._fault = list(writes), fault
        self.victim: SchedulerProcess | None = None
        proxy.rules.append(self._rule)

    def _rule(self, request: web.Request) -> Fault | None:
        if self.victim is None or not re.fullmatch(self._writes[0], f"{request.method} {request.path}"):
            return None
        if len(self._writes) > 1:
            self._writes.pop(0)
            return None
        self.victim.send(signal.SIGKILL)
        self.victim = None
        return self._fault


@contextlib.asynccontextmanager
async def doomed_scheduler(
    world: World, cluster: Access, folder: Path, writes: Writes, fault: Fault
) -> AsyncIterator[SchedulerProcess]:
    """A scheduler process that is killed with the last of these writes."""
    async with faulty_server(cluster.kubeconfig) as proxy:
        kubeconfig = folder / "proxied"
        kubeconfig.write_text(json.dumps(_kubeconfig(proxy.url)))
        killer = Killer(proxy, writes, fault)
        config = {"clientConnection": {"kubeconfig": str(kubeconfig)}}
        async with scheduler_process(world, folder, config=config) as victim:
            await victim.ready()
            killer.victim = victim
            yield victim


def _kubeconfig(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": url}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }


async def is_killed(victim: SchedulerProcess) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        assert await victim.child.wait() == -signal.SIGKILL


async def one_device(world: World, **class_fields: str) -> Devices:
    devices = Devices(world)
    await devices.offer(await world.node("x"), "d0")
    await devices.device_class(**class_fields)
    return devices


async def next_pod_gets_it(world: World, devices: Devices) -> None:
    """The device is there for another claim."""
    await devices.claim("next")
    await devices.pod("q", "next")
    await world.bound("q")
    assert held(await devices.status("next")) == ["d0"]
    await world.delete("Pod", "q")
    await world.eventually(lambda: is_free(world, "next"))


@pytest.mark.parametrize(("writes", "fault"), OF_A_CLAIM)
async def test_the_next_scheduler_binds_the_pod_with_its_devices(
    world: World, cluster: Access, tmp_path: Path, writes: Writes, fault: Fault
) -> None:
    devices = await one_device(world)
    await devices.claim("c")
    async with controlling(world):
        async with doomed_scheduler(world, cluster, tmp_path, writes, fault) as victim:
            await devices.pod("p", "c")
            await is_killed(victim)
        is_allocated = (writes, fault) != (ALLOCATED, Fault.DROPPED)
        assert held(await devices.status("c")) == (["d0"] if is_allocated else [])
        assert bool((await world.get("Pod", "p"))["spec"].get("nodeName")) == ((writes, fault) == OF_A_CLAIM[-1])
        async with scheduler_process(world, tmp_path):
            await world.bound("p")
            status = await devices.status("c")
            assert held(status) == ["d0"]
            assert [one["name"] for one in status["reservedFor"]] == ["p"]
            await world.delete("Pod", "p")
            await world.eventually(lambda: is_free(world, "c"))
            await next_pod_gets_it(world, devices)


@pytest.mark.parametrize(("writes", "fault"), OF_A_CLAIM)
async def test_a_pod_deleted_meanwhile_frees_its_devices(
    world: World, cluster: Access, tmp_path: Path, writes: Writes, fault: Fault
) -> None:
    """Nobody schedules when it goes: the claim controller alone lets go of what was allocated."""
    devices = await one_device(world)
    await devices.claim("c")
    async with controlling(world):
        async with doomed_scheduler(world, cluster, tmp_path, writes, fault) as victim:
            await devices.pod("p", "c")
            await is_killed(victim)
        await world.delete("Pod", "p")
        if (writes, fault) != (ALLOCATED, Fault.DROPPED):
            await world.eventually(lambda: is_free(world, "c"))
        await world.delete("ResourceClaim", "c")
        await gone(world, "c")
        async with scheduler_process(world, tmp_path):
            await next_pod_gets_it(world, devices)


@pytest.mark.parametrize(("writes", "fault"), OF_A_RESOURCE)
async def test_a_claim_of_the_schedulers_own_is_taken_up_or_made_anew(
    world: World, cluster: Access, tmp_path: Path, writes: Writes, fault: Fault
) -> None:
    """A pod that asks for a resource: wherever its scheduler died, it ends with one claim, and that goes with it."""
    resource = f"{world.name}.example.com/gpu"
    devices = await one_device(world, extendedResourceName=resource)
    amounts = {"cpu": "1", resource: "1"}
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": amounts, "limits": amounts}}
    async with controlling(world):
        async with doomed_scheduler(world, cluster, tmp_path, writes, fault) as victim:
            await world.pod("p", containers=[container])
            await is_killed(victim)
        async with scheduler_process(world, tmp_path):
            await world.bound("p")
            name = (await world.get("Pod", "p"))["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
            (claim,) = await world.listed("ResourceClaim")
            assert claim["metadata"]["name"] == name
            assert held(claim["status"]) == ["d0"]
            await world.delete("Pod", "p")
            await gone(world, name)
            await next_pod_gets_it(world, devices)
