"""Storms: events by the hundred while thousands of pods wait that fit nowhere, and how long a pod that fits waits.

    python -m bench.storms [embedded|real] [--nodes N] [--pods N] [--seconds S]

A pod that fits is created several times a second; its wait is told from its creation to its binding, as a watch shows
both. Beside that /livez is asked ten times a second, and the lease is watched.
"""

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
from rich.console import Console
from rich.table import Table
from tools.control_plane.processes import free_ports
from tools.control_plane.running import run as run_control_plane

from bench.processes import NAMESPACE, NODES, PODS
from moorage.kube.access import load_access
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client

LEASES: Final = resource_of("Lease")
#: Pods that fit, created a second.
PROBES: Final = 5.0
#: Bound pods on each node, which the last storm deletes.
RUNNING: Final = 1
CLASSES: Final = 20
_MERGE: Final = "application/merge-patch+json"


@dataclass
class Storm:
    """What was seen while one storm went on."""

    name: str
    waits: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    renewals: list[float] = field(default_factory=list)
    events: int = 0

    def row(self) -> list[str]:
        """For the table; seconds as milliseconds."""
        late = [later - earlier for earlier, later in itertools.pairwise(self.renewals)]
        return [
            self.name,
            f"{self.events:,}",
            *(f"{share(self.waits, part) * 1000:,.0f} ms" for part in (0.5, 0.99, 1.0)),
            f"{max(self.health, default=0.0) * 1000:,.0f} ms",
            f"{max(late, default=0.0):.1f} s",
        ]


def share(values: list[float], part: float) -> float:
    """The value that this part of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else float("nan")


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""


class _Spec(msgspec.Struct, rename="camel", frozen=True):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: list[Any] = []


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Event(msgspec.Struct, frozen=True):
    object: _Pod


class Watched:
    """When each pod was first seen, seen with a node, and which were refused; from a watch."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._decode = msgspec.json.Decoder(_Event).decode
        self.seen: dict[str, float] = {}
        self.bound: dict[str, float] = {}
        self.refused: set[str] = set()
        self._news = asyncio.Event()

    async def follow(self) -> None:
        """Watch until cancelled."""
        listed = json.loads(await self._client.get(PODS.path(NAMESPACE), {"limit": "1"}))
        query = {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
        rest = b""
        async with self._client.stream(PODS.path(NAMESPACE), query, inactivity=600) as chunks:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                now = time.monotonic()
                for line in lines:
                    self._take(self._decode(line).object, now)
                self._news.set()

    def _take(self, one: _Pod, now: float) -> None:
        self.seen.setdefault(one.metadata.name, now)
        if one.spec.node_name:
            self.bound.setdefault(one.metadata.name, now)
        elif one.status.conditions:
            self.refused.add(one.metadata.name)

    async def until(self, done: Callable[[], bool], patience: float) -> None:
        """Until something was seen."""
        async with asyncio.timeout(patience):
            while not done():
                self._news.clear()
                await self._news.wait()


class Bench:
    """A cluster full of pods that wait, and a scheduler beside it."""

    def __init__(self, client: Client, watched: Watched, port: int, nodes: int, seconds: float) -> None:
        self._client = client
        self._watched = watched
        self._port = port
        self._nodes = nodes
        self._seconds = seconds
        self._probes = itertools.count()
        self._victims = itertools.count()

    async def run(self) -> AsyncIterator[Storm]:
        """One storm after the other."""
        yield await self._during("calm", self._calm)
        yield await self._during("200 node labels a second", self._labels)
        yield await self._during("all nodes labelled at once", self._all_labels)
        yield await self._during("50 pods deleted a second", self._deletions)

    async def _during(self, name: str, blow: Callable[[Storm], Awaitable[None]]) -> Storm:
        storm = Storm(name)
        watching = [asyncio.create_task(work(storm)) for work in (self._ask_health, self._watch_lease)]
        probing = asyncio.create_task(self._probe(storm))
        try:
            async with asyncio.timeout(self._seconds * 10):
                await blow(storm)
                await probing
        finally:
            for task in (*watching, probing):
                task.cancel()
            await asyncio.gather(*watching, probing, return_exceptions=True)
        return storm

    # The storms.

    async def _calm(self, _storm: Storm) -> None:
        await asyncio.sleep(self._seconds)

    async def _labels(self, storm: Storm) -> None:
        async for index in _ticks(200, self._seconds):
            await self._label(index % self._nodes, index)
            storm.events += 1

    async def _all_labels(self, storm: Storm) -> None:
        waiting = iter(range(self._nodes))

        async def label_some() -> None:
            for index in waiting:
                await self._label(index, -1)
                storm.events += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(32):
                group.create_task(label_some())

    async def _deletions(self, storm: Storm) -> None:
        async for _ in _ticks(50, min(self._seconds, self._nodes * RUNNING / 50)):
            query = {"gracePeriodSeconds": "0"}
            await self._client.delete(PODS.path(NAMESPACE, f"running-{next(self._victims)}"), query=query)
            storm.events += 1

    async def _label(self, node: int, value: int) -> None:
        patch = msgspec.json.encode({"metadata": {"labels": {"storm": f"v{value}"}}})
        await self._client.patch(NODES.path(name=f"node-{node}"), patch, content_type=_MERGE)

    # What is watched.

    async def _probe(self, storm: Storm) -> None:
        names = []
        async for _ in _ticks(PROBES, self._seconds):
            names.append(f"probe-{next(self._probes)}")
            await self._client.post(PODS.path(NAMESPACE), pod(names[-1]))
        watched = self._watched
        await watched.until(lambda: all(name in watched.bound for name in names), self._seconds * 5)
        storm.waits += [watched.bound[name] - watched.seen[name] for name in names]

    async def _ask_health(self, storm: Storm) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session:
            while True:
                began = time.monotonic()
                async with session.get(f"https://127.0.0.1:{self._port}/livez") as answer:
                    answer.raise_for_status()
                storm.health.append(time.monotonic() - began)
                await asyncio.sleep(0.1)

    async def _watch_lease(self, storm: Storm) -> None:
        last = ""
        while True:
            lease = json.loads(await self._client.get(LEASES.path("kube-system", "kube-scheduler")))
            if lease["spec"]["renewTime"] != last:
                last = lease["spec"]["renewTime"]
                storm.renewals.append(time.monotonic())
            await asyncio.sleep(0.1)


async def _ticks(rate: float, seconds: float) -> AsyncIterator[int]:
    """Numbers, so many a second; late ones follow at once."""
    started = time.monotonic()
    for index in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, started + index / rate - time.monotonic()))
        yield index


