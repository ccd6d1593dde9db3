"""`moorage scheduler` as a process of its own, as a user would start it."""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
from tests.cluster.scheduler_world import POLL_SECONDS, WAIT_SECONDS, World
from tools.control_plane.processes import free_ports


class SchedulerProcess:
    """A running scheduler process."""

    def __init__(self, child: asyncio.subprocess.Process, port: int, log: Path) -> None:
        self.child = child
        self.port = port
        self.log = log

    async def ready(self) -> None:
        """Wait until /readyz says so."""
        async with asyncio.timeout(WAIT_SECONDS):
            while (await self.ask("/readyz"))[0] != 200:
                assert self.child.returncode is None, self.log.read_text()
                await asyncio.sleep(POLL_SECONDS)

    async def ask(self, path: str, token: str = "") -> tuple[int, str]:
        """Status and text that a path of the endpoint answers; status 0 where nobody does."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connector = aiohttp.TCPConnector(ssl=False)
        try:
            async with (
                aiohttp.ClientSession(connector=connector) as session,
                session.get(f"https://127.0.0.1:{self.port}{path}", headers=headers) as answer,
            ):
                return answer.status, await answer.text()
        except aiohttp.ClientError:
            return 0, ""

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.child.send_signal(number)

    async def end(self) -> int:
        """Wait for its end; the exit status."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.child.wait()


@contextlib.asynccontextmanager
async def scheduler_process(
    world: World, folder: Path, *flags: str, config: dict[str, Any] | None = None, elect: bool = False
) -> AsyncIterator[SchedulerProcess]:
    """Start a scheduler for the world's pods; it is ended with the block."""
    (port,) = free_ports(1)
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": world.name}],
        **(config or {}),
    }
    path = folder / f"config-{port}.json"
    path.write_text(json.dumps(document))
    log = folder / f"scheduler-{port}.log"
    command = _command(world, path, port, flags, elect=elect)
    with log.open("wb") as output:
        child = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output)
    try:
        yield SchedulerProcess(child, port, log)
    except BaseException:
        print(f"--- the scheduler on port {port} said:\n{log.read_text()}")
        raise
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


def _command(world: World, config: Path, port: int, flags: Sequence[str], *, elect: bool) -> list[str]:
    election = ["--leader-elect=false"]
    if elect:
        election = [
            "--leader-elect",
            f"--leader-elect-resource-name={world.name}",
            f"--leader-elect-resource-namespace={world.name}",
            "--leader-elect-lease-duration=3s",
            "--leader-elect-renew-deadline=2s",
            "--leader-elect-retry-period=500ms",
        ]
    return [
        *(sys.executable, "-m", "moorage", "scheduler", f"--config={config}"),
        f"--kubeconfig={world.access.kubeconfig}",
        *("--bind-address=127.0.0.1", f"--secure-port={port}", "-v=2"),
        *election,
        *flags,
    ]
