"""Extenders: what a round trip costs where plugins are served, and what a slow one costs two schedulers."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.table import Table
from tools.control_plane.processes import Process, free_ports
from tools.control_plane.running import ControlPlane
from tools.control_plane.running import run as run_control_plane

from bench.processes import (
    NAMESPACE,
    NODES,
    PODS,
    StartScheduler,
    cpu_seconds,
    create_all,
    following,
    moorage_process,
    node_body,
    pod_body,
    wait_for_file,
)
from moorage.kube.access import load_access
from moorage.kube.http1 import Pool
from moorage.kube.transport import Client

PLUGIN: Final = "examples/first_plugin/keep_off_spot.py:KeepOffSpot"
THINKING_SECONDS: Final = 0.005


# ------------------------------------------------------------------------------------------------------------- served


@dataclass(frozen=True)
class Served:
    """How `moorage extender` serves: milliseconds of filter and prioritize together, requests a second."""

    names_ms: float
    whole_ms: float
    requests_per_second: float


def serve(nodes: int = 5000) -> Served:
    """Round trips for so many nodes, by names and whole; and filters of 100 names, sixteen at a time."""
    with tempfile.TemporaryDirectory() as folder, _embedded(Path(folder)) as kubeconfig:
        asyncio.run(_make_nodes(kubeconfig, nodes))
        bodies = [json.loads(node_body(index)) for index in range(nodes)]
        by_names = {"Pod": json.loads(pod_body("p")), "NodeNames": [body["metadata"]["name"] for body in bodies]}
        whole = {"Pod": by_names["Pod"], "Nodes": {"items": bodies}}
        few = {**by_names, "NodeNames": by_names["NodeNames"][:100]}
        with _extender(Path(folder), "--kubeconfig", str(kubeconfig)) as port:
            names_ms = asyncio.run(_round_trips(port, by_names, 30))
            rate = asyncio.run(_rate(port, few, 4000))
        with _extender(Path(folder), "--whole-nodes") as port:
            whole_ms = asyncio.run(_round_trips(port, whole, 10))
    return Served(names_ms, whole_ms, rate)


@contextlib.contextmanager
def _embedded(folder: Path) -> Iterator[Path]:
    kubeconfig = folder / "kubeconfig"
    command = [sys.executable, "-m", "moorage", "apiserver", "--port", "0", "--kubeconfig-out", str(kubeconfig)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for_file(kubeconfig)
        yield kubeconfig
    finally:
        server.terminate()
        server.wait(30)


async def _make_nodes(kubeconfig: Path, count: int) -> None:
    async with Client(load_access(kubeconfig)) as client:
        await create_all(client, NODES.path(), [node_body(index) for index in range(count)])


@contextlib.contextmanager
def _extender(folder: Path, *options: str) -> Iterator[int]:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moorage", "extender", "--plugin", PLUGIN, "--port", str(port), *options]
    with Process("moorage extender", command, folder / f"extender-{port}.log") as process:
        process.wait_until(lambda: asyncio.run(_is_ready(port)))
        yield port


async def _is_ready(port: int) -> bool:
    pool = Pool("127.0.0.1", port, size=1)
    try:
        answer = await pool.exchange(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", 5)
    except Exception:
        return False
    finally:
        await pool.close()
    return answer.status == 200


def _request(verb: str, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    return f"POST /{verb} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


async def _round_trips(port: int, body: dict[str, Any], count: int) -> float:
    pool = Pool("127.0.0.1", port, size=1)
    requests = [_request(verb, body) for verb in ("filter", "prioritize")]
    for request in requests:
        await pool.exchange(request, 60)
    began = time.perf_counter()
    for _ in range(count):
        for request in requests:
            answer = await pool.exchange(request, 60)
            assert answer.status == 200, answer.body
    seconds = time.perf_counter() - began
    await pool.close()
    return seconds / count * 1000


async def _rate(port: int, body: dict[str, Any], count: int) -> float:
    pool = Pool("127.0.0.1", port, size=16)
    request = _request("filter", body)
    waiting = iter(range(count))

    async def ask() -> None:
        for _ in waiting:
            await pool.exchange(request, 60)

    began = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(16)))
    seconds = time.perf_counter() - began
    await pool.close()
    return count / seconds


# -------------------------------------------------------------------------------------------------------------- asked


@dataclass(frozen=True)
class Asked:
    """How fast a scheduler is that asks, and what that costs its process, the extender's, and the API server's."""

    pods_per_second: float
    scheduler_us_a_pod: float
    extender_us_a_pod: float
    api_server_us_a_pod: float

    @property
    def most_per_second(self) -> float:
        """What this machine's cores have room for, were they idle else."""
        spent = self.scheduler_us_a_pod + self.extender_us_a_pod + self.api_server_us_a_pod
        return (os.cpu_count() or 1) * 1e6 / spent


