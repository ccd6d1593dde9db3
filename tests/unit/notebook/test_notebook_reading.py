"""What can be read into a notebook's cluster, what is filled in, and what a mistake is answered with."""

from pathlib import Path
from typing import Any

import pytest

import moorage
from moorage.errors import InputError
from moorage.notebook import read_objects
from moorage.objects import Node, Pod
from moorage.values import yaml

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "web:1", "resources": {"limits": {"cpu": "500m"}}}]},
}


def _only_pod(*sources: Any) -> Pod:
    (pod,) = [item for item in read_objects(*sources) if isinstance(item, Pod)]
    return pod


def test_files_folders_texts_and_dicts(tmp_path: Path) -> None:
    both = tmp_path / "both.yaml"
    both.write_text(f"{yaml.dump(NODE)}---\n{yaml.dump(POD)}")
    (tmp_path / "notes.txt").write_text("not read")
    for sources in ((both,), (str(both),), (tmp_path,), (both.read_text(),), (NODE, POD), ([NODE, POD],)):
        assert {(item.KIND, item.key) for item in read_objects(*sources)} == {("Node", "n1"), ("Pod", "default/web")}


def test_lists_as_kubectl_prints_them() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [NODE, POD, {"apiVersion": "apps/v1", "kind": "Deployment"}]}
    assert [item.key for item in read_objects(listed)] == ["n1", "default/web"]
    bare = {key: value for key, value in POD.items() if key not in ("kind", "apiVersion")}
    assert _only_pod({"apiVersion": "v1", "kind": "PodList", "items": [bare]}).key == "default/web"


def test_the_last_of_a_name_counts() -> None:
    twin = {**POD, "spec": {**POD["spec"], "nodeName": "n1"}}
    assert _only_pod(POD, twin).spec.node_name == "n1"


def test_what_an_api_server_fills_in_is_filled_in() -> None:
    (node,) = read_objects(NODE)
    assert isinstance(node, Node)
    assert node.status.allocatable == {"cpu": "2", "memory": "4Gi", "pods": "10"}
    pod = _only_pod(POD)
    assert (pod.metadata.namespace, bool(pod.metadata.uid)) == ("default", True)
    assert pod.spec.containers[0].resources.requests == {"cpu": "500m"}


def test_priorities_come_from_their_classes() -> None:
    def a_class(name: str, value: int, **more: Any) -> dict[str, Any]:
        metadata = {"name": name}
        return {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": metadata,
            "value": value,
            **more,
        }

    named = {**POD, "spec": {**POD["spec"], "priorityClassName": "high"}}
    classes = [a_class("high", 1000, preemptionPolicy="Never"), a_class("usual", 7, globalDefault=True)]
    pod = _only_pod(named, *classes)
    assert (pod.spec.priority, pod.spec.preemption_policy) == (1000, "Never")
    assert _only_pod(POD, *classes).spec.priority == 7
    assert _only_pod({**POD, "spec": {**POD["spec"], "priority": 3}}, *classes).spec.priority == 3


def test_what_is_handed_in_is_not_changed() -> None:
    before = yaml.dump(POD)
    read_objects(POD)
    assert yaml.dump(POD) == before


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("/nowhere/at/all.yaml", "/nowhere/at/all.yaml: No such file or directory"),
        ("a:\n b: [\n", "text: line 3: "),
        ("- 3\n- 4\n", "text: document 1: expected an object of Kubernetes, got int"),
        ("metadata:\n  name: a\n", 'text: kind: expected the kind of an object, such as "Pod"'),
        ("apiVersion: v1\nkind: Pods\n", 'text: kind: unknown kind "Pods"; did you mean Pod?'),
        ("apiVersion: v1\nkind: Pod\n", "text: Pod: metadata: expected an object with a name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}\n", "text: Pod: metadata.name: expected a name"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 3}\n",
            "text: Pod: spec.containers: Expected `array`",
        ),
        (
            "apiVersion: v2\nkind: Node\nmetadata: {name: a}\n---\nkind: Node\n",
            "text: document 2: Node: metadata",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(source: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        read_objects(source)
    assert message in str(raised.value)


def test_an_empty_folder_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file that ends in"):
        read_objects(tmp_path)


def test_the_door_stands_on_the_package() -> None:
    assert moorage.load(NODE, POD).nodes == ("n1",)
    with pytest.raises(AttributeError, match="no attribute 'loud'"):
        _ = moorage.loud


def test_unknown_fields_are_told_once_with_the_nearest_name(caplog: pytest.LogCaptureFixture) -> None:
    container = {"name": "main", "resorces": {"requests": {"cpu": "1"}}}
    pods = [
        {**POD, "metadata": {"name": name, "lables": {}}, "spec": {"containers": [container]}} for name in ("a", "b")
    ]
    assert len(read_objects(pods)) == 2
    assert caplog.messages == [
        "object 0: Pod: metadata.lables: unknown field; did you mean labels?",
        "object 0: Pod: spec.containers[0].resorces: unknown field; did you mean resources?",
    ]


def test_custom_kinds_have_the_fields_they_have(caplog: pytest.LogCaptureFixture) -> None:
    job = {"apiVersion": "stickyjobs.example.com/v1", "kind": "StickyJob", "metadata": {"name": "j"}, "spek": {}}
    read_objects(NODE, job)
    assert caplog.messages == []
