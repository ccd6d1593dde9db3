"""kubectl's workload commands against our controllers: they behave as on any cluster."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Callable[..., str]

PATIENCE = 30
WAIT = f"--timeout={PATIENCE}s"


def items(kubectl: Kubectl, *what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kubectl("get", *what, "-o", "json"))["items"]
    return found


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail if it does not."""
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, "it did not come true"
        time.sleep(0.1)


@pytest.fixture
def web(within: Kubectl) -> str:
    within("create", "deployment", "web", "--image=example/web:1", "--replicas=4")
    within("rollout", "status", "deployment/web", WAIT)
    return "deployment/web"


def test_a_deployment_is_rolled_out(within: Kubectl, web: str) -> None:
    (deployment,) = items(within, "deployments")
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    assert [deployment["status"][count] for count in counts] == [4, 4, 4, 4]
    conditions = {each["type"]: each["reason"] for each in deployment["status"]["conditions"]}
    assert conditions == {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
    (replica_set,) = items(within, "replicasets")
    name = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{name}"
    assert all(pod["metadata"]["labels"]["pod-template-hash"] == name for pod in items(within, "pods"))


def test_a_deployment_is_scaled(within: Kubectl, web: str) -> None:
    for size in (7, 2, 0, 1):
        within("scale", web, f"--replicas={size}")
        within("rollout", "status", web, WAIT)
        eventually(lambda size=size: len(items(within, "pods")) == size)  # type: ignore[misc]


def test_a_new_template_replaces_the_pods_and_can_be_undone(within: Kubectl, web: str) -> None:
    within("set", "image", web, "web=example/web:2")
    within("rollout", "status", web, WAIT)
    eventually(lambda: {image(pod) for pod in items(within, "pods")} == {"example/web:2"})
    assert [line.split()[0] for line in within("rollout", "history", web).splitlines()[2:] if line] == ["1", "2"]
    within("rollout", "undo", web)
    within("rollout", "status", web, WAIT)
    eventually(lambda: {image(pod) for pod in items(within, "pods")} == {"example/web:1"})
    assert len(items(within, "replicasets")) == 2


def image(pod: dict[str, Any]) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def test_a_paused_deployment_stays_as_it_is(within: Kubectl, web: str) -> None:
    within("rollout", "pause", web)
    within("set", "image", web, "web=example/web:2")
    within("scale", web, "--replicas=6")
    within("wait", web, "--for=jsonpath={.status.availableReplicas}=6", WAIT)
    assert {image(pod) for pod in items(within, "pods")} == {"example/web:1"}
    within("rollout", "resume", web)
    within("rollout", "status", web, WAIT)
    eventually(lambda: {image(pod) for pod in items(within, "pods")} == {"example/web:2"})


def test_a_deployment_that_recreates_has_no_two_templates_at_once(within: Kubectl, web: str) -> None:
    within("patch", web, "-p", '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}')
    within("set", "image", web, "web=example/web:2")
    within("rollout", "status", web, WAIT)
    assert {image(pod) for pod in items(within, "pods")} == {"example/web:2"}


def test_a_deleted_deployment_takes_everything_along(within: Kubectl, web: str) -> None:
    within("delete", web)
    eventually(lambda: not items(within, "replicasets,pods"))


def test_in_the_foreground_it_goes_last(within: Kubectl, web: str) -> None:
    within("delete", web, "--cascade=foreground", WAIT)
    assert items(within, "deployments,replicasets,pods") == []


def test_orphans_are_left_and_taken_up_again(within: Kubectl, web: str) -> None:
    pods = {pod["metadata"]["uid"] for pod in items(within, "pods")}
    within("delete", web, "--cascade=orphan")
    (replica_set,) = items(within, "replicasets")
    assert "ownerReferences" not in replica_set["metadata"]
    within("create", "deployment", "web", "--image=example/web:1", "--replicas=4")
    within("rollout", "status", web, WAIT)
    assert {pod["metadata"]["uid"] for pod in items(within, "pods")} == pods


def test_a_pod_that_is_lost_is_replaced(within: Kubectl, web: str) -> None:
    lost = items(within, "pods")[0]["metadata"]
    within("delete", "pod", lost["name"])
    within("wait", web, "--for=jsonpath={.status.readyReplicas}=4", WAIT)
    eventually(lambda: len(items(within, "pods")) == 4)
    assert lost["uid"] not in {pod["metadata"]["uid"] for pod in items(within, "pods")}


def test_a_pod_relabelled_is_let_go_and_replaced(within: Kubectl, web: str) -> None:
    name = items(within, "pods")[0]["metadata"]["name"]
    within("label", "pod", name, "app=mine", "--overwrite")
    eventually(lambda: len(items(within, "pods", "-l", "app=web")) == 4)
    eventually(lambda: "ownerReferences" not in items(within, "pods", "-l", "app=mine")[0]["metadata"])


def job(name: str, annotations: dict[str, str], **spec: Any) -> str:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example/task"}]}
    template = {"metadata": {"annotations": annotations}, "spec": pod}
    return json.dumps(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {**spec, "template": template}}
    )


