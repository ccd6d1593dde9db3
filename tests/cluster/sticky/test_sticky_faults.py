"""Whatever fails and whoever is killed: never two pods of a job, and never a node forgotten."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.cluster.faulty_server import Fault, FaultyServer, failure, faulty_server
from tests.cluster.scheduler_process import scheduler_process
from tests.cluster.scheduler_world import World
from tests.cluster.sticky.conftest import configuration
from tools.control_plane.running import Access

from moorage.config import parse_config
from moorage.controllers.definitions import ensure_served
from moorage.controllers.running import run_controllers
from moorage.controllers.stickyjobs import StickyJobController
from moorage.engine.engine import default_registry
from moorage.kube.access import load_access
from moorage.kube.errors import NotFound
from moorage.kube.informer import Informer
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.transport import Client
from moorage.live.process import SteadyClock
from moorage.live.scheduler import LiveScheduler
from moorage.nodes.running import run_nodes
from moorage.nodes.shapes import parse_shape
from moorage.objects import Pod

JOBS = ApiResource("StickyJob", "example.com", "v1", "stickyjobs")
WRITES = ("POST", "PUT", "PATCH", "DELETE")
PATIENCE = 240.0
TOGETHER = 8
"""Cases that are played at one time: a busy machine must not look like a failure."""

pytestmark = pytest.mark.timeout(1200)

Tree = dict[str, Any]


class Witness:
    """Sees every pod come and go, and how many of one job there ever were at once."""

    def __init__(self) -> None:
        self.living: dict[str, set[str]] = {}
        self.most = 0
        self.made = 0

    def added(self, new: Pod) -> None:
        if new.metadata.owner_references:
            of_job = self.living.setdefault(new.metadata.owner_references[0].uid, set())
            of_job.add(new.metadata.uid)
            self.most = max(self.most, len(of_job))
            self.made += 1

    def updated(self, old: Pod, new: Pod) -> None: ...

    def deleted(self, old: Pod) -> None:
        if old.metadata.owner_references:
            self.living[old.metadata.owner_references[0].uid].discard(old.metadata.uid)

    def synced(self) -> None: ...


class Place:
    """A cluster with nodes, and StickyJobs to watch in namespaces of their own."""

    def __init__(self, world: World, witness: Witness) -> None:
        self.world, self.witness = world, witness

    async def get(self, resource: ApiResource, namespace: str) -> Tree:
        try:
            found: Tree = json.loads(await self.world.client.get(resource.path(namespace, "db")))
        except NotFound:
            return {}
        return found

    async def apply(self, namespace: str) -> None:
        """Create the job `db`, whose pod can go to any of three nodes."""
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "10m"}}}
        spec: Tree = {"schedulerName": self.world.name, "containers": [container]}
        spec |= {"terminationGracePeriodSeconds": 0, "nodeSelector": {"world": self.world.name}}
        body = {"apiVersion": "example.com/v1", "kind": "StickyJob", "metadata": {"name": "db"}}
        manifest = {**body, "spec": {"template": {"spec": spec}, "stickiness": "Required"}}
        await self.world.client.post(JOBS.path(namespace), json.dumps(manifest).encode())

    async def home(self, namespace: str, *, but: str = "") -> tuple[str, str]:
        """Wait until a pod, another than `but`, runs and is written down; its node and uid."""
        async with asyncio.timeout(PATIENCE):
            while True:
                pod, job = await self.get(resource_of("Pod"), namespace), await self.get(JOBS, namespace)
                uid = pod.get("metadata", {}).get("uid", "")
                node = pod.get("spec", {}).get("nodeName", "")
                runs = pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
                if runs and uid != but and job.get("status", {}).get("lastNode") == node:
                    return node, uid
                await asyncio.sleep(0.1)

    async def delete_pod(self, namespace: str) -> None:
        with contextlib.suppress(NotFound):
            await self.world.client.delete(resource_of("Pod").path(namespace, "db"), b"{}")

    async def gone(self, namespace: str) -> None:
        """Wait until the pod is gone, and stays away."""
        async with asyncio.timeout(PATIENCE):
            while await self.get(resource_of("Pod"), namespace):  # noqa: ASYNC110 - it happens behind a socket
                await asyncio.sleep(0.2)

    async def there_and_back(self, namespace: str, rounds: int = 2) -> None:
        """Create a job, delete its pod, see it come back to where it was, again."""
        await self.apply(namespace)
        home, uid = await self.home(namespace)
        for _ in range(rounds):
            await self.delete_pod(namespace)
            node, uid = await self.home(namespace, but=uid)
            assert node == home


@pytest.fixture
async def place(world: World) -> AsyncIterator[Place]:
    if os.environ.get("MOORAGE_TEST_CLUSTER", "") not in ("", "embedded", "real"):
        pytest.skip("this cluster has nodes and controllers of its own")
    await ensure_served(world.client)
    witness, ready = Witness(), asyncio.Event()
    pods = Informer(world.client, Pod)
    pods.add_handler(witness)
    shape = parse_shape(f"name={world.name},count=3,cpu=4,memory=8Gi,labels=world:{world.name}")
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run_nodes(world.client, [shape], on_ready=ready.set)),
            group.create_task(pods.run()),
        ]
        await ready.wait()
        await pods.synced.wait()
        yield Place(world, witness)
        with contextlib.suppress(NotFound):
            await world.client.delete(JOBS.path(world.name, "db"))
        for task in tasks:
            task.cancel()
    for number in range(3):
        await world.delete("Node", f"{world.name}-{number}")


@contextlib.asynccontextmanager
async def scheduling(world: World, access: Any = None) -> AsyncIterator[None]:
    """A scheduler with StickyJob in this process."""
    registry, stopping = default_registry(), asyncio.Event()
    config = parse_config(configuration(world.name), known=registry.known)
    async with Client(access or load_access(world.access.kubeconfig)) as client, asyncio.TaskGroup() as group:
        scheduler = LiveScheduler(client=client, config=config, registry=registry, now=SteadyClock(), seed=1)
        following = group.create_task(scheduler.follow())
        leading = group.create_task(scheduler.lead(stopping))
        await scheduler.synced.wait()
        yield
        stopping.set()
        await asyncio.wait([leading])
        following.cancel()


@contextlib.asynccontextmanager
async def controlling(access: Any) -> AsyncIterator[None]:
    """The StickyJob controller in this process."""
    ready = asyncio.Event()
    async with Client(access) as client:
        task = asyncio.create_task(run_controllers(client, only=["stickyjob"], on_ready=ready.set))
        await ready.wait()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


FAULTS: dict[str, Fault | web.Response] = {
    "dropped": Fault.DROPPED,
    "lost": Fault.ANSWER_LOST,
    "error": failure(500, "InternalError"),
    "busy": failure(429, "TooManyRequests", headers={"Retry-After": "1"}),
    "conflict": failure(409, "Conflict"),
}


def fail_nth_write(server: FaultyServer, namespace: str, nth: int, fault: Fault | web.Response) -> None:
    """Let the nth write within a namespace fail, events aside."""
    seen = itertools.count(1)

    def rule(request: web.Request) -> Fault | web.Response | None:
        is_write = request.method in WRITES and f"/namespaces/{namespace}/" in request.path
        if is_write and not request.path.endswith("/events") and next(seen) == nth:
            return fault
        return None

    server.rules.append(rule)


async def namespaces(world: World, names: list[str]) -> None:
    for name in names:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await world.client.post(resource_of("Namespace").path(), json.dumps(body).encode())


@pytest.mark.parametrize("who", ["controller", "scheduler"])
async def test_a_write_that_fails_loses_nothing(place: Place, cluster: Access, who: str) -> None:
    world = place.world
    cases = {f"{world.name}-{name}-{nth}": (nth, fault) for name, fault in FAULTS.items() for nth in range(1, 9)}
    await namespaces(world, list(cases))
    good = load_access(cluster.kubeconfig)
    async with faulty_server(cluster.kubeconfig) as proxy:
        for namespace, (nth, fault) in cases.items():
            fail_nth_write(proxy, namespace, nth, fault)
        controllers = proxy.access if who == "controller" else good
        scheduler = proxy.access if who == "scheduler" else good
        turns = asyncio.Semaphore(TOGETHER)

        async def play(namespace: str) -> None:
            async with turns:
                await place.there_and_back(namespace)

        async with controlling(controllers), scheduling(world, scheduler):
            await asyncio.gather(*(play(namespace) for namespace in cases))
            for namespace in cases:
                await world.client.delete(JOBS.path(namespace, "db"))
                await place.delete_pod(namespace)
            await asyncio.gather(*(place.gone(namespace) for namespace in cases))
    for namespace in cases:
        await world.delete("Namespace", namespace)
    assert place.witness.most == 1
    assert place.witness.made >= 3 * len(cases)


class Killer:
    """Kills a process with the nth write that it sends: before that arrives, or once it is carried out."""

    def __init__(self, server: FaultyServer, namespace: str) -> None:
        self._namespace, self._left, self._fault = namespace, 0, Fault.DROPPED
        self.victim: asyncio.subprocess.Process | None = None
        self.kills = 0
        server.rules.append(self._rule)

    def aim(self, nth: int, fault: Fault) -> None:
        """Kill with the nth write from now on."""
        self._left, self._fault = nth, fault

    def _rule(self, request: web.Request) -> Fault | None:
        is_write = request.method in WRITES and f"/namespaces/{self._namespace}/" in request.path
        if not is_write or request.path.endswith(("/events", "/leases")) or not self._left:
            return None
        self._left -= 1
        if self._left or self.victim is None or self.victim.returncode is not None:
            return None
        self.kills += 1
        if self._fault is Fault.DROPPED:
            self.victim.send_signal(signal.SIGKILL)
        else:
            # Once the server has it: the answer finds nobody.
            asyncio.get_running_loop().call_later(0.05, _kill, self.victim)
        return self._fault


def _kill(victim: asyncio.subprocess.Process) -> None:
    if victim.returncode is None:
        victim.send_signal(signal.SIGKILL)


def steps() -> Iterator[tuple[int, Fault]]:
    """Every write of a round, cut before and after."""
    return itertools.product(range(1, 5), (Fault.DROPPED, Fault.ANSWER_LOST))


@contextlib.asynccontextmanager
async def controllers_process(server: FaultyServer, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`moorage controllers` as a process of its own, on the API server behind a proxy."""
    kubeconfig = folder / "proxied"
    kubeconfig.write_text(json.dumps(_kubeconfig(server.url)))
    command = (sys.executable, "-m", "moorage", "controllers", f"--kubeconfig={kubeconfig}", "--no-leader-elect")
    with (folder / "controllers.log").open("ab") as log:
        child = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def _kubeconfig(url: str) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": url}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }


