"""The real kube-scheduler in the real control plane: what the side-by-side tests and benchmarks stand on."""

import json
from typing import Any

from tools.control_plane.running import ControlPlane

NAME = "beside-us"
WAIT_SECONDS = 30


def node() -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NAME},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod() -> dict[str, Any]:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME},
        "spec": {"containers": [container], "schedulerName": "beside-us"},
    }


def test_kube_scheduler_binds_a_pod(control_plane: ControlPlane) -> None:
    kubectl = control_plane.kubectl
    for manifest in (node(), pod()):
        kubectl("create", "-f", "-", stdin=json.dumps(manifest))
    try:
        with control_plane.start_kube_scheduler({"profiles": [{"schedulerName": "beside-us"}]}):
            bound = f"jsonpath={{.spec.nodeName}}={NAME}"
            kubectl("wait", f"pod/{NAME}", f"--for={bound}", f"--timeout={WAIT_SECONDS}s")
    finally:
        kubectl("delete", f"pod/{NAME}", f"node/{NAME}", "--force", "--grace-period=0")


def test_kube_controller_manager_makes_the_pods_of_a_replica_set(control_plane: ControlPlane) -> None:
    template = {"metadata": {"labels": {"app": NAME}}, "spec": pod()["spec"]}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": NAME},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": NAME}}, "template": template},
    }
    kubectl = control_plane.kubectl
    kubectl("create", "-f", "-", stdin=json.dumps(replica_set))
    with control_plane.start_kube_controller_manager():
        kubectl("wait", f"rs/{NAME}", "--for=jsonpath={.status.replicas}=2", f"--timeout={WAIT_SECONDS}s")
        kubectl("delete", f"rs/{NAME}", "--cascade=foreground")
    assert json.loads(kubectl("get", "pods", "-l", f"app={NAME}", "-o", "json"))["items"] == []
