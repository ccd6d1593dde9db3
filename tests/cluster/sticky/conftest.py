"""Hollow nodes, our controllers and a scheduler with StickyJob beside the API server under test, for one test each."""

import asyncio
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.workshops import Workshop
from tools.control_plane.running import Access

from moorage.config import parse_config
from moorage.controllers.definitions import ensure_served
from moorage.controllers.running import run_controllers
from moorage.engine.engine import default_registry
from moorage.kube.access import load_access
from moorage.kube.transport import Client
from moorage.live.process import SteadyClock
from moorage.live.scheduler import LiveScheduler
from moorage.nodes.running import run_nodes
from moorage.nodes.shapes import parse_shape

PATIENCE = 60

Kubectl = Callable[..., str]
Tree = dict[str, Any]


class StickyWorkshop(Workshop):
    """Nodes, controllers and the scheduler."""

    def __init__(self, kubeconfig: Path, name: str, nodes: int) -> None:
        super().__init__()
        self._kubeconfig, self._name, self._nodes = kubeconfig, name, nodes

    async def work(self, ready: Callable[[], None], stopping: asyncio.Event) -> None:
        nodes_ready, controllers_ready = asyncio.Event(), asyncio.Event()
        registry = default_registry()
        config = parse_config(configuration(self._name), known=registry.known)
        access = load_access(self._kubeconfig)
        async with Client(access) as client, Client(access) as own, asyncio.TaskGroup() as group:
            await ensure_served(client)
            shape = parse_shape(f"name={self._name},count={self._nodes},cpu=4,memory=8Gi,labels=world:{self._name}")
            scheduler = LiveScheduler(client=own, config=config, registry=registry, now=SteadyClock(), seed=1)
            tasks = [
                group.create_task(run_nodes(client, [shape], on_ready=nodes_ready.set)),
                group.create_task(run_controllers(client, on_ready=controllers_ready.set)),
                group.create_task(scheduler.follow()),
                group.create_task(scheduler.lead(stopping)),
            ]
            for event in (nodes_ready, controllers_ready, scheduler.synced):
                await event.wait()
            ready()
            await stopping.wait()
            for task in tasks:
                task.cancel()


def configuration(name: str) -> Tree:
    """A scheduler of the test's own name, with StickyJob on top of the defaults."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 5000, "burst": 5000},
        "profiles": [{"schedulerName": name, "plugins": {"multiPoint": {"enabled": [{"name": "StickyJob"}]}}}],
    }


class Town:
    """A namespace with nodes of its own, as a user sees it with kubectl."""

    def __init__(self, kubectl: Kubectl, name: str) -> None:
        self._kubectl = kubectl
        self.name = name

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """kubectl in the namespace."""
        return self._kubectl("--namespace", self.name, *arguments, stdin=stdin)

    def get(self, what: str, name: str) -> Tree:
        """An object; empty where there is none."""
        found = self.kubectl("get", what, name, "--ignore-not-found", "-o", "json")
        tree: Tree = json.loads(found) if found else {}
        return tree

    def apply(self, kind: str, name: str, spec: Tree, *, api: str = "v1") -> None:
        """Apply a manifest."""
        manifest = {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))

    def job(self, name: str = "db", *, cpu: str = "2", **spec: Any) -> None:
        """Apply a StickyJob."""
        self.apply("StickyJob", name, {"template": {"spec": self.pod_spec(cpu)}, **spec}, api="example.com/v1")

    def pod(self, name: str, *, node: str = "", cpu: str = "3", **spec: Any) -> None:
        """Apply a pod of somebody else; of a node, it is bound there by hand."""
        placed = {"nodeName": node} if node else {}
        self.apply("Pod", name, {**self.pod_spec(cpu), **placed, **spec})

    def pod_spec(self, cpu: str) -> Tree:
        """A pod that only this town's nodes can take."""
        return {
            "schedulerName": self.name,
            "nodeSelector": {"world": self.name},
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": cpu}}}],
        }

    @property
    def nodes(self) -> list[str]:
        """The town's nodes, by name."""
        found = json.loads(self.kubectl("get", "nodes", "-l", f"world={self.name}", "-o", "json"))["items"]
        return sorted(node["metadata"]["name"] for node in found)

    def home(self, name: str = "db") -> str:
        """Wait until the job runs and says so; the node."""

        def look() -> str:
            pod, status = self.get("pod", name), self.get("stickyjob", name).get("status", {})
            node = pod.get("spec", {}).get("nodeName", "")
            runs = pod.get("status", {}).get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
            return str(node) if runs and status.get("phase") == "Running" and status.get("lastNode") == node else ""

        return str(self.eventually(look))

    def delete_pod(self, name: str = "db") -> None:
        """Delete a pod and wait until it is gone: its successor has another uid."""
        uid = self.get("pod", name)["metadata"]["uid"]
        self.kubectl("delete", "pod", name, "--wait=false")
        self.eventually(lambda: self.get("pod", name).get("metadata", {}).get("uid") != uid)

    def waits(self, reason: str, name: str = "db") -> None:
        """Wait until the pod says that it waits for this."""

        def look() -> bool:
            conditions = self.get("pod", name).get("status", {}).get("conditions", ())
            return any(one["type"] == "PodScheduled" and reason in one.get("message", "") for one in conditions)

        self.eventually(look)

    def eventually(self, look: Callable[[], Any]) -> Any:
        """What `look` answers, once that is true."""
        ends = time.monotonic() + PATIENCE
        while not (seen := look()):
            assert time.monotonic() < ends, (
                f"it did not come true:\n{self.kubectl('get', 'pods,stickyjobs', '-o', 'yaml')}"
            )
            time.sleep(0.1)
        return seen


@pytest.fixture
def town(cluster: Access, kubectl: Kubectl) -> Iterator[Town]:
    if os.environ.get("MOORAGE_TEST_CLUSTER", "") not in ("", "embedded", "real"):
        pytest.skip("this cluster has nodes and controllers of its own")
    made = Town(kubectl, f"sticky-{secrets.token_hex(3)}")
    kubectl("create", "namespace", made.name)
    with StickyWorkshop(cluster.kubeconfig, made.name, 3):
        yield made
        kubectl("delete", "namespace", made.name, "--timeout=60s")
    kubectl("delete", "nodes", "-l", f"world={made.name}")