async def is_killed_first(victim: asyncio.subprocess.Process, coming: Coroutine[Any, Any, object]) -> bool:
    """Wait for one of the two. Who comes to be killed late has to be begun again: ask until it comes."""
    done, dead = asyncio.create_task(coming), asyncio.create_task(victim.wait())
    await asyncio.wait([done, dead], return_when=asyncio.FIRST_COMPLETED)
    was_killed = dead.done()
    for task in (done, dead):
        task.cancel()
    return was_killed


async def test_a_controller_killed_at_each_write_loses_nothing(place: Place, cluster: Access, tmp_path: Path) -> None:
    name = place.world.name
    async with faulty_server(cluster.kubeconfig) as proxy, scheduling(place.world):
        killer = Killer(proxy, name)
        async with contextlib.AsyncExitStack() as stack:
            await place.apply(name)
            killer.victim = await stack.enter_async_context(controllers_process(proxy, tmp_path))
            home, uid = await place.home(name)
            for nth, fault in steps():
                killer.aim(nth, fault)
                await place.delete_pod(name)
                while await is_killed_first(killer.victim, place.home(name, but=uid)):
                    killer.victim = await stack.enter_async_context(controllers_process(proxy, tmp_path))
                node, uid = await place.home(name, but=uid)
                assert node == home
    assert place.witness.most == 1
    assert killer.kills >= 6


