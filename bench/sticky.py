"""A thousand StickyJobs on 200 nodes, and a node that is drained: what the controller costs, and who is where.

    python -m bench.sticky [--jobs 1000] [--nodes 200]

API server, scheduler and StickyJob controller are processes of their own; half of the jobs are Required. Ends with
status 1 where a pod is not where it should be.
"""

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.control_plane.processes import Process

from moorage.controllers.definitions import ensure_served
from moorage.controllers.objects.stickyjobs import StickyJob
from moorage.controllers.running import run_controllers
from moorage.kube.access import load_access
from moorage.kube.informer import Informer
from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH, Client
from moorage.nodes.running import run_nodes
from moorage.nodes.shapes import parse_shape
from moorage.objects import Pod

JOBS, PODS, NODES = resource_of(StickyJob), resource_of("Pod"), resource_of("Node")
PATIENCE = 900.0

Json = dict[str, Any]


@dataclass(frozen=True)
class Spent:
    """What the controller has used since it began."""

    cpu: float
    calls: int

    def since(self, before: "Spent", jobs: int) -> str:
        """The difference, for each of so many jobs."""
        cpu, calls = self.cpu - before.cpu, self.calls - before.calls
        return f"{cpu / jobs * 1e3:.2f} ms of controller CPU and {calls / jobs:.1f} API calls a job"


class CountingClient(Client):
    """Counts its requests."""

    calls: Counter[str]

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        self.calls[method] += 1
        return await super().request(method, path, **options)


async def control(kubeconfig: str) -> None:
    """The controller's process: for each line it is told it says what it has spent."""
    async with CountingClient(load_access(Path(kubeconfig))) as client:
        client.calls = Counter()
        running = asyncio.create_task(run_controllers(client, only=["stickyjob"]))
        while await asyncio.to_thread(sys.stdin.readline):
            usage = resource.getrusage(resource.RUSAGE_SELF)
            answer = {"cpu": usage.ru_utime + usage.ru_stime, "calls": client.calls.total()}
            print(json.dumps(answer), flush=True)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class Controller:
    """That process, as this one sees it."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child

    async def spent(self) -> Spent:
        """What it has used so far."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(b"\n")
        return Spent(**json.loads(await self._child.stdout.readline()))


@asynccontextmanager
async def controller(kubeconfig: Path) -> AsyncIterator[Controller]:
    command = (sys.executable, "-m", "bench.sticky", "--control", str(kubeconfig))
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        yield Controller(child)
    finally:
        child.kill()
        await child.wait()


