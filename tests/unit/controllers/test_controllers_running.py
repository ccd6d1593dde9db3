"""`run_controllers` and `run_nodes` as their hosts use them: beginning, ending, and an API server that goes away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.apiserver.server import ApiServer, Options
from moorage.controllers.running import run_controllers
from moorage.errors import InputError
from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.errors import Unreachable
from moorage.kube.transport import Client
from moorage.nodes.running import run_nodes
from moorage.nodes.shapes import parse_shape

SECONDS = 30


@asynccontextmanager
async def serving(tmp_path: Path, port: int = 0) -> AsyncIterator[tuple[ApiServer, Path]]:
    async with ApiServer(Options(port=port, data_dir=tmp_path / "data")) as server:
        kubeconfig = tmp_path / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        yield server, kubeconfig


async def begin(run: Callable[..., Any], *arguments: Any, **options: Any) -> asyncio.Task[None]:
    """Start something that runs until cancelled, and wait until it is ready."""
    ready = asyncio.Event()
    task: asyncio.Task[None] = asyncio.create_task(run(*arguments, on_ready=ready.set, **options))
    waiting = asyncio.create_task(ready.wait())
    async with asyncio.timeout(SECONDS):
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    assert not task.done(), task.exception()
    return task


async def stop(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends), ends


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.05)


def deployment(name: str, node: str) -> bytes:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example/app"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}
    return msgspec.json.encode(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
    )


async def roll_out(client: Client, name: str) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    await client.post(path, deployment(name, "node-0"))

    async def is_available() -> bool:
        found = msgspec.json.decode(await client.get(f"{path}/{name}"))
        return bool(found["status"].get("availableReplicas") == 2)

    await eventually(is_available)


async def test_cancelled_they_leave_nothing_running(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, kubeconfig):
        before = asyncio.all_tasks()
        async with Client(load_access(kubeconfig)) as client:
            controllers = await begin(run_controllers, client)
            nodes = await begin(run_nodes, client, [parse_shape("count=3")])
            await roll_out(client, "web")
            await stop(controllers, nodes)
            left = {task for task in asyncio.all_tasks() - before if "moorage/apiserver" not in repr(task)}
            assert left == set()


async def test_they_go_on_after_the_server_was_away(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, kubeconfig):
        port = int(server.url.rsplit(":", 1)[1])
        client = await Client(load_access(kubeconfig)).__aenter__()
        controllers = await begin(run_controllers, client)
        nodes = await begin(run_nodes, client, [parse_shape("count=1")])
        await roll_out(client, "before")
    try:
        async with serving(tmp_path, port) as (_, kubeconfig), Client(load_access(kubeconfig)) as fresh:
            await roll_out(fresh, "after")
            await stop(controllers, nodes)
    finally:
        await client.__aexit__(None, None, None)


async def test_a_controller_may_be_left_to_somebody_else(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, kubeconfig), Client(load_access(kubeconfig)) as client:
        controllers = await begin(run_controllers, client, only=["deployment"])
        await client.post("/apis/apps/v1/namespaces/default/deployments", deployment("web", "node-0"))

        async def has_replica_set() -> bool:
            found = msgspec.json.decode(await client.get("/apis/apps/v1/namespaces/default/replicasets"))
            return len(found["items"]) == 1

        await eventually(has_replica_set)
        await asyncio.sleep(0.2)
        assert msgspec.json.decode(await client.get("/api/v1/pods"))["items"] == []
        await stop(controllers)


async def test_a_controller_nobody_knows_is_refused(tmp_path: Path) -> None:
    async with Client(ClusterAccess("http://127.0.0.1:1")) as client:
        with pytest.raises(InputError, match=r"no controller is called 'cronjob'; did you mean job\?"):
            await run_controllers(client, only=["cronjob"])


async def test_nodes_nobody_takes_are_an_error_at_once() -> None:
    async with Client(ClusterAccess("http://127.0.0.1:1")) as client:
        with pytest.raises(Unreachable):
            await run_nodes(client, [parse_shape("count=2")])
