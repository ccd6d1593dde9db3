"""A scheduler on a cluster that is a few dicts, and on a clock that jumps."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from moorage.config import parse_config
from moorage.engine.engine import default_registry
from moorage.errors import ApiError
from moorage.kube.access import ClusterAccess
from moorage.kube.decoding import ADDED, DELETED, MODIFIED, WatchEvent
from moorage.kube.errors import Conflict, NotFound
from moorage.kube.transport import JSON, Client, Query
from moorage.live.scheduler import LiveScheduler
from moorage.objects import KubeObject, Node, Pod, convert
from moorage.testing import NodeBuilder, PodBuilder

Tree = dict[str, Any]


class FakeApiServer(Client):
    """An API server that holds pods and takes what a scheduler writes; who watches is told at once."""

    def __init__(self) -> None:
        super().__init__(ClusterAccess("http://nowhere"))
        self.pods: dict[str, Pod] = {}
        self.events: list[Tree] = []
        self.sent: list[str] = []
        self.bindings: Counter[str] = Counter()
        #: "METHOD ending of the path" -> what to raise for it, one after the other.
        self.failures: dict[str, list[ApiError]] = {}
        self.scheduler: LiveScheduler | None = None
        self._version = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        query: Query | None = None,
        content_type: str = JSON,
        deadline: float | None = None,
    ) -> bytes:
        await asyncio.sleep(0.001)
        self.sent.append(f"{method} {path}")
        for ending, errors in self.failures.items():
            if errors and f"{method} {path}".endswith(ending):
                raise errors.pop(0)
        tree = msgspec.json.decode(body) if body else {}
        if "/events" in path:
            self.events.append(tree)
            return b"{}"
        _, _, rest = path.partition("/pods/")
        name, _, subresource = rest.partition("/")
        pod = self.pods.get(name)
        if pod is None:
            raise NotFound(f'pods "{name}" not found', code=404, reason="NotFound")
        return self._answer(method, pod, subresource, tree)

    def _answer(self, method: str, pod: Pod, subresource: str, tree: Tree) -> bytes:
        if method == "DELETE":
            self.remove(pod.metadata.name)
        elif subresource == "binding":
            self._bind(pod, tree)
        elif subresource == "status":
            self._patch_status(pod, tree["status"])
        return msgspec.json.encode(self.pods.get(pod.metadata.name, pod))

    def _bind(self, pod: Pod, tree: Tree) -> None:
        if pod.spec.node_name or tree["metadata"]["uid"] != pod.metadata.uid:
            raise Conflict(f"pod {pod.metadata.name} is already assigned", code=409, reason="Conflict")
        self.bindings[pod.metadata.name] += 1
        status = replace(pod.status, nominated_node_name="")
        self.store(replace(pod, spec=replace(pod.spec, node_name=tree["target"]["name"]), status=status))

    def _patch_status(self, pod: Pod, patch: Tree) -> None:
        status = msgspec.to_builtins(pod.status)
        conditions = {one["type"]: one for one in status.get("conditions", ())}
        conditions.update({one["type"]: one for one in patch.get("conditions", ())})
        merged = {**status, **patch, "conditions": list(conditions.values())}
        if merged.get("nominatedNodeName", "") is None:
            merged["nominatedNodeName"] = ""
        self.store(replace(pod, status=convert(merged, type(pod.status))))

    def store(self, pod: Pod) -> None:
        """Add or replace a pod."""
        self._version += 1
        known = pod.metadata.name in self.pods
        pod = replace(pod, metadata=replace(pod.metadata, resource_version=str(self._version)))
        self.pods[pod.metadata.name] = pod
        self.tell(MODIFIED if known else ADDED, pod)

    def remove(self, name: str) -> None:
        """A pod is gone."""
        self.tell(DELETED, self.pods.pop(name))

    def tell(self, kind: str, item: KubeObject) -> None:
        """Let the scheduler know, as a watch does: later, and in order."""
        scheduler = self.scheduler
        assert scheduler is not None
        informer: Any = scheduler.informers.nodes if isinstance(item, Node) else scheduler.informers.pods
        asyncio.get_running_loop().call_soon(informer._apply, WatchEvent(kind, item))

    def reasons(self, pod: str) -> list[str]:
        """The reasons of the events about a pod, in order."""
        return [event["reason"] for event in self.events if event["regarding"]["name"] == pod]


class Rig:
    """The scheduler and the cluster it runs on."""

    def __init__(self, api: FakeApiServer, scheduler: LiveScheduler) -> None:
        self.api = api
        self.scheduler = scheduler

    def node(self, node: NodeBuilder) -> None:
        """A node joins."""
        self.api.tell(ADDED, node.build())

    def pod(self, pod: PodBuilder) -> str:
        """Somebody makes a pod; its uid."""
        built = pod.build()
        self.api.store(built)
        return built.metadata.uid

    def nodes_of(self) -> dict[str, str]:
        """Which pod is where, "" for nowhere."""
        return {name: pod.spec.node_name for name, pod in sorted(self.api.pods.items())}

    def message(self, name: str) -> str:
        """Why a pod was refused, "" if it was not."""
        conditions = self.api.pods[name].status.conditions
        return next((one.message for one in conditions if one.type == "PodScheduled"), "")


def make_rig(plugins: Sequence[type] = (), **config: Any) -> Rig:
    """A scheduler with the default configuration, changed by `config`."""
    registry = default_registry()
    registry.register_all(plugins)
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 5000, "burst": 5000},
        **config,
    }
    api = FakeApiServer()
    parsed = parse_config(document, known=registry.known)
    loop = asyncio.get_running_loop()
    # Wall time is the loop's, which tests let jump.
    api.scheduler = LiveScheduler(
        client=api, config=parsed, registry=registry, now=lambda: 1_000_000.0 + loop.time(), seed=1
    )
    return Rig(api, api.scheduler)


@asynccontextmanager
async def running(rig: Rig) -> AsyncIterator[Rig]:
    """Let the scheduler work; it is stopped, as by SIGTERM, at the end."""
    stopping = asyncio.Event()
    rig.scheduler.synced.set()
    reporting = asyncio.create_task(rig.scheduler.reporter.run())
    leading = asyncio.create_task(rig.scheduler.lead(stopping))
    try:
        yield rig
    finally:
        stopping.set()
        await asyncio.wait([leading])
        assert not reporting.done(), reporting
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)
    leading.result()
