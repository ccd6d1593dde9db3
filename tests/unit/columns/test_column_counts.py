"""Tables of counts by domain."""

import gc

import pytest

from moorage.columns import NodeTable, PodInfo, Snapshot, counts
from moorage.columns.counts import NO_DOMAIN_MINIMUM, NOT_KEPT, CountTables, DomainCounts
from moorage.columns.domains import EACH_NODE, Topology
from moorage.columns.tallies import Clause, PodSelection, SelectedPods
from moorage.testing import ZONE, a_node, a_pod
from moorage.values.selector import from_labels


def web(snapshot: Snapshot, name: str) -> PodInfo:
    return snapshot.info(a_pod(name).labels(app="web").build())


def cluster() -> Snapshot:
    nodes = (a_node("a1").zone("a"), a_node("a2").zone("a"), a_node("b1").zone("b"), a_node("bare"))
    snapshot = Snapshot.of(node.build() for node in nodes)
    for index, node in enumerate(("a1", "a2", "a2", "bare")):
        snapshot.nodes.add_pod(web(snapshot, f"p{index}"), node)
    return snapshot


def webs(nodes: NodeTable) -> SelectedPods:
    clause = Clause(frozenset(("default",)), from_labels({"app": "web"}))
    return nodes.tallies.selected(PodSelection((clause,), terminating=False))


def by_zone(snapshot: Snapshot, table: DomainCounts) -> dict[str, int]:
    column = snapshot.nodes.label(ZONE)
    return {value: table.count(column.find(value)) for value in column.values}


def test_pods_are_counted_where_their_node_takes_part() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    table = tables.table(Topology(ZONE), {webs(snapshot.nodes): 1})
    tables.use(table)
    assert by_zone(snapshot, table) == {"a": 3, "b": 0}
    assert (table.pods, table.minimum()) == (3, 0)


def test_pods_that_come_and_go_are_heard_of() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    table = tables.table(Topology(ZONE), {webs(snapshot.nodes): 1})
    tables.use(table)
    assert table.minimum() == 0
    late, revision = web(snapshot, "late"), table.revision
    snapshot.nodes.add_pod(late, "b1")
    assert (by_zone(snapshot, table), table.minimum()) == ({"a": 3, "b": 1}, 1)
    assert table.revision != revision
    snapshot.nodes.remove_pod(late, "b1")
    assert (by_zone(snapshot, table), table.minimum()) == ({"a": 3, "b": 0}, 0)


def test_weights_multiply_counts_but_not_pods() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    table = tables.table(Topology(ZONE), {webs(snapshot.nodes): -5})
    tables.use(table)
    snapshot.nodes.add_pod(web(snapshot, "late"), "b1")
    assert by_zone(snapshot, table) == {"a": -15, "b": -5}
    assert table.pods == 4


def test_pods_on_rows_made_after_the_table_do_not_count_before_their_node_comes() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    table = tables.table(EACH_NODE, {webs(snapshot.nodes): 1})
    tables.use(table)
    for index in range(snapshot.nodes.capacity):
        snapshot.nodes.add_pod(web(snapshot, f"early{index}"), f"later{index}")
    assert table.pods == 4
    snapshot.add(a_node("later63").zone("a").build())
    tables.use(table)
    assert table.pods == 5


def test_minimum_with_changes_that_are_only_tried() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    table = tables.table(Topology(ZONE), {webs(snapshot.nodes): 1})
    tables.use(table)
    a, b = (snapshot.nodes.label(ZONE).find(value) for value in "ab")
    assert table.minimum_with({b: 1}) == 1
    assert table.minimum_with({b: 5}) == 3
    assert table.minimum_with({a: -4}) == -1
    assert table.minimum_with({a: 2, b: 7}) == 5
    assert table.minimum() == 0


def test_without_domains_the_minimum_is_out_of_reach() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    table = tables.table(Topology("nobody-has-it"), {webs(snapshot.nodes): 1})
    tables.use(table)
    assert table.minimum() == NO_DOMAIN_MINIMUM


def test_equal_tables_are_one() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    first = tables.table(Topology(ZONE), {webs(snapshot.nodes): 1})
    assert tables.table(Topology(ZONE), {webs(snapshot.nodes): 1}) is first
    assert tables.table(Topology(ZONE), {webs(snapshot.nodes): 2}) is not first


def test_tables_used_longest_ago_are_dropped_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MAX_CELLS", 1)
    monkeypatch.setattr(counts, "MIN_TABLES", 2)
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    first, second, third = (tables.table(Topology(ZONE), {webs(snapshot.nodes): weight}) for weight in (1, 2, 3))
    for table in (first, second, first, third):
        tables.use(table)
    assert [table.version == NOT_KEPT for table in (first, second, third)] == [False, True, False]
    snapshot.nodes.add_pod(web(snapshot, "late"), "b1")
    tables.use(second)
    assert by_zone(snapshot, second) == {"a": 6, "b": 2}


def test_a_table_nobody_holds_is_forgotten() -> None:
    snapshot = cluster()
    tables = CountTables(snapshot.nodes)
    known = id(tables.table(Topology(ZONE), {webs(snapshot.nodes): 1}))
    gc.collect()
    assert not any(id(one) == known for one in gc.get_objects() if isinstance(one, DomainCounts))
