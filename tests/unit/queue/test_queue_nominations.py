from typing import TYPE_CHECKING

import pytest

from moorage.framework.events import Action, Resource, on
from moorage.queue.moves import NODE_ADD

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Gate, World


def test_a_new_pod_keeps_the_node_its_status_names(world: "World") -> None:
    queue = world.queue()
    pod = world.pod("a", nominated="n1")
    queue.add(pod)
    assert world.nominations.on("n1") == [pod]


def test_a_pod_that_does_not_get_in_is_promised_nothing(world: "World", gate: "Gate") -> None:
    queue = world.queue(pre_enqueue=[("Gate", gate.pre_enqueue)])
    gate.names = {"a"}
    queue.add(world.pod("a", nominated="n1"))
    assert len(world.nominations) == 0


@pytest.mark.parametrize(
    ("given", "status", "node"),
    [("n1", "", "n1"), ("n1", "n2", "n1"), ("", "n2", ""), (None, "n2", "n2"), (None, "", "")],
)
def test_a_promise_is_given_or_taken_from_the_status(world: "World", given: str | None, status: str, node: str) -> None:
    queue = world.queue()
    pod = world.pod("a", nominated=status)
    world.nominations.nominate(pod, "before")
    queue.nominate(pod, given)
    assert world.nominations.node_of(pod) == node
    assert len(world.nominations) == bool(node)


def test_a_pod_with_a_node_is_promised_none(world: "World") -> None:
    queue = world.queue()
    pod = world.pod("a", node="n1")
    queue.nominate(pod, "n2")
    assert len(world.nominations) == 0


@pytest.mark.parametrize("where", ["active", "backoff", "unschedulable"])
@pytest.mark.parametrize(
    ("held", "old", "new", "node"),
    [
        ("n1", "", "", "n1"),  # promised here, not yet written to the API server
        ("n1", "", "n2", "n2"),
        ("n1", "n1", "n2", "n2"),
        ("n1", "n1", "", ""),
        ("", "", "n2", "n2"),
        ("", "", "", ""),
    ],
)
def test_an_update_carries_the_promise_over(
    world: "World", where: str, held: str, old: str, new: str, node: str
) -> None:
    queue = world.queue()
    if where == "active":
        queue.add(world.pod("a"))
    else:
        world.rejected(queue, "a")
        if where == "backoff":
            queue.move_on_event(NODE_ADD)
    queue.nominate(world.pod("a"), held)
    updated = world.pod("a", nominated=new, labels={"x": "y"})
    queue.update(world.pod("a", nominated=old), updated)
    assert world.nominations.node_of(updated) == node
    assert world.nominations.on(node) == ([updated] if node else [])


def test_an_update_that_wakes_a_pod_keeps_its_promise(world: "World") -> None:
    queue = world.queue({"Fit": [on(Resource.POD, Action.UPDATE)]})
    world.rejected(queue, "a")
    queue.nominate(world.pod("a"), "n1")
    queue.update(world.pod("a"), world.pod("a"))
    assert world.nominations.node_of(world.pod("a")) == "n1"


def test_a_deleted_pod_holds_no_node(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a", nominated="n1"))
    queue.pop()
    queue.delete(world.pod("a"))
    assert len(world.nominations) == 0


def test_a_pod_that_is_replaced_holds_no_node(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a", nominated="n1"))
    queue.add(world.pod("a", uid="new"))
    assert len(world.nominations) == 0
