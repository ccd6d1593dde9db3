"""From JSON or parsed YAML to typed objects."""

import json
from typing import Any

import pytest

from moorage.errors import ObjectError
from moorage.objects import KINDS, Container, Node, Pod, convert, convert_object, decode


def pod(**tree: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, **tree}


def test_only_what_scheduling_reads_is_kept() -> None:
    raw = json.dumps(pod(spec={"containers": [{"name": "main", "command": ["run"]}], "dnsPolicy": "Default"}))
    decoded = decode(raw, Pod)
    assert decoded.key == "default/web"
    assert decoded.spec.containers == (Container("main"),)
    assert decoded.spec.scheduler_name == "default-scheduler"


def test_null_is_absent_as_in_go() -> None:
    raw = pod(spec={"nodeName": None, "priority": None, "containers": [{"name": "main", "resources": None}]})
    assert decode(json.dumps(raw), Pod) == convert(raw, Pod)
    assert convert(raw, Pod).spec.node_name == ""
    assert convert(raw, Pod).priority == 0


def test_quantities_may_be_numbers() -> None:
    node = convert_object(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {"allocatable": {"cpu": 4, "pods": 1.5}},
        }
    )
    assert isinstance(node, Node)
    assert node.status.allocatable == {"cpu": 4, "pods": 1.5}


@pytest.mark.parametrize(
    ("tree", "where"),
    [
        (pod(spec={"nodeName": 5}), "spec.nodeName"),
        (pod(spec={"containers": [{"name": "main"}, {"name": []}]}), "spec.containers[1].name"),
        (pod(spec={"containers": {}}), "spec.containers"),
        (pod(metadata={"labels": {"a": 1}}), "metadata.labels[...]"),
        (pod(spec={"priority": "high"}), "spec.priority"),
        (pod(spec={"hostNetwork": "yes"}), "spec.hostNetwork"),
        (
            pod(spec={"containers": [{"resources": {"requests": {"cpu": True}}}]}),
            "spec.containers[0].resources.requests[...]",
        ),
    ],
)
def test_a_wrong_type_names_the_field(tree: dict[str, Any], where: str) -> None:
    for source in (tree, json.dumps(tree)):
        with pytest.raises(ObjectError) as refusal:
            decode(source, Pod) if isinstance(source, str) else convert_object(source)
        assert refusal.value.where == where
        assert "Expected" in refusal.value.problem


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([], "expected an API object, got list"),
        ("Pod", "expected an API object, got str"),
        ({}, "kind: unknown kind None; expected one of CSIDriver, "),
        ({"kind": "Deployment"}, "kind: unknown kind 'Deployment'; expected one of "),
        ({"kind": ["Pod"]}, "kind: unknown kind ['Pod']"),
        ({"kind": "Pod"}, "apiVersion: expected v1 for a Pod, got None"),
        ({"kind": "Pod", "apiVersion": "apps/v1"}, "apiVersion: expected v1 for a Pod, got 'apps/v1'"),
        ({"kind": "ReplicaSet", "apiVersion": "v1"}, "apiVersion: expected apps/v1 for a ReplicaSet, got 'v1'"),
    ],
)
def test_what_is_no_object_we_know(tree: Any, message: str) -> None:
    with pytest.raises(ObjectError) as refusal:
        convert_object(tree)
    assert str(refusal.value).startswith(message)


def test_an_older_version_of_the_same_group_is_read() -> None:
    item = convert_object(
        {"kind": "CSIStorageCapacity", "apiVersion": "storage.k8s.io/v1beta1", "metadata": {"name": "c"}}
    )
    assert item.metadata.name == "c"


def test_not_json() -> None:
    with pytest.raises(ObjectError, match=r"^not JSON: "):
        decode(b"{", Pod)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_read_with_its_metadata_alone(kind: str) -> None:
    known = KINDS[kind]
    namespace = {"namespace": "ns"} if known.NAMESPACED else {}
    item = convert_object({"apiVersion": known.API_VERSION, "kind": kind, "metadata": {"name": "x", **namespace}})
    assert type(item) is known
    assert item.key == ("ns/x" if known.NAMESPACED else "x")


def test_objects_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        convert(pod(), Pod).spec.node_name = "n"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("phase", "deleted", "is_terminal", "is_terminating"),
    [
        ("Running", "", False, False),
        ("Succeeded", "", True, False),
        ("Failed", "", True, False),
        ("Running", "2026-01-01T00:00:00Z", False, True),
    ],
)
def test_where_a_pod_stands(phase: str, deleted: str, is_terminal: bool, is_terminating: bool) -> None:
    found = convert({"metadata": {"deletionTimestamp": deleted}, "status": {"phase": phase}}, Pod)
    assert (found.is_terminal, found.is_terminating) == (is_terminal, is_terminating)