class Town:
    """The jobs and their pods, as informers tell them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.jobs, self.pods = Informer(client, StickyJob), Informer(client, Pod)

    async def until(self, what: str, holds: Callable[[], bool], started: float = 0.0) -> float:
        """Wait until something holds; how many seconds that took."""
        started = started or time.monotonic()
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110 - it happens behind a socket
                await asyncio.sleep(0.05)
        took = time.monotonic() - started
        print(f"{what}: {took:.1f} s")
        return took

    def homes(self) -> dict[str, str]:
        """Where each job runs, as far as pod and status agree."""
        homes = {}
        for job in self.jobs:
            pod = self.pods.get(job.metadata.name, "default")
            runs = pod is not None and pod.status.phase == "Running" and not pod.metadata.deletion_timestamp
            if pod is not None and runs and job.status.last_node == pod.spec.node_name:
                homes[job.metadata.name] = pod.spec.node_name
        return homes

    async def create(self, name: str, stickiness: str) -> None:
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m"}}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
        body = {"apiVersion": "example.com/v1", "kind": "StickyJob", "metadata": {"name": name}}
        manifest = {**body, "spec": {"stickiness": stickiness, "template": {"spec": spec}}}
        await self._client.post(JOBS.path("default"), json.dumps(manifest).encode())

    async def cordon(self, node: str, *, is_closed: bool) -> None:
        patch = json.dumps({"spec": {"unschedulable": is_closed}}).encode()
        await self._client.patch(NODES.path(name=node), patch, content_type=MERGE_PATCH)

    async def evict(self, name: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
        await self._client.post(PODS.path("default", name, "eviction"), json.dumps(body).encode())


async def measure(jobs: int, nodes: int) -> int:
    """Run it all. The exit status."""
    with tempfile.TemporaryDirectory(prefix="moorage-bench-") as folder:
        kubeconfig, moorage = Path(folder, "kubeconfig"), [sys.executable, "-m", "moorage"]
        server = [*moorage, "apiserver", "--port=0", f"--kubeconfig-out={kubeconfig}"]
        with Process("apiserver", server, Path(folder, "apiserver.log")) as process:
            process.wait_until(kubeconfig.exists)
            async with Client(load_access(kubeconfig)) as client:
                await ensure_served(client)
                scheduler = [*moorage, "scheduler", f"--config={_configuration(Path(folder), kubeconfig)}"]
                scheduler += ["--leader-elect=false", "--secure-port=0"]
                with Process("scheduler", scheduler, Path(folder, "scheduler.log")):
                    return await _story(client, kubeconfig, jobs, nodes)


def _configuration(folder: Path, kubeconfig: Path) -> Path:
    path = folder / "scheduler.json"
    settings = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "StickyJob"}]}}}],
    }
    path.write_text(json.dumps(settings))
    return path


async def _story(client: Client, kubeconfig: Path, jobs: int, nodes: int) -> int:
    town, ready = Town(client), asyncio.Event()
    async with controller(kubeconfig) as costs, asyncio.TaskGroup() as group:
        shape = parse_shape(f"name=node,count={nodes},cpu=16,memory=64Gi")
        tasks = [
            group.create_task(run_nodes(client, [shape], on_ready=ready.set)),
            group.create_task(town.jobs.run()),
            group.create_task(town.pods.run()),
        ]
        await ready.wait()
        idle, started = await costs.spent(), time.monotonic()
        for number in range(jobs):
            await town.create(f"job-{number}", "Required" if number % 2 else "Preferred")
        await town.until(f"{jobs} jobs run", lambda: len(town.homes()) == jobs, started)
        running = await costs.spent()
        print(running.since(idle, jobs))
        status = await _drain(town, costs, jobs)
        for task in tasks:
            task.cancel()
    return status


async def _drain(town: Town, costs: Controller, jobs: int) -> int:
    before = town.homes()
    drained = Counter(before.values()).most_common(1)[0][0]
    there = [name for name, node in before.items() if node == drained]
    hard = [name for name in there if int(name.partition("-")[2]) % 2]
    settled = await costs.spent()
    await town.cordon(drained, is_closed=True)
    await asyncio.gather(*(town.evict(name) for name in there))
    soft = len(there) - len(hard)
    await town.until(
        f"of {len(there)} pods on the drained node, {soft} Preferred ones run elsewhere",
        lambda: len(town.homes()) == jobs - len(hard) and drained not in town.homes().values(),
    )
    await town.cordon(drained, is_closed=False)
    await town.until(f"{len(hard)} Required ones are back on it", lambda: len(town.homes()) == jobs)
    print("the drain: " + (await costs.spent()).since(settled, len(there)))
    after = town.homes()
    lost = [name for name in before if name not in there and after[name] != before[name]]
    lost += [name for name in hard if after[name] != drained]
    lost += [name for name in there if name not in hard and after[name] == drained]
    print(f"{len(lost)} of {jobs} pods are not where they should be {lost[:5]}")
    return 1 if lost else 0


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=1000)
    options.add_argument("--nodes", type=int, default=200)
    options.add_argument("--control", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.control:
        asyncio.run(control(chosen.control))
    else:
        sys.exit(asyncio.run(measure(chosen.jobs, chosen.nodes)))


if __name__ == "__main__":
    main()
