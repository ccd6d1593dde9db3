"""PodGroups of scheduling.x-k8s.io with kubectl: phases and counts. Whoever places the pods is somebody else."""

import json
from collections.abc import Callable

from tests.cluster.hollow.test_controllers import WAIT

Kubectl = Callable[..., str]


def member(name: str, group: str = "train", **annotations: str) -> str:
    marks = {f"moorage.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": name, "labels": {"scheduling.x-k8s.io/pod-group": group}, "annotations": marks}
    spec = {"containers": [{"name": "main", "image": "app"}], "restartPolicy": "Never"}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def group(name: str = "train", members: int = 2) -> str:
    body = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name}}
    resources = {"cpu": 2, "memory": "1Gi"}
    return json.dumps({**body, "spec": {"minMember": members, "minResources": resources, "scheduleTimeoutSeconds": 10}})


def test_a_group_is_counted_from_its_first_pod_to_its_end(within: Kubectl) -> None:
    within("apply", "-f", "-", stdin=group())
    within("wait", "pg/train", "--for=jsonpath={.status.phase}=Pending", WAIT)
    within("create", "-f", "-", stdin=member("m-0", run_seconds="5"))
    within("create", "-f", "-", stdin=member("m-1", run_seconds="5"))
    within("wait", "pg/train", "--for=jsonpath={.status.phase}=Running", WAIT)
    assert within("get", "pg", "train", "--no-headers").split()[:5] == ["train", "Running", "2", "2", "0"]
    within("wait", "pg/train", "--for=jsonpath={.status.phase}=Finished", WAIT)
    assert within("get", "pg", "train", "--no-headers").split()[:5] == ["train", "Finished", "2", "0", "2"]
    within("delete", "pods", "--all")
    assert within("get", "pg", "train", "--no-headers").split()[:5] == ["train", "Finished", "2", "0", "2"]


def test_a_group_may_come_after_its_pods_and_counts_those_of_its_namespace_alone(
    within: Kubectl, kubectl: Kubectl, namespace: str
) -> None:
    other = f"{namespace}-other"
    kubectl("create", "namespace", other)
    kubectl("--namespace", other, "create", "-f", "-", stdin=member("m-9"))
    within("create", "-f", "-", stdin=member("m-0"))
    within("wait", "pod/m-0", "--for=condition=ready", WAIT)
    within("apply", "-f", "-", stdin=group())
    within("wait", "pg/train", "--for=jsonpath={.status.running}=1", WAIT)
    assert within("get", "pg", "train", "-o", "jsonpath={.status.phase}") == "Pending"
    kubectl("delete", "namespace", other, "--wait=false")
