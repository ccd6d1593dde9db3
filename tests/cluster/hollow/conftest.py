"""Hollow nodes and our controllers beside the API server under test, and somebody simple who binds pods.

A cluster that was named by a kubeconfig has controllers and nodes of its own: these tests leave it alone.
"""

import asyncio
import itertools
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster.workshops import Workshop
from tools.control_plane.running import Access

from moorage.controllers.definitions import ensure_served
from moorage.controllers.running import run_controllers
from moorage.errors import ApiError
from moorage.kube.access import load_access
from moorage.kube.informer import Informer
from moorage.kube.lanes import Lanes
from moorage.kube.transport import Client
from moorage.nodes.running import run_nodes
from moorage.nodes.shapes import parse_shape
from moorage.objects import Node, Pod

PREFIX = "hollow-"
NODES = 3

Kubectl = Callable[..., str]


class Binder:
    """Binds the pods of these tests to their nodes in turn, whether they fit or not."""

    def __init__(self, client: Client) -> None:
        self._lanes = Lanes(client, qps=0)
        self._turns = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self.nodes = Informer(client, Node)
        self.pods = Informer(client, Pod, field_selector="spec.nodeName=")
        self.pods.add_handler(self)

    def added(self, new: Pod) -> None:
        if new.metadata.namespace.startswith(PREFIX) and not new.is_terminating:
            task = asyncio.create_task(self._bind(new))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def updated(self, old: Pod, new: Pod) -> None: ...

    def deleted(self, old: Pod) -> None: ...

    def synced(self) -> None: ...

    async def _bind(self, pod: Pod) -> None:
        names = sorted(
            node.metadata.name
            for node in self.nodes
            if node.metadata.name.startswith(PREFIX) and not node.spec.unschedulable
        )
        meta, node_name = pod.metadata, names[next(self._turns) % len(names)]
        try:
            await self._lanes.bind(namespace=meta.namespace, name=meta.name, uid=meta.uid, node_name=node_name)
        except ApiError:
            return


class HollowWorkshop(Workshop):
    """Nodes, controllers and the binder."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__()
        self._kubeconfig = kubeconfig

    async def work(self, ready: Callable[[], None], stopping: asyncio.Event) -> None:
        nodes_ready, controllers_ready = asyncio.Event(), asyncio.Event()
        async with Client(load_access(self._kubeconfig)) as client, asyncio.TaskGroup() as group:
            shape = parse_shape(f"name={PREFIX.rstrip('-')},count={NODES},cpu=4,memory=8Gi,zones=a;b;c")
            await ensure_served(client)
            binder = Binder(client)
            tasks = [
                group.create_task(run_nodes(client, [shape], on_ready=nodes_ready.set)),
                group.create_task(run_controllers(client, on_ready=controllers_ready.set)),
                group.create_task(binder.nodes.run()),
                group.create_task(binder.pods.run()),
            ]
            await nodes_ready.wait()
            await controllers_ready.wait()
            ready()
            await stopping.wait()
            for task in tasks:
                task.cancel()


@pytest.fixture(scope="module")
def workshop(cluster: Access, kubectl: Kubectl) -> Iterator[HollowWorkshop]:
    if os.environ.get("MOORAGE_TEST_CLUSTER", "") not in ("", "embedded", "real"):
        pytest.skip("this cluster has nodes and controllers of its own")
    with HollowWorkshop(cluster.kubeconfig) as running:
        yield running
    kubectl("delete", "nodes", *(f"{PREFIX}{number}" for number in range(NODES)), "--ignore-not-found")


@pytest.fixture
def namespace(workshop: HollowWorkshop, kubectl: Kubectl) -> Iterator[str]:
    """A namespace for one test, which takes all that is in it along."""
    name = PREFIX + secrets.token_hex(4)
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--ignore-not-found", "--timeout=60s")


@pytest.fixture
def within(kubectl: Kubectl, namespace: str) -> Kubectl:
    """kubectl in the test's namespace."""
    return lambda *arguments, stdin="": kubectl("--namespace", namespace, *arguments, stdin=stdin)
