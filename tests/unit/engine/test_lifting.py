"""Plugins in either form give the same decisions; which form is asked depends on the number of rows."""

from typing import Any

import numpy as np
import pytest

from moorage.cluster import ClusterState
from moorage.framework import (
    Code,
    CycleState,
    NodeInfo,
    NodeTable,
    PodInfo,
    Rows,
    Scope,
    Scores,
    Status,
    Verdicts,
    unschedulable,
)
from moorage.testing import Cluster, a_node, a_pod

ODD = unschedulable("node(s) were odd")


class OneByOne:
    """The plain form."""

    name = "Parity"

    def __init__(self, _args: Any, _handle: Any) -> None: ...

    def filter(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """Odd nodes are refused."""
        return ODD if int(node.name[1:]) % 2 else None

    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """By number."""
        return int(node.name[1:])


class AllAtOnce:
    """The fast form."""

    name = "Parity"

    def __init__(self, _args: Any, _handle: Any) -> None: ...

    def filter_nodes(self, _state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """Odd nodes are refused."""
        return Verdicts(self._numbers(nodes, rows) % 2, (ODD,))

    def score_nodes(self, _state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """By number."""
        return self._numbers(nodes, rows)

    def _numbers(self, nodes: NodeTable, rows: Rows) -> Scores:
        return np.array([int(nodes[row].name[1:]) for row in rows.tolist()], dtype=np.int64)


class InBothForms(OneByOne, AllAtOnce):
    """Either, wherever it is quicker."""


@pytest.mark.parametrize("plugin", [OneByOne, AllAtOnce, InBothForms])
@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("size", [1, 3, 20])
def test_the_form_makes_no_difference(plugin: type, scope: Scope, size: int) -> None:
    scoped = type("Scoped", (plugin,), {"filter_scope": scope, "score_scope": scope})
    cluster = Cluster(*(a_node(f"n{number}") for number in range(size)))
    scheduler = cluster.scheduler(plugins=[scoped], defaults=False)
    decided = scheduler.decide(a_pod())
    last = (size - 1) // 2 * 2
    assert decided.feasible == tuple(sorted(f"n{number}" for number in range(0, size, 2)))
    assert decided.chosen == f"n{last}"
    assert decided.score(f"n{last}", "Parity") == last
    if size > 1:
        decided.assert_refused("n1", by="Parity", because="odd")
    info = scheduler.engine.snapshot.info(a_pod().build())
    placement = scheduler.engine.schedule(info)
    assert placement.node_name == f"n{last}"  # type: ignore[union-attr]


def test_a_plugin_that_says_nothing_of_its_scope_is_asked_every_time() -> None:
    asked = []

    class Curious:
        def __init__(self, _args: Any, _handle: Any) -> None: ...

        def filter(self, _state: Any, pod: PodInfo, _node: Any) -> None:
            asked.append(pod.name)

    scheduler = Cluster(a_node()).scheduler(plugins=[Curious])
    scheduler.schedule(a_pod("a"), a_pod("b"))
    assert {"a", "b"} <= set(asked)


@pytest.mark.parametrize(("scope", "touched"), [(Scope.NODE, []), (Scope.NODE_AND_PODS, ["n1"])])
def test_a_kept_filter_is_asked_again_only_about_what_changed(scope: Scope, touched: list[str]) -> None:
    asked: list[str] = []

    class Counting:
        filter_scope = scope

        def __init__(self, _args: Any, _handle: Any) -> None: ...

        def filter(self, _state: Any, _pod: Any, node: NodeInfo) -> None:
            asked.append(node.name)

    engine = Cluster(*(a_node(f"n{number}") for number in range(8))).scheduler(plugins=[Counting]).engine
    info = engine.snapshot.info(a_pod().build())
    engine.schedule(info)
    assert sorted(asked) == [f"n{number}" for number in range(8)]
    asked.clear()
    engine.schedule(info)
    assert asked == []
    ClusterState(engine.snapshot).assume(info, "n1")
    engine.schedule(info)
    assert asked == touched
    asked.clear()
    engine.snapshot.nodes.set_node(a_node("n2").labels(a="b").build())
    engine.schedule(info)
    assert asked == ["n2"]


def test_a_success_status_is_a_yes() -> None:
    class Polite:
        def __init__(self, _args: Any, _handle: Any) -> None: ...

        def filter(self, _state: Any, _pod: Any, _node: Any) -> Status:
            return Status(Code.SUCCESS)

    assert Cluster(a_node("n")).decide(a_pod(), plugins=[Polite]).chosen == "n"
