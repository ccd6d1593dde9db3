"""A small cluster of a test's own, and a scheduler that runs on it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from tools.control_plane.binaries import version
from tools.control_plane.running import Access

from moorage.cluster import find_faults
from moorage.cluster.invariants import overcommitted
from moorage.config import DEFAULT_FEATURES, Features, features_of, parse_config
from moorage.config.gates import parse_version
from moorage.engine.engine import default_registry
from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.errors import Forbidden, NotFound
from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH, Client
from moorage.live.process import SteadyClock
from moorage.live.scheduler import LiveScheduler
from moorage.objects import Node, Pod, convert

WAIT_SECONDS = 30.0
POLL_SECONDS = 0.05

Tree = dict[str, Any]


def features_of_kube_scheduler() -> Features:
    """Of the version that stands beside us: where both are compared, ours takes that one's decisions."""
    return features_of(parse_version(version().rpartition(".")[0]))


class World:
    """Nodes and pods of one test, in a namespace and under a scheduler name of its own."""

    def __init__(self, access: Access, client: Client, name: str) -> None:
        self.access = access
        self.client = client
        self.name = name
        self._made: list[tuple[str, str]] = []

    # Making things.

    async def create(self, manifest: Tree) -> Tree:
        """Create any object; it is deleted with the world."""
        resource = resource_of(manifest["kind"])
        namespace = self.name if resource.namespaced else ""
        answer = await self.client.post(resource.path(namespace), json.dumps(manifest).encode())
        self._made.append((manifest["kind"], manifest["metadata"]["name"]))
        if manifest["kind"] == "PriorityClass":
            await self.eventually(lambda: self._is_priority_known(manifest["metadata"]["name"]))
        return _tree(answer)

    async def _is_priority_known(self, name: str) -> bool:
        """Whether pods may name the class: kube-apiserver takes a moment to know a new one."""
        spec = {"priorityClassName": name, "containers": [{"name": "main", "image": "example/app:1"}]}
        body = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"dry-{name}"[:60]}, "spec": spec})
        try:
            await self.client.post(resource_of("Pod").path("default"), body.encode(), query={"dryRun": "All"})
        except Forbidden:
            return False
        return True

    async def node(
        self, name: str, *, labels: Mapping[str, str] | None = None, spec: Tree | None = None, **amounts: str
    ) -> str:
        """Create a node, by default of 4 CPUs; returns its full name, which is unique to this test."""
        full = f"{self.name}-{name}"
        offered = {"cpu": "4", "memory": "8Gi", "pods": "20", **amounts}
        status = {"capacity": offered, "allocatable": offered, "conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {"name": full, "labels": {"kubernetes.io/hostname": full, "world": self.name, **(labels or {})}}
        await self.create(
            {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec or {}, "status": status}
        )
        return full

    async def pod(self, name: str, *, cpu: str = "1", metadata: Tree | None = None, **spec: Any) -> Tree:
        """Create a pod that only nodes of this world can take."""
        container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": cpu}}}
        return await self.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, **(metadata or {})},
                "spec": {
                    "schedulerName": self.name,
                    "containers": [container],
                    "nodeSelector": {"world": self.name},
                    "terminationGracePeriodSeconds": 0,
                    **spec,
                },
            }
        )

    async def delete(self, kind: str, name: str, *, grace: int = 0) -> None:
        """Delete an object, at once."""
        resource = resource_of(kind)
        options = json.dumps({"gracePeriodSeconds": grace}).encode()
        with contextlib.suppress(NotFound):
            await self.client.delete(resource.path(self.name if resource.namespaced else "", name), options)

    async def patch(self, kind: str, name: str, patch: Tree, subresource: str = "") -> None:
        """Change an object, or a subresource of it, by a merge patch."""
        resource = resource_of(kind)
        path = resource.path(self.name if resource.namespaced else "", name, subresource)
        await self.client.patch(path, json.dumps(patch).encode(), content_type=MERGE_PATCH)

    # Looking at things.

    async def get(self, kind: str, name: str) -> Tree:
        """An object as the API server has it."""
        resource = resource_of(kind)
        return _tree(await self.client.get(resource.path(self.name if resource.namespaced else "", name)))

    async def listed(self, kind: str) -> list[Tree]:
        """Every object of a kind: of this world, where the kind has namespaces."""
        resource = resource_of(kind)
        items: list[Tree] = _tree(await self.client.get(resource.path(self.name if resource.namespaced else "")))[
            "items"
        ]
        return items

    async def pods(self) -> list[Tree]:
        """Every pod of this world."""
        return await self.listed("Pod")

    async def events(self, pod: str, reason: str = "") -> list[Tree]:
        """The events about a pod."""
        answer = await self.client.get(resource_of("Event").path(self.name))
        events = _tree(answer)["items"]
        return [one for one in events if one["regarding"]["name"] == pod and reason in ("", one["reason"])]

    # Waiting for things.

    async def eventually(self, look: Callable[[], Awaitable[Any]]) -> Any:
        """What `look` answers, once that is true."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                seen = await look()
                if seen:
                    return seen
                await asyncio.sleep(POLL_SECONDS)

    async def bound(self, name: str) -> str:
        """Wait until the pod has a node; its full name."""

        async def look() -> str:
            return str((await self.get("Pod", name))["spec"].get("nodeName", ""))

        return str(await self.eventually(look))

    async def refused(self, name: str) -> Tree:
        """Wait until the pod is said to be unschedulable; the condition that says so."""

        async def look() -> Tree | None:
            return condition(await self.get("Pod", name), "PodScheduled", "False")

        found: Tree = await self.eventually(look)
        return found

    async def gone(self, name: str) -> None:
        """Wait until the pod is gone."""

        async def look() -> bool:
            try:
                await self.get("Pod", name)
            except NotFound:
                return True
            return False

        await self.eventually(look)

    async def event(self, pod: str, reason: str) -> Tree:
        """Wait for an event about a pod."""
        found: list[Tree] = await self.eventually(lambda: self.events(pod, reason))
        return found[0]

    # Scheduling.

    @contextlib.asynccontextmanager
    async def scheduling(
        self,
        *,
        profiles: Sequence[Tree] | None = None,
        plugins: Sequence[type] = (),
        access: ClusterAccess | None = None,
        features: Features = DEFAULT_FEATURES,
        **config: Any,
    ) -> AsyncIterator[LiveScheduler]:
        """Run a scheduler in this process; when the block ends, what it holds must agree with the API server."""
        registry = default_registry()
        registry.register_all(plugins)
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": profiles or [{"schedulerName": self.name}],
            "clientConnection": {"qps": 5000, "burst": 5000},
            **config,
        }
        parsed = parse_config(document, known=registry.known, features=features)
        stopping = asyncio.Event()
        async with Client(access or load_access(self.access.kubeconfig)) as client:
            scheduler = LiveScheduler(client=client, config=parsed, registry=registry, now=SteadyClock(), seed=1)
            async with asyncio.TaskGroup() as group:
                following = group.create_task(scheduler.follow())
                leading = group.create_task(scheduler.lead(stopping))
                async with asyncio.timeout(WAIT_SECONDS):
                    await scheduler.synced.wait()
                try:
                    yield scheduler
                    await self.settled(scheduler)
                finally:
                    stopping.set()
                    await asyncio.wait([leading])
                    following.cancel()

    async def settled(self, scheduler: LiveScheduler) -> None:
        """Wait until the scheduler's cluster is the API server's, and no node holds more than it offers."""

        snapshot = scheduler.cluster.snapshot

        async def faults() -> list[str]:
            nodes = _items(await self.client.get(resource_of("Node").path()), Node)
            pods = _items(await self.client.get(resource_of("Pod").path()), Pod)
            assumed = [f"pod {pod.key} is assumed" for pod in scheduler.cluster.assumed()]
            return [
                *find_faults(scheduler.cluster, nodes, pods),
                *overcommitted(snapshot.nodes, snapshot.resource_classes),
                *assumed,
            ]

        last: list[str] = []
        for _ in range(100):
            last = await faults()
            if not last:
                return
            await asyncio.sleep(POLL_SECONDS)
        raise AssertionError("\n".join(last))

    async def clean_up(self) -> None:
        """Delete what was made."""
        for kind, name in reversed(self._made):
            await self.delete(kind, name)


def condition(pod: Tree, kind: str, status: str = "True") -> Tree | None:
    """A pod's condition of that type and status."""
    conditions = pod.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind and one["status"] == status), None)


@contextlib.asynccontextmanager
async def make_world(access: Access, name: str) -> AsyncIterator[World]:
    """A world with its namespace; everything in it is deleted at the end."""
    async with Client(load_access(access.kubeconfig)) as client:
        world = World(access, client, name)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.post(resource_of("Namespace").path(), json.dumps(namespace).encode())
        try:
            yield world
        finally:
            await world.clean_up()
            await world.delete("Namespace", name)


def _tree(answer: bytes) -> Tree:
    tree: Tree = json.loads(answer)
    return tree


def _items(answer: bytes, kind: type[Any]) -> list[Any]:
    return [convert(item, kind) for item in _tree(answer)["items"]]
