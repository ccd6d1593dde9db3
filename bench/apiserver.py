"""The embedded API server under load: how many writes it takes, what it holds, how far a burst reaches.

    python -m bench.apiserver [--quick]

Server and clients are processes of their own on one machine, over TLS.
"""

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tools.control_plane.processes import Process

from moorage.kube.access import load_access
from moorage.kube.transport import Client, Query

CONNECTIONS = 32
NODES, PODS, BINDINGS = 5_000, 50_000, 20_000
WATCHERS, BURST = 100, 10_000
PATIENCE = 120.0


@dataclass(frozen=True)
class Figures:
    """What one run measured: writes a second, microseconds of the server's CPU for each, and the rest."""

    nodes: int
    pods: int
    creates: float
    create_cpu: float
    binds: float
    bind_cpu: float
    memory: int
    list_seconds: float
    burst_seconds: float
    burst_events: int


class Server:
    """The server's process: its CPU time and its memory."""

    def __init__(self, pid: int) -> None:
        self._home = Path("/proc", str(pid))

    def cpu_seconds(self) -> float:
        words = (self._home / "stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / 100

    def mebibytes(self) -> int:
        lines = (self._home / "status").read_text().splitlines()
        return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def measure(*, quick: bool = False) -> Figures:
    """Start a server, fill it, and measure."""
    with tempfile.TemporaryDirectory(prefix="moorage-bench-") as home:
        kubeconfig = Path(home, "kubeconfig")
        command = [sys.executable, "-m", "moorage", "apiserver", "--port", "0", "--kubeconfig-out", str(kubeconfig)]
        with Process("moorage apiserver", command, Path(home, "log")) as process:
            process.wait_until(kubeconfig.exists)
            return asyncio.run(_measure(kubeconfig, Server(process.pid), 10 if quick else 1))


async def _measure(kubeconfig: Path, server: Server, part: int) -> Figures:
    async with Client(load_access(kubeconfig), connections=CONNECTIONS) as client:
        await _write(NODES // part, lambda n: client.post("/api/v1/nodes", _node(n)), server)
        path = "/api/v1/namespaces/default/pods"
        creates, create_cpu = await _write(PODS // part, lambda n: client.post(path, _pod(f"p{n}")), server)
        binds, bind_cpu = await _write(
            BINDINGS // part, lambda n: client.post(f"{path}/p{n}/binding", _binding(n, NODES // part)), server
        )
        start = time.perf_counter()
        await client.get("/api/v1/pods")
        listed = time.perf_counter() - start
        memory = server.mebibytes()
        burst, events = await _burst(client, WATCHERS, BURST // part)
    return Figures(NODES // part, PODS // part, creates, create_cpu, binds, bind_cpu, memory, listed, burst, events)


async def _write(
    count: int, send: Callable[[int], Awaitable[object]], server: Server | None = None
) -> tuple[float, float]:
    """Send so many requests; answer how many went through a second, and the server's CPU for each, in microseconds."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await send(number)

    spent, start = server.cpu_seconds() if server else 0.0, time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(worker())
    seconds = time.perf_counter() - start
    spent = server.cpu_seconds() - spent if server else 0.0
    return count / seconds, spent / count * 1e6


async def _burst(client: Client, watchers: int, count: int) -> tuple[float, int]:
    """Create pods while many watch; answer how long until everybody had everything, in order, and how much that was."""
    listed = json.loads(await client.get("/api/v1/pods", {"limit": "1"}))
    query: Query = {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
    start = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        watches = [group.create_task(_watch(client, query, count)) for _ in range(watchers)]
        path = "/api/v1/namespaces/default/pods"
        await _write(count, lambda n: client.post(path, _pod(f"burst{n}")))
    seconds = time.perf_counter() - start
    if not all(watch.result() for watch in watches):
        raise SystemExit("a watcher missed events or saw them out of order")
    return seconds, watchers * count


async def _watch(client: Client, query: Query, count: int) -> bool:
    """Whether the next so many events come in the order of their versions."""
    seen: list[int] = []
    rest = b""
    async with client.stream("/api/v1/pods", query, inactivity=PATIENCE) as chunks:
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            seen += [_version(line) for line in lines]
            if len(seen) >= count:
                break
    return all(before < after for before, after in itertools.pairwise(seen))


def _version(line: bytes) -> int:
    mark = b'"resourceVersion":"'
    start = line.index(mark) + len(mark)
    return int(line[start : line.index(b'"', start)])


def _node(number: int) -> bytes:
    labels = {"kubernetes.io/hostname": f"n{number}", "topology.kubernetes.io/zone": f"z{number % 5}"}
    capacity = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    return json.dumps({"metadata": {"name": f"n{number}", "labels": labels}, "status": {"capacity": capacity}}).encode()


def _pod(name: str) -> bytes:
    requests = {"requests": {"cpu": "100m", "memory": "128Mi"}}
    container = {"name": "main", "image": "example/app:1", "resources": requests}
    return json.dumps(
        {"metadata": {"name": name, "labels": {"app": "bench"}}, "spec": {"containers": [container]}}
    ).encode()


def _binding(number: int, nodes: int) -> bytes:
    target = {"kind": "Node", "name": f"n{number % nodes}"}
    return json.dumps({"metadata": {"name": f"p{number}"}, "target": target}).encode()


def table(found: Figures) -> Table:
    """The figures for people."""
    shown = Table(title=f"the embedded API server, {found.nodes:,} nodes + {found.pods:,} pods held")
    for heading in ("what", "measured"):
        shown.add_column(heading, justify="left" if heading == "what" else "right")
    shown.add_row("pods created", f"{found.creates:,.0f} /s, {found.create_cpu:.0f} us CPU each")
    shown.add_row("pods bound", f"{found.binds:,.0f} /s, {found.bind_cpu:.0f} us CPU each")
    shown.add_row("memory", f"{found.memory} MiB")
    shown.add_row("all pods listed", f"{found.list_seconds:.2f} s")
    shown.add_row(f"a burst to {WATCHERS} watchers", f"{found.burst_events:,} events in {found.burst_seconds:.1f} s")
    return shown


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--quick", action="store_true", help="a tenth of everything")
    Console().print(table(measure(quick=options.parse_args().quick)))


if __name__ == "__main__":
    main()
