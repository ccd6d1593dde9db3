"""Hollow nodes, as kubectl sees them."""

import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Callable[..., str]

WAIT = "--timeout=30s"


def pod(name: str, *, cpu: str = "100m", node: str = "", annotations: dict[str, str] | None = None, **spec: Any) -> str:
    container = {"name": "main", "image": "example/app", "resources": {"requests": {"cpu": cpu}}}
    placed = {"nodeName": node} if node else {}
    metadata = {"name": name, "annotations": annotations or {}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return json.dumps({**body, "spec": {"containers": [container], **placed, **spec}})


def status(kubectl: Kubectl, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kubectl("get", "pod", name, "-o", "json"))["status"]
    return found


def test_nodes_are_ready_and_keep_their_lease(kubectl: Kubectl, namespace: str) -> None:
    kubectl("wait", "nodes/hollow-0", "nodes/hollow-2", "--for=condition=ready", WAIT)
    kubectl("wait", "--namespace=kube-node-lease", "--for=create", "lease/hollow-0", WAIT)
    node = json.loads(kubectl("get", "node", "hollow-0", "-o", "json"))
    assert node["status"]["allocatable"]["cpu"] == "4"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "a"


def test_a_pod_runs(within: Kubectl) -> None:
    within("create", "-f", "-", stdin=pod("app"))
    within("wait", "pod/app", "--for=condition=ready", WAIT)
    found = status(within, "app")
    assert (found["phase"], found["podIP"].split(".")[0]) == ("Running", "10")
    assert "running" in found["containerStatuses"][0]["state"]


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
def test_a_pod_ends_as_told(within: Kubectl, code: str, phase: str) -> None:
    told = {"moorage.dev/run-seconds": "0.2", "moorage.dev/exit-code": code}
    within("create", "-f", "-", stdin=pod("task", annotations=told, restartPolicy="Never"))
    within("wait", "pod/task", f"--for=jsonpath={{.status.phase}}={phase}", WAIT)
    ended = status(within, "task")["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == int(code)


def test_a_pod_that_crashes_is_started_again(within: Kubectl) -> None:
    told = {"moorage.dev/run-seconds": "0.2", "moorage.dev/exit-code": "1"}
    within("create", "-f", "-", stdin=pod("crash", annotations=told))
    within("wait", "pod/crash", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", WAIT)
    crashing = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff"
    within("wait", "pod/crash", crashing, WAIT)


def test_a_running_pod_can_be_told_to_end(within: Kubectl) -> None:
    within("create", "-f", "-", stdin=pod("app", restartPolicy="Never"))
    within("wait", "pod/app", "--for=condition=ready", WAIT)
    within("annotate", "pod", "app", "moorage.dev/exit-code=0")
    within("wait", "pod/app", "--for=jsonpath={.status.phase}=Succeeded", WAIT)


def test_overcommitment_shows(within: Kubectl) -> None:
    within("create", "-f", "-", stdin=pod("first", cpu="3", node="hollow-2"))
    within("wait", "pod/first", "--for=condition=ready", WAIT)
    within("create", "-f", "-", stdin=pod("second", cpu="3", node="hollow-2"))
    within("wait", "pod/second", "--for=jsonpath={.status.phase}=Failed", WAIT)
    refused = status(within, "second")
    assert refused["reason"] == "OutOfcpu"
    assert "Node didn't have enough resource: cpu, requested: 3000" in refused["message"]


def test_a_deleted_pod_goes_after_its_grace(within: Kubectl) -> None:
    told = {"moorage.dev/termination-seconds": "2"}
    within("create", "-f", "-", stdin=pod("slow", annotations=told))
    within("wait", "pod/slow", "--for=condition=ready", WAIT)
    within("delete", "pod", "slow", "--wait=false")
    assert json.loads(within("get", "pod", "slow", "-o", "json"))["metadata"]["deletionTimestamp"]
    within("wait", "--for=delete", "pod/slow", WAIT)


def test_a_drained_node_is_empty(within: Kubectl, kubectl: Kubectl) -> None:
    within("create", "deployment", "web", "--image=example/web", "--replicas=6")
    within("rollout", "status", "deployment/web", WAIT)
    try:
        kubectl("drain", "hollow-1", WAIT, "--force")
        left = kubectl("get", "pods", "--all-namespaces", "--field-selector=spec.nodeName=hollow-1", "-o", "name")
        assert left == ""
        within("rollout", "status", "deployment/web", WAIT)
    finally:
        kubectl("uncordon", "hollow-1")


def test_a_node_that_anybody_makes_is_served_and_can_be_removed(within: Kubectl, kubectl: Kubectl) -> None:
    name = f"guest-{secrets.token_hex(3)}"
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"moorage.dev/node": "hollow"}},
        "status": {"capacity": {"cpu": "1", "memory": "1Gi", "pods": "5"}},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(node))
    try:
        kubectl("wait", f"node/{name}", "--for=condition=ready", WAIT)
        within("create", "-f", "-", stdin=pod("app", node=name))
        within("wait", "pod/app", "--for=condition=ready", WAIT)
    finally:
        kubectl("delete", "node", name)
    within("wait", "--for=delete", "pod/app", WAIT)
    kubectl("wait", "--namespace=kube-node-lease", "--for=delete", f"lease/{name}", WAIT)