# The cluster.


def node(index: int) -> bytes:
    """A node with room for many small pods."""
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": f"node-{index}", "topology.kubernetes.io/zone": f"zone-{index % 3}"}
    if index < CLASSES:
        labels["disk"] = f"kind-{index}"
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"name": f"node-{index}", "labels": labels}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status})


def pod(name: str, cpu: str = "10m", **spec: Any) -> bytes:
    """A pod; it fits unless it asks for more."""
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]
    meta = {"name": name, "namespace": NAMESPACE, "labels": {"app": "storm"}}
    return msgspec.json.encode(
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}}
    )


def waiting_pod(index: int) -> bytes:
    """A pod that fits nowhere: one node has the label it asks for, and that node is too small.

    So both labels and room concern it, and any pod that goes wakes all of them.
    """
    kind = index % CLASSES
    return pod(f"waiting-{index}", cpu=f"{40 + kind}", nodeSelector={"disk": f"kind-{kind}"})


async def _create_all(client: Client, path: str, bodies: Iterator[bytes]) -> None:
    async def create_some() -> None:
        for body in bodies:
            await client.post(path, body)

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(create_some())


async def measure(kubeconfig: Path, start: "StartScheduler", nodes: int, pods: int, seconds: float) -> list[Storm]:
    """Fill a cluster, start a scheduler, wait until it has refused every pod, and let the storms blow."""
    async with Client(load_access(kubeconfig)) as client:
        await _create_all(client, NODES.path(), map(node, range(nodes)))
        running = (pod(f"running-{i}", nodeName=f"node-{i % nodes}") for i in range(nodes * RUNNING))
        await _create_all(client, PODS.path(NAMESPACE), running)
        await _create_all(client, PODS.path(NAMESPACE), map(waiting_pod, range(pods)))
        watched = Watched(client)
        following = asyncio.create_task(watched.follow())
        try:
            with start() as port:
                await watched.until(lambda: len(watched.refused) >= pods, 600)
                bench = Bench(client, watched, port, nodes, seconds)
                return [storm async for storm in bench.run()]
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


# The processes.

#: Starts a scheduler; gives the port of its /livez.
StartScheduler = Callable[[], Any]


def moorage(kubeconfig: Path) -> StartScheduler:
    """Ours, with leader election."""

    @contextmanager
    def start() -> Iterator[int]:
        (port,) = free_ports(1)
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": True},
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "config.json")
            file.write_text(json.dumps(config))
            command = [sys.executable, "-m", "moorage", "scheduler", "--config", str(file), "--secure-port", str(port)]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            try:
                yield port
                assert process.poll() is None, f"the scheduler has ended with status {process.returncode}"
            finally:
                process.terminate()
                process.wait(30)

    return start


@contextmanager
def embedded_server() -> Iterator[Path]:
    """The embedded API server as a process of its own; its kubeconfig."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder, "kubeconfig")
        command = [sys.executable, "-m", "moorage", "apiserver", "--port", "0", "--kubeconfig-out", str(kubeconfig)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not kubeconfig.exists():
                assert server.poll() is None, "the API server did not start"
                time.sleep(0.05)
            yield kubeconfig
        finally:
            server.terminate()
            server.wait(30)


@contextmanager
def real_server() -> Iterator[Path]:
    """kube-apiserver on etcd; its kubeconfig."""
    with run_control_plane() as plane:
        yield plane.access.kubeconfig


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("server", nargs="?", choices=("embedded", "real"), default="embedded")
    options.add_argument("--nodes", type=int, default=5000)
    options.add_argument("--pods", type=int, default=20_000)
    options.add_argument("--seconds", type=float, default=20.0)
    chosen = options.parse_args()
    with embedded_server() if chosen.server == "embedded" else real_server() as kubeconfig:
        storms = asyncio.run(measure(kubeconfig, moorage(kubeconfig), chosen.nodes, chosen.pods, chosen.seconds))
    table = Table(
        title=f"{chosen.pods:,} pods of {CLASSES} classes wait, {chosen.nodes:,} nodes, {chosen.server} API server"
    )
    for heading in (
        "storm",
        "events",
        "a pod that fits: p50",
        "p99",
        "longest",
        "/livez, longest",
        "lease, longest gap",
    ):
        table.add_column(heading, justify="left" if heading == "storm" else "right")
    for storm in storms:
        table.add_row(*storm.row())
    Console().print(table)


if __name__ == "__main__":
    main()