async def test_a_scheduler_killed_at_each_write_brings_the_pod_back(
    place: Place, cluster: Access, tmp_path: Path
) -> None:
    world = place.world
    config = {**configuration(world.name), "clientConnection": {}}
    async with faulty_server(cluster.kubeconfig) as proxy, controlling(load_access(cluster.kubeconfig)):
        killer = Killer(proxy, world.name)
        kubeconfig = tmp_path / "proxied"
        kubeconfig.write_text(json.dumps(_kubeconfig(proxy.url)))
        config["clientConnection"] = {"kubeconfig": str(kubeconfig)}
        await place.apply(world.name)
        async with contextlib.AsyncExitStack() as stack:

            async def start() -> None:
                process = await stack.enter_async_context(scheduler_process(world, tmp_path, config=config))
                killer.victim = process.child

            await start()
            home, uid = await place.home(world.name)
            for nth, fault in itertools.product((1, 2), (Fault.DROPPED, Fault.ANSWER_LOST)):
                killer.aim(nth, fault)
                await place.delete_pod(world.name)
                assert killer.victim is not None
                while await is_killed_first(killer.victim, place.home(world.name, but=uid)):
                    await start()
                node, uid = await place.home(world.name, but=uid)
                assert node == home
    assert place.witness.most == 1
    assert killer.kills >= 2


async def test_the_controller_needs_exactly_the_rights_it_is_given(place: Place, cluster: Access) -> None:
    async with faulty_server(cluster.kubeconfig) as proxy, scheduling(place.world):
        async with controlling(proxy.access):
            await place.there_and_back(place.world.name, rounds=1)
            await place.world.client.delete(JOBS.path(place.world.name, "db"))
            await place.delete_pod(place.world.name)
            await place.gone(place.world.name)
        asked = {_right(line) for line in proxy.seen}
    given = {
        (group, resource, verb)
        for group, resources, verbs in StickyJobController.rights
        for resource in resources
        for verb in verbs
    }
    assert asked <= given
    # Lists and watches look alike here; an owner's finalizers are looked at by admission alone; no pod has ended here.
    unseen = {right for right in given - asked if right[2] not in ("get", "list", "watch")}
    assert unseen <= {
        ("example.com", "stickyjobs/finalizers", "update"),
        ("events.k8s.io", "events", "patch"),
        ("", "pods", "delete"),
    }


def _right(line: str) -> tuple[str, str, str]:
    """API group, resource and verb of a request."""
    method, path = line.split(" ", 1)
    parts = path.strip("/").split("/")
    group, parts = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    resource = "/".join((parts[0], *parts[2:]))
    one = "get" if len(parts) > 1 else "list"
    verb = {"GET": one, "POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}[method]
    return group, resource, verb