def ask(scheduler: str, *, pods: int, nodes: int = 100) -> Asked:
    """Drain pods with an extender that filters and scores by name and takes 5 ms for each."""
    (port,) = free_ports(1)
    entry = {
        "urlPrefix": f"http://127.0.0.1:{port}",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "nodeCacheCapable": True,
    }
    with run_control_plane() as plane:
        if scheduler == "kube-scheduler":
            start = _kube_scheduler(plane, entry)
        else:
            start = moorage_process(plane.access.kubeconfig, extenders=[entry])
        with subprocess.Popen([sys.executable, "-m", "bench.extenders", str(port)]) as extender:
            try:
                return asyncio.run(_drain(plane, start, extender.pid, pods=pods, nodes=nodes))
            finally:
                extender.terminate()


def _kube_scheduler(plane: ControlPlane, entry: dict[str, Any]) -> StartScheduler:
    @contextlib.contextmanager
    def start() -> Iterator[int]:
        limits = {"clientConnection": {"qps": 5000, "burst": 5000}}
        with plane.start_kube_scheduler({**limits, "extenders": [entry]}) as process:
            yield process.pid

    return start


async def _drain(plane: ControlPlane, start: StartScheduler, extender: int, *, pods: int, nodes: int) -> Asked:
    async with Client(load_access(plane.access.kubeconfig)) as client:
        await create_all(client, NODES.path(), [node_body(index) for index in range(nodes)])
        await create_all(client, PODS.path(NAMESPACE), [pod_body(f"drain-{index}") for index in range(pods)])
        async with following(client) as bound:
            with start() as scheduler:
                await bound.wait_for(1)
                began, already = time.monotonic(), len(bound.times)
                groups = [scheduler], [extender], plane.pids
                spent = [sum(map(cpu_seconds, pids)) for pids in groups]
                await bound.wait_for(pods)
                seconds, drained = time.monotonic() - began, pods - already
                costs = [
                    (sum(map(cpu_seconds, pids)) - was) / drained * 1e6 for pids, was in zip(groups, spent, strict=True)
                ]
    return Asked(drained / seconds, *costs)


async def _think(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An extender that passes every node and scores them alike, and takes its time."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
            names = json.loads(await reader.readexactly(length))["NodeNames"]
            await asyncio.sleep(THINKING_SECONDS)
            filters = head.startswith("POST /filter ")
            answer = {"NodeNames": names} if filters else [{"Host": name, "Score": 1} for name in names]
            content = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)


async def _serve_thinking(port: int) -> None:
    server = await asyncio.start_server(_think, "127.0.0.1", port)
    await server.serve_forever()


# -------------------------------------------------------------------------------------------------------------- tables


def served_table(measured: Served, nodes: int = 5000) -> Table:
    """What serving costs."""
    table = Table(title="moorage extender: a filter and a score of the first plugin")
    for heading in ("what", "measured"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    table.add_row(f"filter and prioritize {nodes:,} nodes by names", f"{measured.names_ms:,.1f} ms")
    table.add_row(f"filter and prioritize {nodes:,} whole nodes", f"{measured.whole_ms:,.1f} ms")
    table.add_row("filters of 100 names a second, 16 at a time", f"{measured.requests_per_second:,.0f}")
    return table


def asked_table(kube: Asked, ours: Asked) -> Table:
    """What asking costs."""
    table = Table(title="an extender that takes 5 ms to filter and 5 ms to score, 100 nodes by names")
    for heading in ("what", "kube-scheduler", "moorage", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    rows = (
        ("bound pods a second", "pods_per_second", ""),
        ("CPU of the scheduler a pod", "scheduler_us_a_pod", " us"),
        ("CPU of the extender a pod", "extender_us_a_pod", " us"),
        ("CPU of the API server and etcd a pod", "api_server_us_a_pod", " us"),
        ("pods a second that the cores have room for", "most_per_second", ""),
    )
    for what, name, unit in rows:
        theirs, our = getattr(kube, name), getattr(ours, name)
        table.add_row(what, f"{theirs:,.0f}{unit}", f"{our:,.0f}{unit}", f"{our / theirs:.2f}")
    return table


if __name__ == "__main__":
    asyncio.run(_serve_thinking(int(sys.argv[1])))
