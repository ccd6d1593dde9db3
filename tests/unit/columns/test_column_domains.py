"""Nodes divided into topology domains."""

import numpy as np
import pytest

from moorage.columns import Snapshot
from moorage.columns.domains import EACH_NODE, DomainIndex, Topology
from moorage.columns.labels import ABSENT
from moorage.objects import Toleration
from moorage.testing import ZONE, a_node, a_pod
from moorage.values.nodeselector import required_node_affinity

NODES = (
    a_node("a1").zone("a").labels(disk="ssd"),
    a_node("b1").zone("b").labels(disk="hdd").taint("dedicated"),
    a_node("bare").labels(disk="ssd"),
    a_node("a2").zone("a"),
)


def cluster() -> Snapshot:
    return Snapshot.of(node.build() for node in NODES)


def values(snapshot: Snapshot, topology: Topology) -> list[str | None]:
    """The domain of each node by the label's value."""
    assert topology.key is not None
    column = snapshot.nodes.label(topology.key)
    domains = DomainIndex(snapshot.nodes).of(topology)
    named = {**dict(enumerate(column.values)), ABSENT: None, len(column.values): "(no label)"}
    return [named[domain] for domain in domains.of_row[snapshot.nodes.rows].tolist()]


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        (Topology(ZONE), ["a", "b", None, "a"]),
        (Topology(ZONE, required_keys=frozenset(("disk",))), ["a", "b", None, None]),
        (
            Topology(ZONE, node_affinity=required_node_affinity(a_pod().node_selector(disk="ssd").build())),
            ["a", None, None, None],
        ),
        (Topology(ZONE, tolerations=()), ["a", None, None, "a"]),
        (Topology(ZONE, tolerations=(Toleration("dedicated", "Exists"),)), ["a", "b", None, "a"]),
        (Topology(ZONE, absent_is_empty=True), ["a", "b", "(no label)", "a"]),
    ],
)
def test_which_nodes_lie_where(topology: Topology, expected: list[str | None]) -> None:
    assert values(cluster(), topology) == expected


def test_a_missing_label_joins_the_empty_value() -> None:
    snapshot = cluster()
    snapshot.add(a_node("empty").zone("").build())
    assert values(snapshot, Topology(ZONE, absent_is_empty=True)) == ["a", "b", "", "a", ""]


def test_only_domains_with_a_node_are_listed() -> None:
    snapshot = cluster()
    snapshot.nodes.label(ZONE)
    snapshot.nodes.remove_node("b1")
    domains = DomainIndex(snapshot.nodes).of(Topology(ZONE))
    assert [snapshot.nodes.label(ZONE).values[index] for index in domains.ids.tolist()] == ["a"]


def test_without_a_key_every_node_is_a_domain() -> None:
    snapshot = cluster()
    domains = DomainIndex(snapshot.nodes).of(EACH_NODE)
    assert np.array_equal(domains.of_row[snapshot.nodes.rows], snapshot.nodes.rows)


def test_domains_are_shared_until_nodes_change() -> None:
    snapshot = cluster()
    index = DomainIndex(snapshot.nodes)
    first = index.of(Topology(ZONE))
    assert index.of(Topology(ZONE)) is first
    snapshot.add(a_node("a2").zone("b").build())
    assert index.of(Topology(ZONE)) is not first
