"""What each example plugin is to do, seen from outside: with objects in an API server alone."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web
from tests.cluster.scheduler_world import World

EXAMPLES: Final = Path(__file__).parents[2] / "examples"

Tree = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """A plugin under examples/, and what to do with it. `service` runs beside, and gives arguments."""

    folder: str
    plugin: str
    scenario: Callable[[World], Awaitable[None]]
    service: Callable[[], Any] | None = None
    args: Tree = field(default_factory=dict)

    def configuration(self, scheduler_name: str, args: Tree) -> Tree:
        """The example's own, for the pods of one test."""
        document: Tree = yaml.safe_load((EXAMPLES / self.folder / "scheduler.yaml").read_text())
        (profile,) = document["profiles"]
        profile["schedulerName"] = scheduler_name
        for one in profile.get("pluginConfig", ()):
            one["args"].update({**self.args, **args})
        return document

    @property
    def reference(self) -> str:
        """For --plugin."""
        return f"{EXAMPLES / self.folder / 'plugin.py'}:{self.plugin}"

    @property
    def definitions(self) -> list[Tree]:
        """The custom resources it is about."""
        file = EXAMPLES / self.folder / "crd.yaml"
        return [yaml.safe_load(file.read_text())] if file.exists() else []


async def allocatable(world: World) -> None:
    await world.node("big", cpu="64")
    small = await world.node("small", cpu="8")
    await world.pod("web")
    assert await world.bound("web") == small


@contextlib.asynccontextmanager
async def prometheus() -> AsyncIterator[Tree]:
    """Says that whatever ends with `-busy` is busy."""

    async def query(request: web.Request) -> web.Response:
        assert request.query["query"]
        names = [f"{Busy.world}-{name}" for name in ("busy", "idle")]
        result = [
            {"metric": {"node": name}, "value": [0, "0.95" if name.endswith("busy") else "0.05"]} for name in names
        ]
        Busy.asked += 1
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": result}})

    async with _serving(web.get("/api/v1/query", query)) as url:
        yield {"url": url, "everySeconds": 0.2}


class Busy:
    """Whose nodes Prometheus speaks of, and how often it was asked."""

    world = ""
    asked = 0


async def load_aware(world: World) -> None:
    Busy.world, Busy.asked = world.name, 0
    # By themselves the default plugins would take the bigger one.
    await world.node("busy", cpu="64", memory="256Gi")
    idle = await world.node("idle")

    async def asked() -> bool:
        return Busy.asked > 2

    await world.eventually(asked)
    await world.pod("web")
    assert await world.bound("web") == idle


async def queue_order(world: World) -> None:
    for name, deadline in (("late", "300"), ("soon", "100"), ("later", "200")):
        await world.pod(name, metadata={"annotations": {"example.com/deadline": deadline}})
    await world.refused("late")
    await world.refused("soon")
    await world.refused("later")
    await world.node("only", cpu="1")
    assert await world.bound("soon")
    await world.refused("late")


async def config_gate(world: World) -> None:
    await world.node("a")
    await world.pod("rocket", metadata={"labels": {"example.com/gate": "launch"}})
    told = await world.event("rocket", "SchedulingGated")
    assert told["note"].endswith('gate "launch" is closed: gates says nothing')
    await world.pod("other")
    await world.bound("other")
    assert "nodeName" not in (await world.get("Pod", "rocket"))["spec"]
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gates"}, "data": {"launch": "open"}}
    await world.client.post(f"/api/v1/namespaces/{world.name}/configmaps", json.dumps(body).encode())
    await world.bound("rocket")


async def toy_gang(world: World) -> None:
    for name in ("a", "b"):
        await world.node(name, cpu="1")
    metadata = {"labels": {"example.com/gang": "g"}, "annotations": {"example.com/gang-size": "3"}}
    for name in ("one", "two"):
        await world.pod(name, metadata=metadata)
    refusal = await world.refused("one")
    assert "of 3 pods of the gang are there" in refusal["message"]
    await world.pod("three", metadata=metadata)
    held = [await world.event(name, "WaitingOnPermit") for name in await _two_that_wait(world)]
    assert {one["note"].rpartition(": ")[2] for one in held} <= {"1 of 3", "2 of 3"}
    await world.node("c", cpu="1")
    assert len({await world.bound(name) for name in ("one", "two", "three")}) == 3


async def _two_that_wait(world: World) -> list[str]:
    async def look() -> list[str]:
        names = [name for name in ("one", "two", "three") if await world.events(name, "WaitingOnPermit")]
        return names if len(names) >= 2 else []

    found: list[str] = await world.eventually(look)
    return found[:2]


class Desk:
    """One licence, and who has it."""

    held: set[str] = set()


