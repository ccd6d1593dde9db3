"""What the log says of a decision where somebody wants to read that much."""

import logging

import pytest
from tests.unit.attempt.conftest import Rig, plugin

from moorage.attempt.explaining import lines
from moorage.attempt.world import POD_LOGGER
from moorage.framework import unresolvable
from moorage.testing import Cluster, a_node, a_pod

NODE = a_node("a").allocatable(cpu="2", pods="10")


def test_nodes_are_told_with_scores_and_refusals() -> None:
    picky = plugin("Picky", filter=lambda *_: unresolvable("node(s) were not mine"))
    decided = Cluster(NODE, a_node("b").cordoned()).decide(a_pod("web"), plugins=[])
    told = list(lines(decided.decision))
    assert told[0] == "decided pod default/web: a; 1 of 2 nodes fit"
    assert f"a scores {decided.total('a')} (" in told[1]
    assert told[2] == "decided pod default/web: NodeUnschedulable says node(s) were unschedulable: b"
    refused = list(lines(Cluster(NODE).decide(a_pod("web"), plugins=[picky]).decision))
    assert refused == [
        "decided pod default/web: no node; 0 of 1 nodes fit",
        "decided pod default/web: Picky says node(s) were not mine: a",
    ]


def test_many_nodes_are_counted() -> None:
    cluster = Cluster(
        *(a_node(f"n{number:02}") for number in range(12)), *(a_node(f"c{n}").cordoned() for n in range(12))
    )
    told = list(lines(cluster.decide(a_pod()).decision))
    assert told[11] == "decided pod default/pod: and 2 more nodes"
    assert told[12].endswith("c6, c7 and 2 more")


@pytest.mark.parametrize(("level", "is_told"), [(logging.DEBUG, True), (logging.INFO, False)])
def test_it_is_told_where_it_is_wanted(rig: Rig, caplog: pytest.LogCaptureFixture, level: int, is_told: bool) -> None:
    caplog.set_level(level, logger=POD_LOGGER)
    rig.node(NODE)
    rig.pod(a_pod("web").requests(cpu="1"))
    rig.settle()
    assert rig.nodes_of() == {"web": "a"}
    assert ("decided pod default/web: a; 1 of 1 nodes fit" in caplog.messages) is is_told
