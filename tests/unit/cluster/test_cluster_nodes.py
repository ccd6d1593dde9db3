"""What nodes and other objects that come, change and go mean."""

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from moorage.cluster import ObjectEvents, needed_kinds
from moorage.errors import ObjectError
from moorage.framework.events import Action, Resource
from moorage.objects import CSINode, Namespace, Node, ObjectMeta, PersistentVolumeClaim, PodDisruptionBudget, Service
from moorage.plugins import DefaultPreemption
from moorage.testing import a_node, a_pod

if TYPE_CHECKING:
    from tests.unit.cluster.conftest import Fed


def heartbeat(node: Node) -> Node:
    return replace(node, metadata=replace(node.metadata, resource_version="2"))


def test_a_node_comes_and_goes(fed: "Fed") -> None:
    fed.nodes.added(a_node("a").build())
    assert fed.snapshot.nodes.get("a") is not None
    fed.nodes.deleted(a_node("a").build())
    assert fed.snapshot.nodes.get("a") is None
    assert fed.moves == [("NodeAdd", "a"), ("NodeDelete", "a")]


def test_heartbeats_mean_nothing(fed: "Fed") -> None:
    node = a_node("a").build()
    fed.nodes.added(node)
    changes = fed.snapshot.nodes.node_changes.position
    fed.nodes.updated(node, heartbeat(node))
    assert fed.snapshot.nodes.node_changes.position == changes
    assert fed.moves == [("NodeAdd", "a")]


def test_each_change_of_a_node_is_an_event_of_its_own(fed: "Fed") -> None:
    old, new = a_node("a").cordoned(), a_node("a").labels(disk="ssd").taint("team")
    fed.nodes.added(old.build())
    fed.moves.clear()
    fed.nodes.updated(old.build(), new.build())
    assert [label for label, _ in fed.moves] == [
        "NodeUpdateNodeTaint",
        "NodeUpdateNodeLabel",
        "NodeUpdateNodeTaint",
    ]
    info = fed.snapshot.nodes.get("a")
    assert info is not None
    assert info.labels["disk"] == "ssd"


def test_pods_of_a_node_that_went_count_again_when_it_comes_back(fed: "Fed") -> None:
    fed.nodes.added(a_node("a").build())
    fed.pods.added(a_pod("web").requests(cpu="1").on("a").build())
    fed.nodes.deleted(a_node("a").build())
    fed.nodes.added(a_node("a").build())
    assert fed.on_node("a") == ["web"]


def test_a_malformed_node_is_named_and_left_out(fed: "Fed") -> None:
    with pytest.raises(ObjectError, match=r"Node a: status\.allocatable"):
        fed.nodes.added(a_node("a").allocatable(cpu="many").build())
    assert fed.snapshot.nodes.get("a") is None


def test_other_objects_are_kept_and_told_where_they_matter(fed: "Fed") -> None:
    claims = ObjectEvents(PersistentVolumeClaim, fed.snapshot.objects, fed.queue)
    claim = PersistentVolumeClaim(metadata=ObjectMeta(name="data", namespace="default", resource_version="1"))
    claims.added(claim)
    claims.updated(claim, claim)
    claims.deleted(claim)
    assert [label for label, _ in fed.moves] == [
        "PersistentVolumeClaimAdd",
        "PersistentVolumeClaimUpdate",
        "PersistentVolumeClaimDelete",
    ]
    assert fed.snapshot.objects.get(PersistentVolumeClaim, "default/data") is None
    fed.moves.clear()
    services = ObjectEvents(Service, fed.snapshot.objects, fed.queue)
    services.added(Service(metadata=ObjectMeta(name="web", namespace="default")))
    assert fed.moves == []
    assert fed.snapshot.objects.get(Service, "default/web") is not None


def test_only_what_plugins_need_is_watched() -> None:
    class OfAUser:
        reads = (Namespace,)

    assert needed_kinds([("NodeName", object())], {}) == ()
    assert needed_kinds([("DefaultPreemption", DefaultPreemption)], {}) == (PodDisruptionBudget,)
    assert needed_kinds([("OfAUser", OfAUser())], {}) == (Namespace,)
    assert needed_kinds([], {Resource.CSI_NODE: Action.ADD, Resource.NODE: Action.ADD}) == (CSINode,)
