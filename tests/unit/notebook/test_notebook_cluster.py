"""What a notebook's cluster decides, and how it shows itself."""

from typing import Any

import pytest

import moorage
from moorage.errors import InputError
from moorage.testing import a_node, a_pod


def _node(name: str, cpu: str = "2", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels}
    capacity = {"cpu": cpu, "memory": "4Gi", "pods": "10"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"capacity": capacity}}


def _pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


CLUSTER = moorage.load(_node("small", "1"), _node("large", "4"), _pod("web"), _pod("runs", "3", nodeName="large"))


def test_a_pod_is_decided_by_name_by_manifest_or_built() -> None:
    for pod in ("web", "default/web", _pod("other"), a_pod("built").requests(cpu="1")):
        assert CLUSTER.decide(pod).feasible == ("large", "small")


def test_a_pod_that_runs_is_decided_as_if_it_did_not() -> None:
    assert CLUSTER.decide("runs").chosen == "large"
    assert CLUSTER.decide(_pod("third", "3")).chosen == ""


def test_pending_pods_are_placed_one_after_the_other_by_priority() -> None:
    cluster = moorage.load(_node("one", "1"), _pod("low"), _pod("high", priority=5))
    assert cluster.pending == ("default/high", "default/low")
    assert [one.chosen for one in cluster.schedule()] == ["one", ""]
    assert cluster.pending == ("default/high", "default/low"), "nothing in the cluster changes"


def test_more_can_be_added() -> None:
    larger = CLUSTER.add(_node("huge", "64"))
    assert larger.decide(_pod("big", "32")).chosen == "huge"
    assert CLUSTER.nodes == ("small", "large")


def test_plugins_and_configuration_go_along() -> None:
    class OnlySmall:
        def __init__(self, _args: Any, _handle: Any) -> None:
            pass

        def score(self, _state: Any, _pod: Any, node: Any) -> int:
            return 100 if node.name == "small" else 0

    assert CLUSTER.decide("web", plugins=[OnlySmall], weights={OnlySmall: 100}).chosen == "small"


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match='no pod "default/wep" in this cluster; did you mean default/web'):
        CLUSTER.decide("wep")
    with pytest.raises(InputError, match="expected one Pod, got Node"):
        CLUSTER.decide(_node("n"))


def test_clusters_and_decisions_show_themselves_as_tables() -> None:
    assert "large  1     3000 of 4000" in str(CLUSTER)
    assert '<td style="text-align:left">3000 of 4000</td>' in CLUSTER._repr_html_()
    shown = CLUSTER.decide(_pod("third", "3"))._repr_html_()
    assert "default/third -&gt; nowhere" in shown
    assert "refused by NodeResourcesFit: Insufficient cpu" in shown


def test_what_comes_from_a_cluster_is_escaped() -> None:
    decided = moorage.load(_node("n1")).decide(a_pod("x").node_selector({"<b>": "&"}))
    assert "<b>" not in decided._repr_html_()
    from moorage.testing import Cluster

    table = Cluster(a_node("<script>")).decide(a_pod("x"))._repr_html_()
    assert "&lt;script&gt;" in table
    assert "<script>" not in table
