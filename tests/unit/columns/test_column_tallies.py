"""Pods tallied by what selects them."""

from moorage.columns import PodInfo, Snapshot
from moorage.columns.tallies import Clause, PodSelection, SelectedPods, Tally
from moorage.testing import a_node, a_pod
from moorage.values.selector import EVERYTHING, Selector, from_labels

WEB = from_labels({"app": "web"})


class Reader:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int, int]] = []

    def add(self, row: int, delta: int, weight: int) -> None:
        self.heard.append((row, delta, weight))


def a_selection(selector: Selector, *namespaces: str, terminating: bool = True) -> PodSelection:
    return PodSelection((Clause(frozenset(namespaces) if namespaces else None, selector),), terminating)


def pod(snapshot: Snapshot, name: str, namespace: str = "default", **labels: str) -> PodInfo:
    return snapshot.info(a_pod(name).namespace(namespace).labels(labels).build())


def places(tally: Tally) -> dict[int, int]:
    return {row: pods for part in tally.places() for row, pods in part.items()}


def watched(snapshot: Snapshot, selection: PodSelection) -> SelectedPods:
    tally = snapshot.nodes.tallies.selected(selection)
    tally.attach(Reader(), 1)
    return tally


def cluster() -> Snapshot:
    snapshot = Snapshot.of(a_node(name).build() for name in ("n0", "n1"))
    snapshot.nodes.add_pod(pod(snapshot, "one", app="web"), "n0")
    snapshot.nodes.add_pod(pod(snapshot, "two", app="web", pod="two"), "n1")
    snapshot.nodes.add_pod(pod(snapshot, "three", "other", app="web"), "n1")
    return snapshot


def test_pods_already_there_are_found() -> None:
    assert places(watched(cluster(), a_selection(WEB, "default"))) == {0: 1, 1: 1}


def test_any_namespace() -> None:
    tally = watched(cluster(), a_selection(WEB))
    assert sorted(sum(part.values()) for part in tally.places()) == [1, 1, 1]


def test_every_clause_must_hold() -> None:
    clauses = (Clause(frozenset(("default",)), WEB), Clause(None, from_labels({"pod": "two"})))
    assert places(watched(cluster(), PodSelection(clauses, terminating=True))) == {1: 1}


def test_readers_are_told_with_the_weight_they_asked_for() -> None:
    snapshot, reader = cluster(), Reader()
    snapshot.nodes.tallies.selected(a_selection(WEB, "default")).attach(reader, 7)
    late = pod(snapshot, "late", app="web", pod="late")
    snapshot.nodes.add_pod(late, "n1")
    snapshot.nodes.add_pod(pod(snapshot, "unrelated", app="db"), "n1")
    snapshot.nodes.remove_pod(late, "n1")
    assert reader.heard == [(1, 1, 7), (1, -1, 7)]


def test_a_detached_reader_hears_no_more_and_the_tally_rests() -> None:
    snapshot, reader = cluster(), Reader()
    tally = snapshot.nodes.tallies.selected(a_selection(WEB, "default"))
    tally.attach(reader, 1)
    tally.detach(reader)
    snapshot.nodes.add_pod(pod(snapshot, "late", app="web"), "n1")
    assert reader.heard == []
    assert places(tally) == {}
    tally.attach(reader, 1)
    assert sum(sum(part.values()) for part in tally.places()) == 3


def test_groups_without_pods_are_let_go() -> None:
    snapshot = cluster()
    tally = watched(snapshot, a_selection(EVERYTHING, "default"))
    only = pod(snapshot, "only", app="unique")
    snapshot.nodes.add_pod(only, "n0")
    assert only.label_group in tally.groups
    snapshot.nodes.remove_pod(only, "n0")
    assert only.label_group not in tally.groups


def test_pods_being_deleted_count_only_where_asked_for() -> None:
    snapshot = cluster()
    snapshot.nodes.add_pod(snapshot.info(a_pod("going").labels(app="web").terminating().build()), "n0")
    with_them = watched(snapshot, a_selection(WEB, "default", terminating=True))
    without = watched(snapshot, a_selection(WEB, "default", terminating=False))
    assert sum(sum(part.values()) for part in with_them.places()) == 3
    assert sum(sum(part.values()) for part in without.places()) == 2


def test_equal_selections_share_a_tally() -> None:
    tallies = cluster().nodes.tallies
    first = tallies.selected(a_selection(WEB, "default"))
    assert tallies.selected(a_selection(from_labels({"app": "web"}), "default")) is first
