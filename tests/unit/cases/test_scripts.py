"""Cases with `script`: what is read, what is refused, and what a small one comes to."""

from typing import Any

import pytest

from moorage.cases import outcome
from moorage.errors import InputError


def node(name: str, cpu: str = "1") -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name},
        "status": {"allocatable": allocatable},
    }


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def play(*script: dict[str, Any], objects: Any = (), **fields: Any) -> list[dict[str, Any]]:
    case = {"name": "one", "config": None, "objects": list(objects), "script": list(script), **fields}
    steps: list[dict[str, Any]] = outcome(case)["steps"]
    return steps


def test_a_pod_that_did_not_fit_is_tried_again_when_a_node_comes() -> None:
    steps = play({"create": [pod("p", "2")]}, {"create": [node("b", "2")]}, objects=[node("a")])
    assert [len(step["cycles"]) for step in steps] == [0, 1, 1]
    assert steps[1]["cycles"][0]["at"] == 2002
    assert steps[1]["queues"] == {"unschedulable": ["default/p"]}
    assert steps[2]["cycles"] == [
        {
            "at": 3002,
            "popped": "default/p",
            "attempts": [{"pod": "default/p", "node": "b"}],
            "bound": {"default/p": "b"},
        }
    ]
    assert steps[2]["queues"] == {}


def test_without_popping_from_back_off_a_woken_pod_waits_for_its_end() -> None:
    script = {"create": [pod("p", "2")]}, {"create": [node("b", "2")]}, {"advance": 2}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podInitialBackoffSeconds": 2,
    }
    steps = play(*script, objects=[node("a")], config=config, gates={"SchedulerPopFromBackoffQ": False})
    assert steps[2] == {"cycles": [], "queues": {"backoff": {"default/p": 4}}}
    assert [cycle["at"] for cycle in steps[3]["cycles"]] == [5001]


def test_a_gated_pod_is_named_with_its_gate() -> None:
    steps = play({"create": [pod("p", schedulingGates=[{"name": "g"}])]}, {"update": [pod("p")]}, objects=[node("a")])
    assert steps[1]["queues"] == {"gated": {"default/p": "SchedulingGates"}}
    assert steps[2]["cycles"][0]["bound"] == {"default/p": "a"}


def test_victims_make_room_in_the_cycle_that_chose_them() -> None:
    steps = play({"create": [pod("low", priority=1)]}, {"create": [pod("high", priority=9)]}, objects=[node("a")])
    first, second = steps[2]["cycles"]
    assert (first["victims"], first["failed"][0]["nominated"]) == (["default/low"], "a")
    assert second["bound"] == {"default/high": "a"}


def test_what_is_gone_stays_gone() -> None:
    gone: dict[str, Any] = {"delete": ["pods/default/p"]}
    steps = play({"create": [pod("p")]}, gone, {"update": [pod("p")]}, objects=[node("a", "0")])
    assert [step["queues"] for step in steps[1:]] == [{"unschedulable": ["default/p"]}, {}, {}]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (7, "case.script[0]: expected an object"),
        ({}, "case.script[0]: expected one of"),
        ({"advance": 1, "create": []}, "case.script[0]: expected one of"),
        ({"advance": 0}, "case.script[0].advance: expected seconds"),
        ({"advance": True}, "case.script[0].advance: expected seconds"),
        ({"create": {}}, "case.script[0].create: expected a list"),
        ({"create": [{"kind": "Cake"}]}, "case.script[0].create[0].kind: unknown kind"),
        ({"update": [node("a"), node("a")]}, "case.script[0].update[1]: Node a is there twice"),
        ({"delete": ["pods"]}, "case.script[0].delete[0]: expected pods/namespace/name"),
        ({"delete": [3]}, "case.script[0].delete[0]: expected a string"),
    ],
)
def test_a_malformed_step_is_named(step: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        play(step)
    assert problem in str(caught.value)


def test_a_gate_is_true_or_false() -> None:
    with pytest.raises(InputError, match=r"case\.gates\.SchedulerAsyncPreemption: expected true or false"):
        play(gates={"SchedulerAsyncPreemption": "no"})


def test_deleting_a_kind_nobody_made_is_refused() -> None:
    with pytest.raises(InputError, match='no object of a kind "cakes"'):
        play({"delete": ["cakes/a"]})
