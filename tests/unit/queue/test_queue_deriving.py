from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from moorage.columns.pods import PodIndex
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.objects import (
    Condition,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    PodResourceClaimStatus,
    Taint,
)
from moorage.queue import node_events, pod_events

if TYPE_CHECKING:
    from tests.unit.queue.conftest import World

READY = Condition(type="Ready", status="True")
BASE = Node(
    metadata=ObjectMeta(name="n", labels={"zone": "a"}),
    spec=NodeSpec(unschedulable=True),
    status=NodeStatus(allocatable={"cpu": "1", "memory": "1Gi"}, conditions=(READY,)),
)


def changed(node: Node, **parts: dict[str, Any]) -> Node:
    return msgspec.structs.replace(
        node, **{part: msgspec.structs.replace(getattr(node, part), **fields) for part, fields in parts.items()}
    )


@pytest.mark.parametrize(
    ("parts", "actions"),
    [
        ({}, []),
        ({"metadata": {"resource_version": "2", "generation": 3}}, []),
        ({"spec": {"unschedulable": False}}, [Action.UPDATE_NODE_TAINT]),
        ({"status": {"allocatable": {"cpu": "2", "memory": "1Gi"}}}, [Action.UPDATE_NODE_ALLOCATABLE]),
        ({"status": {"allocatable": {"cpu": "1"}}}, [Action.UPDATE_NODE_ALLOCATABLE]),
        ({"status": {"allocatable": {"cpu": "1000m", "memory": "1024Mi"}}}, []),
        ({"metadata": {"labels": {}}}, [Action.UPDATE_NODE_LABEL]),
        ({"spec": {"unschedulable": True, "taints": (Taint("k", "v", "NoSchedule"),)}}, [Action.UPDATE_NODE_TAINT]),
        ({"status": {"conditions": (Condition(type="Ready", status="False"),)}}, [Action.UPDATE_NODE_CONDITION]),
        ({"status": {"conditions": (Condition(type="Ready", status="True", message="heartbeat"),)}}, []),
        ({"metadata": {"annotations": {"a": "b"}}}, [Action.UPDATE_NODE_ANNOTATION]),
        ({"status": {"declared_features": ("F",)}}, [Action.UPDATE_NODE_DECLARED_FEATURE]),
        (
            {
                "metadata": {"labels": {}, "annotations": {"a": "b"}},
                "spec": {"unschedulable": False, "taints": (Taint("k"),)},
                "status": {"allocatable": {}, "conditions": (), "declared_features": ("F",)},
            },
            [
                Action.UPDATE_NODE_TAINT,
                Action.UPDATE_NODE_ALLOCATABLE,
                Action.UPDATE_NODE_LABEL,
                Action.UPDATE_NODE_TAINT,
                Action.UPDATE_NODE_CONDITION,
                Action.UPDATE_NODE_ANNOTATION,
                Action.UPDATE_NODE_DECLARED_FEATURE,
            ],
        ),
    ],
)
def test_node_updates(parts: dict[str, dict[str, Any]], actions: list[Action]) -> None:
    assert node_events(BASE, changed(BASE, **parts)) == [ClusterEvent(Resource.NODE, action) for action in actions]


def test_a_cordon_is_no_event() -> None:
    assert node_events(changed(BASE, spec={"unschedulable": False}), BASE) == []


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        ({}, {}, [Action.UPDATE]),
        ({}, {"nominated": "n1"}, [Action.UPDATE]),
        ({}, {"labels": {"a": "b"}}, [Action.UPDATE_POD_LABEL]),
        ({"cpu": "2"}, {"cpu": "1"}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"cpu": "2"}, {}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"cpu": "1"}, {"cpu": "2"}, [Action.UPDATE]),
        ({"cpu": "1"}, {"cpu": "1000m"}, [Action.UPDATE]),
        ({"gates": ["x", "y"]}, {"gates": ["x"]}, [Action.UPDATE]),
        ({"gates": ["x"]}, {}, [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED]),
        ({}, {"tolerations": 1}, [Action.UPDATE_POD_TOLERATION]),
        (
            {"cpu": "2", "gates": ["x"]},
            {"cpu": "1", "tolerations": 2, "labels": {"a": "b"}},
            [
                Action.UPDATE_POD_LABEL,
                Action.UPDATE_POD_SCALE_DOWN,
                Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                Action.UPDATE_POD_TOLERATION,
            ],
        ),
    ],
)
@pytest.mark.parametrize("node", ["", "n1"])
def test_pod_updates(
    world: "World", old: dict[str, Any], new: dict[str, Any], actions: list[Action], node: str
) -> None:
    resource = Resource.ASSIGNED_POD if node else Resource.UNSCHEDULABLE_POD
    events = pod_events(world.pod("a", node=node, **old), world.pod("a", node=node, **new))
    assert events == [ClusterEvent(resource, action) for action in actions]


def test_a_claim_that_was_generated_is_an_event(world: "World") -> None:
    old = world.pod("a")
    status = msgspec.structs.replace(
        old.pod.status, resource_claim_statuses=(PodResourceClaimStatus("gpu", "a-gpu-x7"),)
    )
    new = PodIndex().info(msgspec.structs.replace(old.pod, status=status))
    [event] = pod_events(old, new)
    assert event == ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
