"""StickyJobs with kubectl: one pod at a time, where it ran, and how it ends. Nobody here brings pods back."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cluster.hollow.test_controllers import WAIT, eventually, items

Kubectl = Callable[..., str]

CONTAINER = {"name": "main", "image": "example/db:1"}


def job(name: str = "db", *, annotations: dict[str, str] | None = None, restart: str = "", **spec: Any) -> str:
    pod: dict[str, Any] = {"containers": [CONTAINER], "terminationGracePeriodSeconds": 0}
    if restart:
        pod["restartPolicy"] = restart
    template = {"metadata": {"labels": {"app": name}, "annotations": annotations or {}}, "spec": pod}
    return json.dumps(
        {
            "apiVersion": "example.com/v1",
            "kind": "StickyJob",
            "metadata": {"name": name},
            "spec": {"template": template, **spec},
        }
    )


def the_pod(kubectl: Kubectl) -> dict[str, Any]:
    (pod,) = items(kubectl, "pods")
    return pod


def status(kubectl: Kubectl, name: str = "db") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kubectl("get", "stickyjob", name, "-o", "json")).get("status", {})
    return found


@pytest.fixture
def db(within: Kubectl) -> str:
    within("apply", "-f", "-", stdin=job())
    within("wait", "stickyjob/db", "--for=condition=Running", WAIT)
    return "stickyjob/db"


def test_it_runs_and_says_where(within: Kubectl, db: str) -> None:
    pod = the_pod(within)
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "StickyJob"
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert pod["spec"]["restartPolicy"] == "Always"
    told = status(within)
    assert told["lastNode"] == pod["spec"]["nodeName"]
    node = json.loads(within("get", "node", told["lastNode"], "-o", "json"))
    assert told["lastNodeUID"] == node["metadata"]["uid"]
    assert (told["phase"], told["podName"]) == ("Running", "db")
    assert within("get", db, "--no-headers").split()[:5] == ["db", "Running", "db", told["lastNode"], "Preferred"]


@pytest.mark.parametrize("grace", ["--grace-period=30", "--grace-period=0"])
def test_a_deleted_pod_comes_again_and_the_latest_node_counts(within: Kubectl, db: str, grace: str) -> None:
    before = the_pod(within)
    within("delete", "pod", "db", grace, *(["--force"] if grace.endswith("=0") else []))
    eventually(lambda: is_another(within, before))
    within("wait", db, "--for=condition=Running", WAIT)
    after = the_pod(within)
    eventually(lambda: status(within)["lastNode"] == after["spec"]["nodeName"])
    assert after["metadata"]["annotations"]["example.com/last-node"] == before["spec"]["nodeName"]


def is_another(kubectl: Kubectl, before: dict[str, Any]) -> bool:
    return any(pod["metadata"]["uid"] != before["metadata"]["uid"] for pod in items(kubectl, "pods"))


def test_a_deleted_job_takes_its_pod_along(within: Kubectl, db: str) -> None:
    within("delete", db)
    eventually(lambda: not items(within, "pods"))


def test_in_the_foreground_it_goes_last(within: Kubectl, db: str) -> None:
    within("delete", db, "--cascade=foreground", WAIT)
    assert not items(within, "pods")


def test_an_orphan_is_left_alone(within: Kubectl, db: str) -> None:
    before = the_pod(within)
    within("delete", db, "--cascade=orphan")
    eventually(lambda: "finalizers" not in the_pod(within)["metadata"])
    within("apply", "-f", "-", stdin=job())
    eventually(lambda: status(within).get("phase") == "Invalid")
    (told,) = status(within)["conditions"]
    assert told["reason"] == "PodNameTaken"
    assert not is_another(within, before)
    within("delete", "pod", "db", "--grace-period=0", "--force")
    within("wait", db, "--for=condition=Running", WAIT)
    assert is_another(within, before)


def test_it_ends_when_it_has_succeeded_often_enough(within: Kubectl) -> None:
    runs = {"moorage.dev/exit-code": "0"}
    within("apply", "-f", "-", stdin=job(annotations=runs, restart="Never", completions=3))
    within("wait", "stickyjob/db", "--for=jsonpath={.status.phase}=Complete", WAIT)
    assert status(within)["succeeded"] == 3
    pod = the_pod(within)
    assert pod["status"]["phase"] == "Succeeded"
    assert "finalizers" not in pod["metadata"]
    within("delete", "pod", "db")
    within("annotate", "stickyjob/db", "look=again")
    eventually(lambda: not items(within, "pods"))


def test_a_run_that_fails_is_followed_by_another_after_a_while(within: Kubectl) -> None:
    runs = {"moorage.dev/exit-code": "3"}
    within("apply", "-f", "-", stdin=job(annotations=runs, restart="Never"))
    within("wait", "stickyjob/db", "--for=jsonpath={.status.phase}=BackOff", WAIT)
    failed, told = the_pod(within), status(within)
    assert told["failures"] == 1
    assert told["retryTime"]
    assert told["lastNode"] == failed["spec"]["nodeName"]
    eventually(lambda: is_another(within, failed))


def test_an_evicted_pod_comes_again(within: Kubectl, db: str) -> None:
    before = the_pod(within)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "db"}}
    namespace = before["metadata"]["namespace"]
    path = f"/api/v1/namespaces/{namespace}/pods/db/eviction"
    within("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    eventually(lambda: is_another(within, before))
    assert "retryTime" not in status(within)


def test_a_template_nobody_takes_is_told(within: Kubectl) -> None:
    broken = json.loads(job())
    broken["spec"]["template"]["spec"]["containers"][0]["image"] = ""
    within("apply", "-f", "-", stdin=json.dumps(broken))
    eventually(lambda: [each["reason"] for each in status(within).get("conditions", ())] == ["PodRefused"])
    within("apply", "-f", "-", stdin=job())
    within("wait", "stickyjob/db", "--for=condition=Running", WAIT)


def test_an_empty_template_is_told_with_the_cure(within: Kubectl) -> None:
    empty = json.loads(job())
    empty["spec"]["template"] = {}
    within("apply", "-f", "-", stdin=json.dumps(empty))
    eventually(lambda: status(within).get("phase") == "Invalid")
    told = {each["type"]: each for each in status(within)["conditions"]}
    assert "preserve-unknown-fields" in told["TemplateUsable"]["message"]
    assert not items(within, "pods")


def test_a_namespace_with_a_job_goes(within: Kubectl, db: str, namespace: str, kubectl: Kubectl) -> None:
    kubectl("delete", "namespace", namespace, "--timeout=60s")