@contextlib.asynccontextmanager
async def licences() -> AsyncIterator[Tree]:
    async def put(request: web.Request) -> web.Response:
        pod = request.match_info["pod"]
        assert (await request.json())["product"] == "cad"
        if Desk.held - {pod}:
            return web.Response(status=409, text="all licences are taken")
        Desk.held.add(pod)
        return web.Response()

    async def delete(request: web.Request) -> web.Response:
        Desk.held.discard(request.match_info["pod"])
        return web.Response()

    Desk.held = set()
    async with _serving(web.put("/licences/{pod}", put), web.delete("/licences/{pod}", delete)) as url:
        yield {"url": url}


async def prebind_service(world: World) -> None:
    await world.node("a")
    metadata = {"annotations": {"example.com/licence": "cad"}}
    await world.pod("one", metadata=metadata)
    await world.bound("one")
    assert Desk.held == {(await world.get("Pod", "one"))["metadata"]["uid"]}
    await world.pod("two", metadata=metadata)
    assert (await world.refused("two"))["message"] == "all licences are taken"
    await world.pod("web")
    await world.bound("web")
    Desk.held.clear()
    await world.bound("two")


async def custom_binder(world: World) -> None:
    node = await world.node("a")
    await world.pod("web")
    assert await world.bound("web") == node
    annotations = (await world.get("Pod", "web"))["metadata"]["annotations"]
    assert annotations["example.com/bound-by"] == "team-platform"
    assert annotations["example.com/bound-at"].startswith("20")


async def node_reservation(world: World) -> None:
    node = await world.node("a")
    path, until = "/apis/example.com/v1/reservations", time.time() + 8
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
    spec = {"nodeName": node, "amounts": {"cpu": "3"}, "labels": {"team": world.name}, "until": stamp}
    body = {"apiVersion": "example.com/v1", "kind": "Reservation", "metadata": {"name": world.name}, "spec": spec}
    await world.client.post(path, json.dumps(body).encode())
    try:
        await asyncio.sleep(0.5)
        await world.pod("train", cpu="1", metadata={"labels": {"team": world.name}})
        await world.bound("train")

        async def noted() -> bool:
            found = json.loads(await world.client.get(f"{path}/{world.name}"))
            return bool(found.get("status", {}).get("usedBy") == [f"{world.name}/train"])

        await world.eventually(noted)
        await world.pod("web", cpu="2")
        assert "room reserved for others" in (await world.refused("web"))["message"]
        await world.bound("web")
        assert time.time() > until - 1
    finally:
        await world.client.delete(f"{path}/{world.name}")


async def elastic_quota(world: World) -> None:
    await world.node("a", cpu="2")
    await world.node("b", cpu="2")
    other = f"{world.name}-b"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
    await world.client.post("/api/v1/namespaces", json.dumps(namespace).encode())
    for name, least in ((world.name, 2), (other, 2)):
        spec = {"min": {"cpu": least}, "max": {"cpu": 5}}
        body = {"apiVersion": "example.com/v1", "kind": "ElasticQuota", "metadata": {"name": "quota"}, "spec": spec}
        path = f"/apis/example.com/v1/namespaces/{name}/elasticquotas"
        await world.client.post(path, json.dumps(body).encode())
    await asyncio.sleep(0.5)
    for number in range(4):
        await world.pod(f"borrower-{number}")
        await world.bound(f"borrower-{number}")
    await world.pod("more")
    assert "nobody has cpu left to lend" in (await world.refused("more"))["message"]
    lender = World(world.access, world.client, other)
    await lender.pod("mine", nodeSelector={"world": world.name}, schedulerName=world.name)
    try:
        assert await lender.bound("mine")
        left = [pod for pod in await world.pods() if pod["spec"].get("nodeName")]
        assert len(left) == 3
    finally:
        await lender.clean_up()
        await lender.delete("Namespace", other)


@contextlib.asynccontextmanager
async def _serving(*routes: web.RouteDef) -> AsyncIterator[str]:
    """A server on loopback, by its URL."""
    application = web.Application()
    application.add_routes(routes)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


PLUGINS: Final = (
    Example("allocatable", "Allocatable", allocatable),
    Example("load_aware", "LoadAware", load_aware, prometheus),
    Example("queue_order", "EarliestDeadline", queue_order),
    Example("config_gate", "ConfigGate", config_gate),
    Example("toy_gang", "ToyGang", toy_gang),
    Example("prebind_service", "Licences", prebind_service, licences),
    Example("custom_binder", "AuditedBinder", custom_binder),
    Example("node_reservation", "NodeReservation", node_reservation),
    Example("elastic_quota", "ElasticQuotas", elastic_quota),
)
