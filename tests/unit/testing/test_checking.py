"""check_plugin finds each broken promise, and lets pass what keeps them."""

from typing import Any

import numpy as np
import pytest

from moorage.framework import Scope, Status, Verdicts, unschedulable
from moorage.plugins import DEFAULT_PLUGINS
from moorage.testing import Cluster, Touched, a_node, a_pod, check_plugin

SLOW = unschedulable("node(s) were slow")
NODES = (a_node().labels(speed="slow"), a_node().labels(speed="fast"))


class Honest:
    """Both forms, narrow scopes."""

    filter_scope = Scope.NODE
    score_scope = Scope.NODE_AND_PODS

    def filter(self, _state: Any, _pod: Any, node: Any) -> Status | None:
        return SLOW if node.labels.get("speed") == "slow" else None

    def filter_nodes(self, _state: Any, _pod: Any, nodes: Any, rows: Any) -> Verdicts:
        speed = nodes.label("speed")
        return Verdicts((speed.ids[rows] == speed.id_of("slow")).astype(np.intp), (SLOW,))

    def score(self, _state: Any, _pod: Any, node: Any) -> int:
        return max(0, 100 - 10 * len(node.pods))

    def sort_key(self, pod: Any, timestamp: float) -> Any:
        return -pod.priority, timestamp

    def pre_enqueue(self, _pod: Any) -> None: ...


class TwoOpinions(Honest):
    def filter_nodes(self, _state: Any, _pod: Any, _nodes: Any, rows: Any) -> Verdicts:
        return Verdicts(np.zeros(len(rows), dtype=np.intp), ())


class LooksWider(Honest):
    def filter(self, _state: Any, _pod: Any, node: Any) -> Status | None:
        return SLOW if len(node.pods) > 1 else None

    filter_nodes = None  # type: ignore[assignment]


class ReadsLabels(Honest):
    score_scope = Scope.NODE

    def score(self, _state: Any, pod: Any, _node: Any) -> int:
        return 100 if pod.labels.get("app") == "web" else 0


class Moody(Honest):
    def __init__(self) -> None:
        self.count = 0

    def score(self, *_: Any) -> int:
        self.count += 1
        return self.count % 100


class Labels(Honest):
    def filter(self, _state: Any, _pod: Any, node: Any) -> Status | None:
        node.labels["seen"] = "yes"
        return None

    filter_nodes = None  # type: ignore[assignment]


class TakesRoom(Honest):
    def score(self, _state: Any, pod: Any, node: Any) -> int:
        node.requested["cpu"] = node.requested.get("cpu", 0) + pod.request.amounts.get("cpu", 1)
        return 0


class Annotates(Honest):
    def pre_enqueue(self, pod: Any) -> None:
        pod.annotations["queued"] = "yes"


class WritesColumns(Honest):
    def filter_nodes(self, _state: Any, _pod: Any, nodes: Any, rows: Any) -> Verdicts:
        nodes.allocatable("cpu")[:] = 0
        return Verdicts(np.zeros(len(rows), dtype=np.intp), ())


def test_what_keeps_its_promises_passes() -> None:
    check_plugin(Honest, nodes=NODES)


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (TwoOpinions, 'the two forms of "TwoOpinions" disagree .*filter says Unschedulable .*filter_nodes says yes'),
        (LooksWider, '"LooksWider" says filter_scope = Scope.NODE, which looks at the node object alone; but'),
        (ReadsLabels, '"ReadsLabels" says score_scope = Scope.NODE, which .* score says 100, and 0 where'),
        (Moody, 'score of "Moody" says 1, and then 2'),
        (Labels, 'filter of "Labels" changed what it may only read: labels of node n0'),
        (TakesRoom, 'score of "TakesRoom" changed what it may only read: requested of node n0'),
        (Annotates, 'pre_enqueue of "Annotates" changed what it may only read: annotations of pod'),
        (WritesColumns, "read-only"),
    ],
)
def test_what_does_not_is_found(plugin: type, problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        check_plugin(plugin, nodes=NODES, examples=30)


@pytest.mark.parametrize("plugin", [one for one in DEFAULT_PLUGINS if hasattr(one, "filter_scope")])
def test_our_own_plugins_keep_theirs(plugin: type) -> None:
    check_plugin(plugin, examples=8)


@pytest.mark.parametrize("plugin", [Labels, TakesRoom])
def test_the_kit_catches_it_in_any_decision(plugin: type) -> None:
    with pytest.raises(Touched, match=f'plugin "{plugin.__name__}" changed what it may only read: '):
        Cluster(a_node("a"), a_node("b")).decide(a_pod().requests(cpu="1"), plugins=[plugin])


@pytest.mark.parametrize("plugin", [Labels, Annotates, TakesRoom])
def test_and_in_a_run(plugin: type) -> None:
    run = Cluster(a_node("a"), a_node("b")).run(plugins=[plugin])
    with pytest.raises(Touched, match=f'plugin "{plugin.__name__}" changed what it may only read: '):
        run.add(a_pod("web").requests(cpu="1"))
