"""`moorage extender` beside an unmodified kube-scheduler, which filters, scores, preempts and binds through it."""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from tests.cluster.scheduler_world import World
from tools.control_plane.processes import Process, free_ports
from tools.control_plane.running import ControlPlane

from moorage.kube.paths import resource_of

EXAMPLES = Path(__file__).parents[2] / "examples"
PLUGIN = f"{Path(__file__).with_name('seats.py')}:Seats"

Tree = dict[str, Any]


class Extender:
    """The running process, and what it says of itself."""

    def __init__(self, port: int, session: aiohttp.ClientSession) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._session = session

    async def is_ready(self) -> bool:
        with contextlib.suppress(aiohttp.ClientError):
            async with self._session.get(f"{self.url}/readyz") as answer:
                return answer.status == 200
        return False

    async def served(self) -> dict[str, int]:
        """How many requests of each verb went well."""
        async with self._session.get(f"{self.url}/metrics") as answer:
            text = await answer.text()
        counted = re.findall(r'duration_seconds_count\{outcome="ok",verb="(\w+)"\} (\d+)', text)
        return {verb: int(count) for verb, count in counted}

    async def post(self, verb: str, body: Tree) -> Any:
        async with self._session.post(f"{self.url}/{verb}", json=body) as answer:
            return await answer.json()


@contextlib.asynccontextmanager
async def extender_process(world: World, folder: Path) -> AsyncIterator[Extender]:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moorage", "extender", "--plugin", PLUGIN, "--port", str(port)]
    command += ["--kubeconfig", str(world.access.kubeconfig)]
    async with aiohttp.ClientSession() as session:
        extender = Extender(port, session)
        with Process("moorage extender", command, folder / "extender.log"):
            await world.eventually(extender.is_ready)
            yield extender


async def seats(world: World, name: str, seats: int | None, comfort: int = 0, **amounts: Any) -> str:
    full = await world.node(name, **amounts)
    annotations = {"seats": str(seats) if seats is not None else None, "comfort": str(comfort)}
    path = resource_of("Node").path(name=full)
    await world.client.patch(path, json.dumps({"metadata": {"annotations": annotations}}).encode())
    return full


def entry(extender: Extender, **more: Any) -> Tree:
    """What --print-config prints, at this address."""
    verbs = {f"{verb}Verb": verb for verb in ("filter", "prioritize", "preempt", "bind")}
    return {"urlPrefix": extender.url, **verbs, "weight": 1, "nodeCacheCapable": True, **more}


@pytest.mark.parametrize("by_names", [True, False], ids=["by names", "by whole nodes"])
async def test_kube_scheduler_goes_through_all_four(
    control_plane: ControlPlane, world: World, tmp_path: Path, by_names: bool
) -> None:
    # First, as kube-apiserver takes a moment to know a class.
    urgent = {"metadata": {"name": f"{world.name}-urgent"}, "value": 100}
    await world.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **urgent})
    await seats(world, "none", None, 100)
    plain, fine = await seats(world, "plain", 2, 10), await seats(world, "fine", 1, 100, cpu="2")
    async with extender_process(world, tmp_path) as extender:
        config = {
            "profiles": [{"schedulerName": world.name}],
            "extenders": [entry(extender, weight=1000, nodeCacheCapable=by_names)],
        }
        with control_plane.start_kube_scheduler(config):
            bound = []
            for index in range(3):
                await world.pod(f"p{index}", cpu="2")
                bound.append(await world.bound(f"p{index}"))
            assert bound == [fine, plain, plain]
            await world.pod("late", cpu="0")
            message = (await world.refused("late"))["message"]
            assert "node(s) had no seats" in message
            assert "node(s) had no free seat" in message
            await world.delete("Pod", "late")
            await world.pod("urgent", cpu="2", priorityClassName=f"{world.name}-urgent")
            assert await world.bound("urgent") in (fine, plain)
            assert len(await world.pods()) == 3, "somebody made room"
        served = await extender.served()
    assert {verb for verb, count in served.items() if count} == {"filter", "prioritize", "preempt", "bind"}
    assert served["bind"] == 4


async def test_plugins_live_as_long_as_the_process(world: World, tmp_path: Path) -> None:
    node = await seats(world, "only", 1)
    async with extender_process(world, tmp_path):
        pass
    told = (tmp_path / "extender.log").read_text()
    places = [told.index(one) for one in ("seats begins and knows", "seats works", "seats ends")]
    assert places == sorted(places)
    assert node in told, "start comes when the cluster has been read"


async def test_two_at_a_time_never_share_a_seat(world: World, tmp_path: Path) -> None:
    """Without any scheduler: whoever asks, the second is refused."""
    node = await seats(world, "only", 1)
    async with extender_process(world, tmp_path) as extender:
        pods = [await world.pod(f"p{index}") for index in range(4)]
        errors = []
        for pod in pods:
            assert (await extender.post("filter", {"Pod": pod, "NodeNames": [node]}))["NodeNames"] == [node]
        for pod in pods:
            meta = pod["metadata"]
            body = {"PodName": meta["name"], "PodNamespace": world.name, "PodUID": meta["uid"], "Node": node}
            errors.append((await extender.post("bind", body))["Error"])
            assert (await extender.post("bind", body))["Error"] == errors[-1], "asked again, the same answer"
        assert errors[0] == ""
        assert all("node(s) had no free seat" in error for error in errors[1:])
        assert [one["spec"].get("nodeName") for one in await world.pods()] == [node, None, None, None]


async def test_the_printed_entry_is_what_kube_scheduler_is_configured_with(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "moorage", "extender", "--plugin", PLUGIN, "--print-config"]
    with Process("moorage extender", command, tmp_path / "printed") as process:
        process.wait_until(lambda: "ignorable" in (tmp_path / "printed").read_text())
    (printed,) = yaml.safe_load((tmp_path / "printed").read_text())["extenders"]
    asked = entry(Extender(8888, None))  # type: ignore[arg-type]
    assert asked.items() <= printed.items()


V1BETA2 = """
apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: old, plugins: {score: {enabled: [{name: NodePreferAvoidPods, weight: 10000}]}}}]
extenders:
- {urlPrefix: "http://127.0.0.1:1/gpushare-scheduler", filterVerb: filter, bindVerb: bind, nodeCacheCapable: true,
   managedResources: [{name: aliyun.com/gpu-mem, ignoredByScheduler: false}]}
"""


@pytest.mark.parametrize("old", ["the guide of gpushare", "the pair of sample-scheduler-extender", "v1beta2"])
def test_what_was_converted_is_what_kube_scheduler_takes(control_plane: ControlPlane, tmp_path: Path, old: str) -> None:
    file = {
        "the guide of gpushare": EXAMPLES / "gpushare" / "scheduler-policy-config.json",
        "the pair of sample-scheduler-extender": EXAMPLES / "sample_extender" / "scheduler-extender-config.yaml",
        "v1beta2": tmp_path / "old.yaml",
    }[old]
    if old == "v1beta2":
        file.write_text(V1BETA2)
    command = [sys.executable, "-m", "moorage", "config", "convert", str(file)]
    converted = yaml.safe_load(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert converted["extenders"]
    control_plane.start_kube_scheduler(converted).end()
