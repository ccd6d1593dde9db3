"""kubectl, unmodified, as its users use it."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from moorage.config import DEFAULT_FEATURES

Json = dict[str, Any]
Kubectl = Any


def container(**more: Any) -> Json:
    return {"name": "main", "image": "example/app:1", **more}


def pod(name: str, **spec: Any) -> Json:
    metadata = {"name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container()], **spec}}


@pytest.fixture
def node(kubectl: Kubectl) -> Any:
    name = f"node-{uuid.uuid4().hex[:8]}"
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {
                "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.36.4"},
            },
        }
    )
    yield name
    kubectl("delete", "node", name)


def rows(text: str) -> list[list[str]]:
    """A table as lists of cells; cells are two spaces apart."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.strip().splitlines()]


def test_server_version(kubectl: Kubectl) -> None:
    assert json.loads(kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"] == DEFAULT_FEATURES.release


def test_api_resources_lists_groups_and_short_names(kubectl: Kubectl) -> None:
    lines = {line.split()[0]: line.split() for line in kubectl("api-resources").splitlines()}
    assert lines["pods"][1:] == ["po", "v1", "true", "Pod"]
    assert lines["deployments"][1:] == ["deploy", "apps/v1", "true", "Deployment"]
    assert lines["resourceclaims"][-3:] == ["resource.k8s.io/v1", "true", "ResourceClaim"]


def test_apply_twice_changes_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(pod("a")) == "pod/a created\n"
    version = kubectl.get("pod", "a")["metadata"]["resourceVersion"]
    assert kubectl.apply(pod("a")) == "pod/a unchanged\n"
    assert kubectl.get("pod", "a")["metadata"]["resourceVersion"] == version


def test_apply_updates_removes_and_keeps_what_others_set(kubectl: Kubectl) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}
    kubectl.apply(config)
    kubectl("patch", "configmap", "a", "-p", '{"data":{"other":"kept"}}')
    kubectl.apply({**config, "data": {"x": "3"}})
    assert kubectl.get("configmap", "a")["data"] == {"x": "3", "other": "kept"}


def test_apply_refuses_unknown_fields(kubectl: Kubectl) -> None:
    done = kubectl.run("apply", "-f", "-", stdin=json.dumps(pod("a", nosuch=1)))
    assert done.returncode == 1
    assert 'unknown field "spec.nosuch"' in done.stderr


def test_apply_checks_the_items_of_a_list_itself(kubectl: Kubectl) -> None:
    """For lists kubectl does the server's work, by the schemas that it asks for in protobuf."""
    resources = {"requests": {"cpu": 1, "memory": "1Gi"}}
    probe = {"httpGet": {"port": 80}}
    good = pod("a", containers=[container(resources=resources, livenessProbe=probe)])
    assert kubectl.apply(good, pod("b")) == "pod/a created\npod/b created\n"
    listed = {"apiVersion": "v1", "kind": "List", "items": [pod("c", nosuch=1)]}
    done = kubectl.run("apply", "-f", "-", stdin=json.dumps(listed))
    assert done.returncode == 1
    assert 'unknown field "nosuch" in io.k8s.api.core.v1.PodSpec' in done.stderr


def test_invalid_objects_are_refused_with_every_fault(kubectl: Kubectl) -> None:
    bad = pod("a", restartPolicy="Sometimes", tolerations=[{"key": "a", "operator": "Exists", "value": "x"}])
    done = kubectl.run("create", "-f", "-", stdin=json.dumps(bad))
    assert done.returncode == 1
    assert 'spec.restartPolicy: Unsupported value: "Sometimes"' in done.stderr
    assert "spec.tolerations[0].operator: Invalid value" in done.stderr


def test_server_side_apply(kubectl: Kubectl) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(config))
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({**config, "data": {"y": "2"}}))
    assert kubectl.get("configmap", "a")["data"] == {"y": "2"}
    done = kubectl.run(
        "apply", "--server-side", "--field-manager=other", "-f", "-", stdin=json.dumps({**config, "data": {"y": "3"}})
    )
    assert done.returncode == 1
    assert "conflict" in done.stderr


def test_get_shows_the_usual_columns(kubectl: Kubectl, node: str) -> None:
    kubectl.apply(pod("a"))
    table = rows(kubectl("get", "pods", "-o", "wide"))
    assert table[0] == [
        "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES",
    ]  # fmt: skip
    assert table[1][:4] == ["a", "0/1", "Pending", "0"]
    assert rows(kubectl("get", "node", node))[1][:3] == [node, "Ready", "<none>"]


