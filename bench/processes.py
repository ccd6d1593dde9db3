"""Whole scheduler processes on an API server: pods bound a second, CPU and memory a pod, time from create to bound.

Both schedulers are measured the same way in one run, each on a control plane of its own. CPU is read from the
scheduler's process; what this program costs is on both bills alike.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from tools.control_plane.running import run as run_control_plane

from moorage.kube.access import load_access
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client

PODS = resource_of("Pod")
NODES = resource_of("Node")
NAMESPACE = "default"

#: Starts a scheduler on the API server of a kubeconfig; gives its process id.
StartScheduler = Callable[[], AbstractContextManager[int]]


@dataclass(frozen=True)
class Figures:
    """What one scheduler did."""

    pods_per_second: float
    cpu_us_a_pod: float
    rss_mib: float
    p99_ms: float


class _Meta(msgspec.Struct):
    name: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _Event(msgspec.Struct):
    object: _Pod


class BoundPods:
    """When each pod was seen bound, from a watch."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._decode = msgspec.json.Decoder(_Event).decode
        self.times: dict[str, float] = {}
        self._news = asyncio.Event()

    async def follow(self) -> None:
        """Watch until cancelled."""
        listed = json.loads(await self._client.get(PODS.path(NAMESPACE), {"limit": "1"}))
        query = {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
        rest = b""
        async with self._client.stream(PODS.path(NAMESPACE), query, inactivity=300) as chunks:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                now = time.monotonic()
                for line in lines:
                    pod = self._decode(line).object
                    if pod.spec.node_name:
                        self.times.setdefault(pod.metadata.name, now)
                self._news.set()

    async def wait_for(self, count: int, patience: float = 300.0) -> None:
        """Until so many pods have been seen bound."""
        async with asyncio.timeout(patience):
            while len(self.times) < count:
                self._news.clear()
                await self._news.wait()


async def measure(kubeconfig: Path, start: StartScheduler, *, nodes: int, pods: int, rate: float) -> Figures:
    """Drain `pods` that wait for a scheduler that starts; then create pods at `rate` a second for ten seconds."""
    async with Client(load_access(kubeconfig)) as client:
        await create_all(client, NODES.path(), [node_body(i) for i in range(nodes)])
        await create_all(client, PODS.path(NAMESPACE), [pod_body(f"drain-{i}") for i in range(pods)])
        async with following(client) as bound:
            with start() as pid:
                await bound.wait_for(1)
                began, cpu = time.monotonic(), cpu_seconds(pid)
                already = len(bound.times)
                await bound.wait_for(pods)
                seconds, spent = time.monotonic() - began, cpu_seconds(pid) - cpu
                p99 = await _steady(client, bound, rate)
                rss = _rss_mib(pid)
    drained = pods - already
    return Figures(drained / seconds, spent / drained * 1e6, rss, p99)


async def _steady(client: Client, bound: BoundPods, rate: float) -> float:
    """The 99th percentile, in milliseconds, from creating a pod to seeing it bound at an open-loop rate."""
    created: dict[str, float] = {}
    started = time.monotonic()

    async def create(index: int) -> None:
        name = f"steady-{index}"
        await asyncio.sleep(max(0.0, started + index / rate - time.monotonic()))
        created[name] = time.monotonic()
        await client.post(PODS.path(NAMESPACE), pod_body(name))

    before = len(bound.times)
    count = int(rate * 10)
    async with asyncio.TaskGroup() as group:
        for index in range(count):
            group.create_task(create(index))
    await bound.wait_for(before + count)
    waits = sorted(bound.times[name] - at for name, at in created.items())
    return waits[int(len(waits) * 0.99)] * 1000


@asynccontextmanager
async def following(client: Client) -> AsyncIterator[BoundPods]:
    """See pods bound until the block ends."""
    bound = BoundPods(client)
    task = asyncio.create_task(bound.follow())
    try:
        await asyncio.sleep(0.5)
        yield bound
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def create_all(client: Client, path: str, bodies: list[bytes]) -> None:
    """Create objects, some at a time."""
    waiting = iter(bodies)

    async def create_some() -> None:
        for body in waiting:
            await client.post(path, body)

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(create_some())


def kube_scheduler(pods: int = 2000, nodes: int = 5000, rate: float = 100.0) -> Figures:
    """The stock kube-scheduler on a real API server, with its client limits out of the way."""
    with run_control_plane() as plane:

        @contextmanager
        def start() -> Iterator[int]:
            limits = {"clientConnection": {"qps": 5000, "burst": 5000}}
            with plane.start_kube_scheduler(limits) as process:
                yield process.pid

        return asyncio.run(measure(plane.access.kubeconfig, start, nodes=nodes, pods=pods, rate=rate))


def moorage_scheduler(pods: int = 2000, nodes: int = 5000, rate: float = 100.0) -> Figures:
    """Ours on a real API server, with the same limits."""
    with run_control_plane() as plane:
        return asyncio.run(
            measure(
                plane.access.kubeconfig, moorage_process(plane.access.kubeconfig), nodes=nodes, pods=pods, rate=rate
            )
        )


def embedded(pods: int = 2000, nodes: int = 5000, rate: float = 100.0) -> Figures:
    """Our scheduler on the embedded API server, each a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder, "kubeconfig")
        command = [sys.executable, "-m", "moorage", "apiserver", "--port", "0", "--kubeconfig-out", str(kubeconfig)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            wait_for_file(kubeconfig)
            return asyncio.run(measure(kubeconfig, moorage_process(kubeconfig), nodes=nodes, pods=pods, rate=rate))
        finally:
            server.terminate()
            server.wait(30)


def wait_for_file(path: Path, patience: float = 60.0) -> None:
    """Until somebody has written it."""
    deadline = time.monotonic() + patience
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} was not written in {patience:.0f} s")
        time.sleep(0.05)


def moorage_process(kubeconfig: Path, **more: Any) -> StartScheduler:
    """Ours as a process of its own; `more` goes into its configuration."""

    @contextmanager
    def start() -> Iterator[int]:
        config: dict[str, Any] = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
            **more,
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "config.json")
            file.write_text(json.dumps(config))
            command = [sys.executable, "-m", "moorage", "scheduler", "--config", str(file), "--secure-port", "0"]
            process = subprocess.Popen(command)
            try:
                yield process.pid
            finally:
                process.terminate()
                process.wait(30)

    return start


def cpu_seconds(pid: int) -> float:
    """CPU a process has spent."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def node_body(index: int) -> bytes:
    """A node."""
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": f"node-{index}", "topology.kubernetes.io/zone": f"zone-{index % 3}"}
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{index}", "labels": labels},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )


def pod_body(name: str) -> bytes:
    """A pod that waits for a node."""
    requests = {"cpu": "100m", "memory": "500Mi"}
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "bench"}},
            "spec": {"containers": [{"name": "main", "image": "app:1", "resources": {"requests": requests}}]},
        }
    )
