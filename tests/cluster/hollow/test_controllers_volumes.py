"""Claims get volumes: those that exist, those made at once, those made where a pod goes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Kubectl = Callable[..., str]

WAIT = "--timeout=30s"
BOUND = "--for=jsonpath={.status.phase}=Bound"


def claim(name: str, storage_class: str) -> str:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return json.dumps({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec})


@pytest.fixture
def make_class(kubectl: Kubectl, namespace: str) -> Iterator[Callable[..., str]]:
    """Makes storage classes of this test's own."""
    made: list[str] = []

    def make(name: str, **fields: Any) -> str:
        full_name = f"{name}-{namespace}"
        storage_class = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": full_name},
            "provisioner": "disks.example.com",
            **fields,
        }
        kubectl("create", "-f", "-", stdin=json.dumps(storage_class))
        made.append(full_name)
        return full_name

    yield make
    kubectl("delete", "storageclass", *made, "--ignore-not-found")


def volume_of(within: Kubectl, kubectl: Kubectl, name: str) -> dict[str, Any]:
    bound = json.loads(within("get", "pvc", name, "-o", "json"))
    volume: dict[str, Any] = json.loads(kubectl("get", "pv", bound["spec"]["volumeName"], "-o", "json"))
    return volume


def test_a_volume_is_made_at_once_and_goes_with_its_claim(
    within: Kubectl, kubectl: Kubectl, make_class: Callable[..., str]
) -> None:
    within("create", "-f", "-", stdin=claim("data", make_class("now")))
    within("wait", "pvc/data", BOUND, WAIT)
    volume = volume_of(within, kubectl, "data")
    assert volume["spec"]["capacity"] == {"storage": "1Gi"}
    assert volume["spec"]["claimRef"]["name"] == "data"
    assert volume["status"]["phase"] == "Bound"
    within("delete", "pvc", "data", WAIT)
    kubectl("wait", "--for=delete", f"pv/{volume['metadata']['name']}", WAIT)


def test_a_claim_that_waits_for_a_pod_gets_its_volume_where_the_pod_goes(
    within: Kubectl, kubectl: Kubectl, make_class: Callable[..., str]
) -> None:
    late = make_class("late", volumeBindingMode="WaitForFirstConsumer")
    within("create", "-f", "-", stdin=claim("data", late))
    within("wait", "pvc/data", "--for=jsonpath={.status.phase}=Pending", WAIT)
    within("annotate", "pvc", "data", "volume.kubernetes.io/selected-node=hollow-1")
    within("wait", "pvc/data", BOUND, WAIT)
    (term,) = volume_of(within, kubectl, "data")["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b"]}]


def test_an_existing_volume_is_found_and_kept(
    within: Kubectl, kubectl: Kubectl, make_class: Callable[..., str], namespace: str
) -> None:
    static = make_class("static", provisioner="kubernetes.io/no-provisioner")
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": namespace},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": static,
            "hostPath": {"path": "/data"},
        },
    }
    kubectl("create", "-f", "-", stdin=json.dumps(volume))
    try:
        kubectl("wait", f"pv/{namespace}", "--for=jsonpath={.status.phase}=Available", WAIT)
        within("create", "-f", "-", stdin=claim("data", static))
        within("wait", "pvc/data", BOUND, WAIT)
        assert volume_of(within, kubectl, "data")["metadata"]["name"] == namespace
        within("delete", "pvc", "data", WAIT)
        kubectl("wait", f"pv/{namespace}", "--for=jsonpath={.status.phase}=Released", WAIT)
    finally:
        kubectl("delete", "pv", namespace, WAIT)


def test_a_claim_in_use_stays_until_its_pod_is_gone(within: Kubectl, make_class: Callable[..., str]) -> None:
    within("create", "-f", "-", stdin=claim("data", make_class("now")))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user"},
        "spec": {"containers": [{"name": "main", "image": "example/app"}], "volumes": volumes},
    }
    within("create", "-f", "-", stdin=json.dumps(pod))
    within("wait", "pod/user", "--for=condition=ready", WAIT)
    within("delete", "pvc", "data", "--wait=false")
    if "kubernetes.io/pvc-protection" in within("get", "pvc", "data", "--ignore-not-found", "-o", "yaml"):
        within("delete", "pod", "user", WAIT)
    within("wait", "--for=delete", "pvc/data", WAIT)


def test_an_ephemeral_volume_brings_its_claim_along(within: Kubectl, make_class: Callable[..., str]) -> None:
    template = {"spec": json.loads(claim("", make_class("now")))["spec"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user"},
        "spec": {
            "containers": [{"name": "main", "image": "example/app"}],
            "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}],
        },
    }
    within("create", "-f", "-", stdin=json.dumps(pod))
    within("wait", "--for=create", "pvc/user-scratch", WAIT)
    within("wait", "pvc/user-scratch", BOUND, WAIT)
    within("delete", "pod", "user", WAIT)
    within("wait", "--for=delete", "pvc/user-scratch", WAIT)