def test_get_as_yaml_jsonpath_and_names(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"), pod("b"))
    assert "schedulerName: default-scheduler" in kubectl("get", "pod", "a", "-o", "yaml")
    assert kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}") == "a b"
    assert kubectl("get", "pods", "-o", "name") == "pod/a\npod/b\n"
    assert kubectl("get", "pods", "-l", "app=b", "-o", "name") == "pod/b\n"
    assert kubectl("get", "pods", "--field-selector", "metadata.name!=b", "-o", "name") == "pod/a\n"


def test_get_in_pages(kubectl: Kubectl) -> None:
    kubectl.apply(*(pod(f"p{number}") for number in range(7)))
    names = kubectl("get", "pods", "--chunk-size=2", "-o", "name").split()
    assert names == [f"pod/p{number}" for number in range(7)]


def test_get_watch_follows_changes(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    with kubectl.start("get", "pods", "--watch", "--output-watch-events") as watching:
        try:
            output = watching.stdout
            assert output.readline().split()[:2] == ["EVENT", "NAME"]
            assert output.readline().split()[:2] == ["ADDED", "a"]
            kubectl("label", "pod", "a", "touched=yes")
            assert output.readline().split()[:2] == ["MODIFIED", "a"]
            kubectl("delete", "pod", "a")
            assert output.readline().split()[:2] == ["DELETED", "a"]
        finally:
            watching.terminate()


def test_describe_shows_events(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    about = kubectl.get("pod", "a")["metadata"]
    kubectl.apply(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "a.1"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "test",
            "reportingInstance": "test-1",
            "action": "Testing",
            "reason": "Tested",
            "type": "Normal",
            "note": "as good as new",
            "regarding": {"kind": "Pod", "name": "a", "namespace": about["namespace"], "uid": about["uid"]},
        }
    )
    described = kubectl("describe", "pod", "a")
    assert "QoS Class:" in described
    assert "as good as new" in described
    assert "Tested" in kubectl("get", "events")


def test_label_annotate_and_patch(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    kubectl("label", "pod", "a", "tier=web")
    kubectl("annotate", "pod", "a", "note=hello")
    kubectl("patch", "pod", "a", "--type=json", "-p", '[{"op": "remove", "path": "/metadata/labels/app"}]')
    kubectl("patch", "pod", "a", "-p", '{"spec":{"containers":[{"name":"main","image":"example/app:2"}]}}')
    found = kubectl.get("pod", "a")
    assert found["metadata"]["labels"] == {"tier": "web"}
    assert found["metadata"]["annotations"]["note"] == "hello"
    assert found["spec"]["containers"][0]["image"] == "example/app:2"


def test_edit_by_replace_detects_conflicts(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "a", "--from-literal=x=1")
    old = kubectl.get("configmap", "a")
    kubectl("replace", "-f", "-", stdin=json.dumps({**old, "data": {"x": "2"}}))
    done = kubectl.run("replace", "-f", "-", stdin=json.dumps({**old, "data": {"x": "3"}}))
    assert done.returncode == 1
    assert "the object has been modified" in done.stderr


def test_cordon_and_taint(kubectl: Kubectl, node: str) -> None:
    kubectl("cordon", node)
    assert rows(kubectl("get", "node", node))[1][1] == "Ready,SchedulingDisabled"
    kubectl("uncordon", node)
    kubectl("taint", "node", node, "dedicated=db:NoSchedule")
    assert kubectl.get("node", node)["spec"]["taints"] == [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
    kubectl("taint", "node", node, "dedicated-")
    assert "taints" not in kubectl.get("node", node)["spec"]


def test_drain_evicts_pods(kubectl: Kubectl, node: str) -> None:
    kubectl.apply(pod("a", nodeName=node, terminationGracePeriodSeconds=0))
    kubectl("drain", node, "--force", "--ignore-daemonsets", "--timeout=20s")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_create_scale_and_expose_a_deployment(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=example/web:1", "--replicas=2")
    kubectl("scale", "deployment", "web", "--replicas=5")
    kubectl("expose", "deployment", "web", "--port=80")
    assert rows(kubectl("get", "deployment", "web"))[1][:4] == ["web", "0/5", "0", "0"]
    assert kubectl.get("service", "web")["spec"]["clusterIP"].startswith("10.")
    assert kubectl.get("deployment", "web")["metadata"]["generation"] == 2
    done = kubectl.run("scale", "deployment", "web", "--replicas=1", "--current-replicas=4")
    assert done.returncode == 1


def test_rollout_commands(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=example/web:1")
    kubectl("set", "image", "deployment/web", "web=example/web:2")
    kubectl("rollout", "restart", "deployment/web")
    done = kubectl.run("rollout", "status", "deployment/web", "--timeout=1s")
    assert "Waiting for deployment" in done.stdout
    status = {"observedGeneration": 99, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
    kubectl("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=10s")


def test_wait_for_conditions_and_deletion(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    with kubectl.start("wait", "--for=condition=Ready", "pod/a", "--timeout=30s") as waiting:
        kubectl("patch", "pod", "a", "--subresource=status", "-p", json.dumps(status))
        assert waiting.wait(30) == 0
    kubectl("delete", "pod", "a", "--wait=false")
    kubectl("wait", "--for=delete", "pod/a", "--timeout=10s")


def test_delete_by_label(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"), pod("b"))
    kubectl("delete", "pods", "-l", "app=a")
    assert kubectl("get", "pods", "-o", "name") == "pod/b\n"


def test_deleting_a_namespace_takes_its_content(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-x"
    kubectl("create", "namespace", name)
    kubectl("create", "configmap", "a", "-n", name)
    kubectl("delete", "namespace", name, "--timeout=20s")
    assert kubectl.run("get", "configmap", "a", "-n", name).returncode == 1


def test_dry_runs_store_nothing(kubectl: Kubectl) -> None:
    done = kubectl("create", "-f", "-", "--dry-run=server", "-o", "json", stdin=json.dumps(pod("a")))
    assert json.loads(done)["spec"]["schedulerName"] == "default-scheduler"
    assert kubectl.run("get", "pod", "a").returncode == 1


def test_auth_commands(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods").strip() == "yes"
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot").strip()
    who = kubectl("--kubeconfig=/dev/null", *_connection(kubectl), f"--token={token}", "auth", "whoami")
    assert f"system:serviceaccount:{kubectl.namespace}:robot" in who


def _connection(kubectl: Kubectl) -> list[str]:
    view = json.loads(kubectl("config", "view", "--raw", "-o", "json"))
    return [f"--server={view['clusters'][0]['cluster']['server']}", "--insecure-skip-tls-verify"]


def test_explain(kubectl: Kubectl) -> None:
    text = kubectl("explain", "pod.spec.tolerations")
    assert "tolerationSeconds\t<integer>" in text


@pytest.fixture
def boats(kubectl: Kubectl) -> Any:
    group = f"{kubectl.namespace}.example.com"
    spec = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "masts": {"type": "integer", "minimum": 1, "default": 2},
        },
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.masts", "statusReplicasPath": ".status.masts"},
        },
        "additionalPrinterColumns": [{"name": "Masts", "type": "integer", "jsonPath": ".spec.masts"}],
    }
    names = {"plural": "boats", "kind": "Boat", "shortNames": [f"bt{kubectl.namespace[-8:]}"]}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boats.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    kubectl.apply(definition)
    kubectl("wait", "--for=condition=Established", f"crd/boats.{group}", "--timeout=10s")

    def boat(**spec: Any) -> Json:
        return {"apiVersion": f"{group}/v1", "kind": "Boat", "metadata": {"name": "anna"}, "spec": spec}

    yield boat
    kubectl("delete", "crd", f"boats.{group}", "--timeout=20s")


def test_custom_kinds(kubectl: Kubectl, boats: Callable[..., Json]) -> None:
    resource = f"boats.{kubectl.namespace}.example.com"
    kubectl.apply(boats(name="anna"))
    assert rows(kubectl("get", resource)) == [["NAME", "MASTS"], ["anna", "2"]]
    kubectl("scale", resource, "anna", "--replicas=3")
    assert kubectl.get(resource, "anna")["spec"]["masts"] == 3
    done = kubectl.run("apply", "-f", "-", stdin=json.dumps(boats(name="x", masts=0)))
    assert done.returncode == 1
    assert "spec.masts in body should be greater than or equal to 1" in done.stderr
    assert "spec.name in body should be at least 2 chars long" in done.stderr
    assert "masts\t<integer>" in kubectl("explain", f"{resource}.spec")
