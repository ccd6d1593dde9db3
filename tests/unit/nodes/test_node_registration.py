"""Node objects from shapes."""

import pytest

from moorage.errors import InputError
from moorage.nodes.registration import node_manifests
from moorage.nodes.shapes import NodeShape, parse_shape


def names(*shapes: NodeShape) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in node_manifests(shapes, 0.0)]


def test_nodes_of_one_name_are_counted_through() -> None:
    assert names(parse_shape("count=2"), parse_shape("name=big,count=1"), parse_shape("cpu=1,count=2")) == [
        "node-0",
        "node-1",
        "big-0",
        "node-2",
        "node-3",
    ]


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two nodes are called 'node-0'"):
        names(parse_shape("cpu=1"), NodeShape(name="node-0", is_named=True))


def test_nodes_take_turns_in_zones() -> None:
    manifests = node_manifests([parse_shape("zones=a;b,count=3")], 0.0)
    assert [each["metadata"]["labels"]["topology.kubernetes.io/zone"] for each in manifests] == ["a", "b", "a"]


def test_a_node_is_ready_and_says_who_it_is() -> None:
    (node,) = node_manifests([parse_shape("cpu=4,labels=a:b,taints=k=v:NoExecute")], 1_000_000_000.0)
    metadata, status = node["metadata"], node["status"]
    assert metadata["labels"] == {
        "kubernetes.io/hostname": "node-0",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "a": "b",
    }
    assert metadata["annotations"] == {"moorage.dev/node": "hollow"}
    assert node["spec"]["taints"] == [{"key": "k", "value": "v", "effect": "NoExecute"}]
    assert status["capacity"] == status["allocatable"]
    assert status["addresses"][0] == {"type": "InternalIP", "address": "172.16.0.1"}
    ready = {condition["type"]: condition for condition in status["conditions"]}["Ready"]
    assert (ready["status"], ready["lastTransitionTime"]) == ("True", "2001-09-09T01:46:40Z")


def test_every_node_has_an_address_of_its_own() -> None:
    manifests = node_manifests([parse_shape("count=600")], 0.0)
    assert len({each["status"]["addresses"][0]["address"] for each in manifests}) == 600
