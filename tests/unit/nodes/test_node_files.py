"""Nodes from files."""

from pathlib import Path

import pytest

from moorage.errors import InputError
from moorage.nodes.files import load_shapes
from moorage.objects import Taint

MIXTURE = """
- {count: 2, cpu: 8, memory: 32Gi, labels: {disk: ssd}, taints: ["a=b:NoSchedule"], zones: [east, west]}
- apiVersion: v1
  kind: Node
  metadata: {name: big, labels: {size: big}}
  spec:
    unschedulable: true
    taints:
    - {key: mine, effect: NoExecute}
    - {key: node.kubernetes.io/unschedulable, effect: NoSchedule}
  status:
    capacity: {cpu: "96", memory: 1Ti, pods: "500", attachable-volumes-aws-ebs: "25"}
    allocatable: {cpu: 95500m}
---
cpu: 1
"""


def written(path: Path, text: str) -> Path:
    file = path / "nodes.yaml"
    file.write_text(text)
    return file


def test_shapes_and_nodes_may_be_mixed(tmp_path: Path) -> None:
    some, big, one = load_shapes(written(tmp_path, MIXTURE), count=5)
    assert (some.count, some.capacity["cpu"], some.zones) == (2, "8", ("east", "west"))
    assert some.taints == (Taint(key="a", value="b", effect="NoSchedule"),)
    assert (big.name, big.is_named, big.is_unschedulable, big.labels) == ("big", True, True, {"size": "big"})
    assert big.capacity == {"cpu": "96", "memory": "1Ti", "ephemeral-storage": "100Gi", "pods": "500"}
    assert big.allocatable == {**big.capacity, "cpu": "95500m"}
    assert (one.count, one.capacity["cpu"]) == (5, "1")


def test_taints_that_a_cluster_sets_itself_stay_behind(tmp_path: Path) -> None:
    big = load_shapes(written(tmp_path, MIXTURE))[1]
    assert big.taints == (Taint(key="mine", effect="NoExecute"),)


def test_what_kubectl_prints_can_be_read(tmp_path: Path) -> None:
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in ("a", "b")]
    text = repr({"apiVersion": "v1", "kind": "List", "items": nodes}).replace("'", '"')
    assert [shape.name for shape in load_shapes(written(tmp_path, text))] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "describes no nodes"),
        ("[]", "describes no nodes"),
        ("just words", "expected a Node or a shape, got 'just words'"),
        ("[1]", "[0]: expected a Node or a shape, got 1"),
        ("{apiVersion: v1, kind: Pod}", "expected v1 Node, got v1 Pod"),
        ("{apiVersion: v1, kind: Node, metadata: {}}", "needs metadata.name"),
        ("{apiVersion: v1, kind: Node, metadata: {name: [a]}}", "metadata.name"),
        ("{cpu: [1]}", "cpu: [1] is not a quantity"),
        ("{cpu: true}", "cpu: True is not a quantity"),
        ("{labels: [a]}", "labels: expected a map"),
        ("{labels: {a: 1}}", "the value of a is 1: expected text (put it in quotes)"),
        ("{taints: {a: b}}", "taints: expected a list"),
        ("{taints: [{key: 1}]}", "taints"),
        ("{zones: [1]}", "zones: expected text, got 1"),
        ("{name: 1}", "name: expected text, got 1"),
        ("{cpu: 1", "line"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_entry(tmp_path: Path, text: str, complaint: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        load_shapes(file)
    assert str(refused.value).startswith(str(file))
    assert complaint in str(refused.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_shapes(tmp_path / "absent.yaml")
