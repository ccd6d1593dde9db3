"""The stock kube-scheduler and kube-controller-manager, in their default configuration, on the embedded API server."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.control_plane.processes import Process, free_ports

Json = dict[str, Any]
Kubectl = Any

pytestmark = pytest.mark.stock

PATIENCE = 60.0
CONTROLLERS = (
    "deployment-controller,replicaset-controller,job-controller,garbage-collector-controller,disruption-controller"
)


def eventually(check: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.1)


@pytest.fixture
def kube_scheduler(kubeconfig: Path, program: Callable[[str], Path], tmp_path: Path) -> Iterator[Process]:
    """kube-scheduler without a configuration file: it writes protobuf and elects a leader."""
    command: list[str | Path] = [
        program("kube-scheduler"),
        f"--kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_ports(1)[0]}",
    ]
    with Process("kube-scheduler", command, tmp_path / "kube-scheduler.log") as process:
        yield process


@pytest.fixture
def controller_manager(kubeconfig: Path, program: Callable[[str], Path], tmp_path: Path) -> Iterator[Process]:
    command: list[str | Path] = [
        program("kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_ports(1)[0]}",
        "--leader-elect=false",
        f"--controllers={CONTROLLERS}",
    ]
    with Process("kube-controller-manager", command, tmp_path / "kube-controller-manager.log") as process:
        yield process


@pytest.fixture
def nodes(kubectl: Kubectl) -> Iterator[list[str]]:
    names = [f"node-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    for number, name in enumerate(names):
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"z{number}"}
        status = {
            "capacity": {"cpu": "2", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        metadata = {"name": name, "labels": labels}
        kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})
    yield names
    kubectl("delete", "node", *names)


def template(**more: Any) -> Json:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "500m"}}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container], **more}}


def placed(kubectl: Kubectl) -> dict[str, str]:
    """The node of each pod; empty while it has none."""
    return {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in kubectl.get("pods")["items"]}


@pytest.mark.usefixtures("kube_scheduler")
def test_kube_scheduler_schedules(kubectl: Kubectl, nodes: list[str]) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pods = [
        {"apiVersion": "v1", "kind": "Pod", **template(topologySpreadConstraints=[spread]), "metadata": metadata}
        for metadata in ({"name": f"p{n}", "labels": {"app": "web"}} for n in range(6))
    ]
    kubectl.apply(*pods)
    eventually(lambda: all(placed(kubectl).values()), "every pod has a node")
    found = placed(kubectl)
    assert sorted(list(found.values()).count(name) for name in nodes) == [2, 2, 2]
    assert "Successfully assigned" in kubectl("describe", "pod", "p0")
    assert kubectl.get("lease", "kube-scheduler", "-n", "kube-system")["spec"]["holderIdentity"]


@pytest.mark.usefixtures("kube_scheduler")
def test_kube_scheduler_says_why_not_and_preempts(kubectl: Kubectl, nodes: list[str]) -> None:
    low = template(terminationGracePeriodSeconds=0, nodeSelector={"kubernetes.io/hostname": nodes[0]})
    low["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    kubectl.apply({"apiVersion": "v1", "kind": "Pod", **low, "metadata": {"name": "low"}})
    eventually(lambda: placed(kubectl)["low"] == nodes[0], "the first pod fills the node")
    kubectl.apply({"apiVersion": "v1", "kind": "Pod", **low, "metadata": {"name": "waiting"}})
    eventually(lambda: "Insufficient cpu" in kubectl("describe", "pod", "waiting"), "the second pod hears why")
    name = f"high-{uuid.uuid4().hex[:8]}"
    kubectl("create", "priorityclass", name, "--value=1000")
    high = {**low, "spec": {**low["spec"], "priorityClassName": name}}
    kubectl.apply({"apiVersion": "v1", "kind": "Pod", **high, "metadata": {"name": "high"}})
    eventually(lambda: placed(kubectl).get("high") == nodes[0], "the important pod takes the node")
    assert "low" not in placed(kubectl)
    kubectl("delete", "priorityclass", name)


@pytest.mark.usefixtures("kube_scheduler", "controller_manager")
def test_controllers_run_workloads(kubectl: Kubectl, nodes: list[str]) -> None:
    kubectl("create", "deployment", "web", "--image=example/web:1", "--replicas=3")
    kubectl("create", "job", "once", "--image=example/job:1")
    eventually(lambda: len([n for n in placed(kubectl).values() if n]) == 4, "four pods are placed")
    for pod in kubectl.get("pods")["items"]:
        become(kubectl, pod, "Succeeded" if pod["metadata"]["name"].startswith("once") else "Running")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=30s")
    kubectl("delete", "deployment", "web", "--timeout=30s")
    eventually(lambda: kubectl("get", "replicasets", "-o", "name") == "", "the replica set goes with its deployment")


def become(kubectl: Kubectl, pod: Json, phase: str) -> None:
    """What a kubelet would report."""
    state: Json = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    if phase == "Succeeded":
        state = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    status = {
        "phase": phase,
        "conditions": [{"type": "Ready", "status": "True" if phase == "Running" else "False"}],
        "containerStatuses": [
            {
                "name": pod["spec"]["containers"][0]["name"],
                "image": "x",
                "imageID": "x",
                "ready": phase == "Running",
                "restartCount": 0,
                "state": state,
            }
        ],
    }
    name = pod["metadata"]["name"]
    kubectl("patch", "pod", name, "--subresource=status", "-p", json.dumps({"status": status}))
