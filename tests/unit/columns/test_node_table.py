"""The node table: rows, columns, growth, ghosts, and rows that are used again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.columns import NodeTable, PodInfo, Snapshot
from moorage.columns.labels import ABSENT
from moorage.columns.pods import PodIndex
from moorage.objects import Taint
from moorage.testing import PodBuilder, a_node, a_pod

GPU = "example.com/gpu"


class Table:
    """A node table that makes its pods."""

    def __init__(self, capacity: int = 2) -> None:
        self.nodes = NodeTable(capacity)
        self.index = PodIndex()

    def pod(self, name: str, builder: PodBuilder | None = None) -> PodInfo:
        made = (builder or a_pod().requests(cpu="1")).metadata(name=name)
        return self.index.info(made.build(), on_node=True)


@pytest.fixture
def table() -> Table:
    return Table()


def test_columns_and_infos_say_the_same(table: Table) -> None:
    nodes = table.nodes
    info = nodes.set_node(a_node("n").allocatable({GPU: 4}, cpu="2", pods=7).taint("gpu").cordoned().zone("a").build())
    nodes.add_pod(table.pod("p", a_pod().requests({GPU: 1}, cpu="500m").host_port(80)), "n")
    row = info.row
    assert nodes.allocatable("cpu")[row] == info.allocatable["cpu"] == 2000
    assert nodes.requested(GPU)[row] == info.requested[GPU] == 1
    assert nodes.allocatable("pods")[row] == info.allowed_pods == 7
    assert nodes.resources.pod_count[row] == len(info.pods) == 1
    assert nodes.resources.scored_cpu[row] == info.scored_cpu == 500
    assert nodes.unschedulable[row]
    assert nodes.taint_sets[nodes.taint_set[row]] == info.taints == (Taint("gpu", "", "NoSchedule"),)
    assert (info.free("cpu"), info.free(GPU), info.free("pods")) == (1500, 3, 6)
    assert nodes.label("topology.kubernetes.io/zone").values == ["a"]
    assert nodes.label("absent").ids[row] == ABSENT


def test_free_follows_nodes_and_pods(table: Table) -> None:
    nodes = table.nodes
    nodes.set_node(a_node("n").allocatable(cpu="4", pods=2).build())
    free, slots = nodes.resources.free("cpu"), nodes.resources.free("pods")
    nodes.add_pod(table.pod("p"), "n")
    assert (free[0], slots[0]) == (3000, 1)
    nodes.set_node(a_node("n").allocatable(cpu="2", pods=9).build())
    assert (free[0], slots[0]) == (1000, 8)


def test_a_column_asked_for_late_is_filled(table: Table) -> None:
    table.nodes.set_node(a_node("n").allocatable({GPU: 4}).labels(disk="ssd").build())
    table.nodes.add_pod(table.pod("p", a_pod().requests({GPU: 1})), "n")
    fresh = NodeTable()
    fresh.set_node(a_node("n").allocatable({GPU: 4}).build())
    assert table.nodes.requested(GPU)[0] == 1
    assert fresh.allocatable(GPU)[0] == 4
    assert table.nodes.label("disk").values == ["ssd"]


def test_the_table_grows_and_keeps_what_it_holds(table: Table) -> None:
    for number in range(9):
        table.nodes.set_node(a_node(f"n{number}").allocatable(cpu=number + 1).labels(rank=str(number)).build())
        table.nodes.add_pod(table.pod(f"p{number}"), f"n{number}")
    nodes = table.nodes
    assert nodes.capacity >= 9
    assert nodes.rows.tolist() == list(range(9))
    assert nodes.allocatable("cpu")[nodes.rows].tolist() == [1000 * (number + 1) for number in range(9)]
    assert nodes.requested("cpu")[nodes.rows].tolist() == [1000] * 9
    assert [nodes.label("rank").values[i] for i in nodes.label("rank").ids[nodes.rows]] == [str(n) for n in range(9)]
    assert len(nodes) == 9
    assert [info.name for info in nodes] == [f"n{number}" for number in range(9)]


def test_a_pod_may_come_before_its_node(table: Table) -> None:
    table.nodes.add_pod(table.pod("p"), "later")
    assert len(table.nodes) == 0
    assert table.nodes.get("later") is None
    table.nodes.set_node(a_node("later").build())
    found = table.nodes.get("later")
    assert found is not None
    assert table.nodes.requested("cpu")[found.row] == 1000


def test_a_node_that_goes_leaves_a_ghost_until_its_pods_go(table: Table) -> None:
    nodes = table.nodes
    pod = table.pod("p")
    row = nodes.set_node(a_node("n").build()).row
    nodes.add_pod(pod, "n")
    nodes.remove_node("n")
    assert nodes.get("n") is None
    assert len(nodes) == 0
    assert nodes.row_of["n"] == row
    nodes.remove_pod(pod, "n")
    assert "n" not in nodes.row_of


def test_a_node_that_comes_back_finds_its_pods(table: Table) -> None:
    nodes = table.nodes
    nodes.set_node(a_node("n").build())
    nodes.add_pod(table.pod("p"), "n")
    nodes.remove_node("n")
    info = nodes.set_node(a_node("n").build())
    assert list(info.pods) == ["default-p-uid"]
    assert nodes.requested("cpu")[info.row] == 1000


def test_a_freed_row_is_used_again_and_clean(table: Table) -> None:
    nodes = table.nodes
    pod = table.pod("p", a_pod().requests({GPU: 1}))
    old = nodes.set_node(a_node("old").allocatable({GPU: 2}).labels(disk="ssd").taint("x").cordoned().build()).row
    nodes.add_pod(pod, "old")
    assert nodes.label("disk").ids[old] != ABSENT
    nodes.remove_pod(pod, "old")
    nodes.remove_node("old")
    nodes.remove_node("old")
    assert nodes.set_node(a_node("new").build()).row == old
    assert (
        nodes.allocatable(GPU)[old]
        == nodes.requested(GPU)[old]
        == nodes.resources.pod_count[old]
        == nodes.resources.scored_cpu[old]
        == 0
    )
    assert nodes.label("disk").ids[old] == ABSENT
    assert not nodes.unschedulable[old]
    assert nodes.taint_sets[nodes.taint_set[old]] == ()


def test_the_logs_tell_who_came_and_went(table: Table) -> None:
    nodes = table.nodes
    pod = table.pod("p")
    row = nodes.set_node(a_node("n").build()).row
    nodes.add_pod(pod, "n")
    nodes.remove_pod(pod, "n")
    changes = nodes.pod_changes.since(0)
    assert changes is not None
    assert [(change.row, change.pod, change.delta) for change in changes] == [(row, pod, 1), (row, pod, -1)]
    rows = nodes.pod_rows.since(0)
    assert rows is not None
    assert rows.tolist() == [row, row]


@pytest.mark.parametrize(
    ("change", "moves"),
    [
        (a_node("n"), False),
        (a_node("n").allocatable(cpu="9"), False),
        (a_node("n").image("web:1"), False),
        (a_node("n").labels(disk="ssd"), True),
        (a_node("n").taint("x"), True),
        (a_node("n").cordoned(), True),
        (a_node("m"), True),
    ],
)
def test_the_topology_moves_only_with_labels_taints_and_cordon(table: Table, change: object, moves: bool) -> None:
    table.nodes.set_node(a_node("n").build())
    before = table.nodes.topology_version
    table.nodes.set_node(change.build())  # type: ignore[attr-defined]
    assert (table.nodes.topology_version != before) is moves


def test_a_claim_is_used_while_a_pod_with_a_node_has_it(table: Table) -> None:
    nodes = table.nodes
    nodes.set_node(a_node("n").build())
    pods = [table.pod(name, a_pod().claim("data")) for name in "ab"]
    for pod in pods:
        nodes.add_pod(pod, "n")
    nodes.remove_pod(pods[0], "n")
    assert nodes.is_claim_used("default/data")
    assert not nodes.is_claim_used("other/data")
    nodes.remove_node("n")
    assert not nodes.is_claim_used("default/data")
    nodes.set_node(a_node("n").build())
    assert nodes.is_claim_used("default/data")
    nodes.remove_pod(pods[1], "n")
    assert not nodes.is_claim_used("default/data")


def test_images_and_their_spread(table: Table) -> None:
    images = table.nodes.images
    table.nodes.set_node(a_node("a").image("web:1", "web:latest", size="1Ki").build())
    table.nodes.set_node(a_node("b").image("web:1", size="1Ki").build())
    assert (images.by_name["web:1"].size, sorted(images.by_name["web:1"].rows)) == (1024, [0, 1])
    version = images.version
    table.nodes.set_node(a_node("b").image("web:1", size="1Ki").cordoned().build())
    assert images.version == version
    table.nodes.set_node(a_node("a").build())
    assert "web:latest" not in images.by_name
    assert images.version > version
    table.nodes.remove_node("b")
    assert images.by_name == {}


def test_a_copy_is_ones_own(table: Table) -> None:
    info = table.nodes.set_node(a_node("n").build())
    table.nodes.add_pod(table.pod("p", a_pod().requests(cpu="1").host_port(80)), "n")
    twin = info.copy()
    twin.remove_pod(next(iter(info.pods.values())))
    assert (twin.free("cpu"), len(twin.pods), len(twin.ports)) == (4000, 0, 0)
    assert (info.free("cpu"), len(info.pods), len(info.ports)) == (3000, 1, 1)
    assert (twin.name, twin.row, twin.labels) == (info.name, info.row, info.labels)


def test_a_port_held_twice_is_free_only_when_both_are_gone(table: Table) -> None:
    info = table.nodes.set_node(a_node("n").build())
    pods = [table.pod(name, a_pod().host_port(80)) for name in "ab"]
    for pod in pods:
        table.nodes.add_pod(pod, "n")
    table.nodes.remove_pod(pods[0], "n")
    assert len(info.ports) == 1
    table.nodes.remove_pod(pods[1], "n")
    assert len(info.ports) == 0


steps = st.lists(
    st.tuples(st.sampled_from(["node", "drop", "pod", "unpod"]), st.integers(0, 4), st.integers(1, 3)), max_size=40
)


@settings(deadline=None)
@given(steps)
def test_any_history_ends_as_if_made_at_once(history: list[tuple[str, int, int]]) -> None:
    table, placed, objects = Table(capacity=1), {}, {}
    for number, (kind, at, amount) in enumerate(history):
        name = f"n{at}"
        if kind == "node":
            objects[name] = a_node(name).allocatable({GPU: amount}).labels(rank=str(amount)).build()
            table.nodes.set_node(objects[name])
        elif kind == "drop":
            objects.pop(name, None)
            table.nodes.remove_node(name)
        elif kind == "pod":
            pod = table.pod(f"p{number}", a_pod().requests({GPU: amount}, cpu="1"))
            placed[pod.uid] = (pod, name)
            table.nodes.add_pod(pod, name)
        elif placed:
            pod, name = placed.pop(list(placed)[at % len(placed)])
            table.nodes.remove_pod(pod, name)
    fresh = Snapshot.of([*objects.values(), *(pod.bound_to(name).pod for pod, name in placed.values())]).nodes
    assert sorted(info.name for info in table.nodes) == sorted(info.name for info in fresh)
    for info in table.nodes:
        twin = fresh.get(info.name)
        assert twin is not None
        assert (info.allocatable, set(info.pods)) == (twin.allocatable, set(twin.pods))
        for resource in (GPU, "cpu"):
            assert (
                table.nodes.requested(resource)[info.row]
                == fresh.requested(resource)[twin.row]
                == info.requested.get(resource, 0)
            )
        assert table.nodes.resources.pod_count[info.row] == len(info.pods)
        assert table.nodes.label("rank").values[table.nodes.label("rank").ids[info.row]] == info.labels["rank"]
    assert np.array_equal(np.flatnonzero(table.nodes.alive), table.nodes.rows)


def test_the_order_of_a_nodes_pods_is_that_of_kube_schedulers_list() -> None:
    """Who came last fills the gap that a pod leaves; an update is leaving and coming. Preemption reads the order."""
    snapshot = Snapshot.of([a_node("n").build(), *(a_pod(name).on("n").build() for name in "abcd")])
    info = snapshot.nodes.get("n")
    assert info is not None
    held = {pod.name: pod for pod in info.pods.values()}

    def order() -> str:
        return "".join(pod.name for pod in info.pods.values())

    assert order() == "abcd"
    snapshot.nodes.renew_pod(held["a"].renewed(held["a"].pod))
    assert order() == "dbca"
    snapshot.nodes.remove_pod(held["b"], "n")
    assert order() == "dac"
    snapshot.nodes.remove_pod(held["c"], "n")
    assert order() == "da"