def test_a_job_runs_to_its_end(within: Kubectl) -> None:
    annotations = {"moorage.dev/run-seconds": "0.1"}
    within("create", "-f", "-", stdin=job("work", annotations, completions=5, parallelism=2))
    within("wait", "job/work", "--for=condition=complete", WAIT)
    (done,) = items(within, "jobs")
    assert (done["status"]["succeeded"], done["status"].get("active", 0)) == (5, 0)
    pods = items(within, "pods")
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded"] * 5
    assert all("finalizers" not in pod["metadata"] for pod in pods)


def test_an_indexed_job_runs_a_pod_for_each_index(within: Kubectl) -> None:
    annotations = {"moorage.dev/run-seconds": "0.1"}
    spec = {"completions": 5, "parallelism": 2, "completionMode": "Indexed"}
    within("create", "-f", "-", stdin=job("work", annotations, **spec))
    within("wait", "job/work", "--for=condition=complete", WAIT)
    (done,) = items(within, "jobs")
    assert (done["status"]["succeeded"], done["status"]["completedIndexes"]) == (5, "0-4")
    index = "batch.kubernetes.io/job-completion-index"
    assert sorted(pod["metadata"]["labels"][index] for pod in items(within, "pods")) == list("01234")


def test_a_job_that_fails_says_so(within: Kubectl) -> None:
    annotations = {"moorage.dev/run-seconds": "0.1", "moorage.dev/exit-code": "7"}
    within("create", "-f", "-", stdin=job("work", annotations, backoffLimit=0))
    within("wait", "job/work", "--for=condition=failed", WAIT)
    (done,) = items(within, "jobs")
    reasons = {each["type"]: each["reason"] for each in done["status"]["conditions"]}
    assert reasons == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
    assert done["status"]["failed"] == 1


def test_a_job_past_its_deadline_is_ended(within: Kubectl) -> None:
    annotations = {"moorage.dev/run-seconds": "1000"}
    within("create", "-f", "-", stdin=job("work", annotations, activeDeadlineSeconds=1))
    within("wait", "job/work", "--for=condition=failed", WAIT)
    eventually(lambda: not items(within, "pods"))


def test_a_suspended_job_rests_until_it_is_resumed(within: Kubectl) -> None:
    within("create", "-f", "-", stdin=job("work", {"moorage.dev/run-seconds": "0.1"}, suspend=True))
    within("wait", "job/work", "--for=condition=suspended", WAIT)
    assert items(within, "pods") == []
    within("patch", "job/work", "-p", '{"spec":{"suspend":false}}')
    within("wait", "job/work", "--for=condition=complete", WAIT)


def test_a_job_that_has_ended_goes_in_its_time(within: Kubectl) -> None:
    within("create", "-f", "-", stdin=job("work", {"moorage.dev/run-seconds": "0"}, ttlSecondsAfterFinished=0))
    eventually(lambda: not items(within, "jobs,pods"))


def test_a_budget_counts_and_evictions_keep_to_it(within: Kubectl, web: str) -> None:
    within("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=3")
    within("wait", "pdb/web", "--for=jsonpath={.status.disruptionsAllowed}=1", WAIT)
    (budget,) = items(within, "pdb")
    counts = ("expectedPods", "currentHealthy", "desiredHealthy")
    assert [budget["status"][count] for count in counts] == [4, 4, 3]
    within("scale", web, "--replicas=3")
    within("wait", "pdb/web", "--for=jsonpath={.status.disruptionsAllowed}=0", WAIT)


def test_a_namespace_goes_with_all_that_is_in_it(within: Kubectl, web: str, kubectl: Kubectl, namespace: str) -> None:
    within("create", "configmap", "settings")
    kubectl("delete", "namespace", namespace, WAIT)
    assert kubectl("get", "namespace", namespace, "--ignore-not-found") == ""


def test_what_a_custom_resource_owns_goes_with_it(within: Kubectl, kubectl: Kubectl, namespace: str) -> None:
    group = f"{namespace}.example.com"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boats.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(definition))
    try:
        kubectl("wait", f"crd/boats.{group}", "--for=condition=established", WAIT)
        boat = {"apiVersion": f"{group}/v1", "kind": "Boat", "metadata": {"name": "owner"}}
        within("create", "-f", "-", stdin=json.dumps(boat))
        uid = within("get", f"boats.{group}", "owner", "-o", "jsonpath={.metadata.uid}")
        owner = {"apiVersion": f"{group}/v1", "kind": "Boat", "name": "owner", "uid": uid}
        owned = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cargo", "ownerReferences": [owner]}}
        within("create", "-f", "-", stdin=json.dumps(owned))
        time.sleep(3)
        assert within("get", "configmap", "cargo", "-o", "name") == "configmap/cargo\n"
        within("delete", f"boats.{group}", "owner")
        within("wait", "--for=delete", "configmap/cargo", WAIT)
    finally:
        kubectl("delete", f"crd/boats.{group}", WAIT)
