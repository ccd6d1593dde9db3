"""Nodes and pods whose numbers nobody means, over all that 64 bits hold: whatever wraps, wraps as it does in Go."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.attempt.placing import Placer
from moorage.cluster import ClusterState
from moorage.columns import NodeTable, PodInfo, Snapshot
from moorage.config import parse_config
from moorage.engine import Engine, Failure, Placement, make_engine
from moorage.engine.asking import Answers
from moorage.framework import Handle, NodeInfo, Scope
from moorage.objects import Node, Pod
from moorage.testing import Cluster, a_node, a_pod
from moorage.values.int64 import HIGHEST, LOWEST, wrapped

#: Where things go wrong, and everything between.
amounts = st.one_of(
    st.sampled_from((0, 1, 100, 2**53, 2**55, 2**60, 3 * 2**60, 2**62, HIGHEST // 1000, HIGHEST - 1, HIGHEST)),
    st.integers(0, HIGHEST),
)
node_amounts = st.fixed_dictionaries(
    {"cpu": amounts, "memory": amounts, "pods": amounts, "ephemeral-storage": amounts, "example.com/gpu": amounts}
)
pod_amounts = st.dictionaries(st.sampled_from(("cpu", "memory", "ephemeral-storage", "example.com/gpu")), amounts)
images = st.lists(amounts, max_size=2)

RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 3}, {"name": "example.com/gpu", "weight": 2}]
SHAPE = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
STRATEGIES: list[dict[str, Any]] = [
    {"type": "LeastAllocated", "resources": RESOURCES},
    {"type": "MostAllocated", "resources": RESOURCES},
    {"type": "RequestedToCapacityRatio", "resources": RESOURCES, "requestedToCapacityRatio": SHAPE},
]


def node(name: str, offered: dict[str, int], sizes: list[int]) -> Node:
    built = a_node(name).allocatable({key: str(value) for key, value in offered.items()})
    for number, size in enumerate(sizes):
        built = built.image(f"image{number}:1", size=str(size))
    return built.build()


def pod(name: str, asked: dict[str, int], on: str = "") -> Pod:
    built = a_pod(name).requests({key: str(value) for key, value in asked.items()}).image("image0:1")
    return (built.on(on) if on else built).build()


def engine_of(snapshot: Snapshot, strategy: dict[str, Any]) -> Engine:
    return make_engine(
        snapshot,
        parse_config(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [
                    {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]},
                ],
            }
        ),
    )


def go_int(value: float) -> int:
    """What Go makes of a number that is too large, on the machines kube-scheduler runs on."""
    return int(value) if LOWEST <= int(value) <= HIGHEST else LOWEST


def quotient(number: int, by: int) -> int:
    """Go's division."""
    return abs(number) // abs(by) * (1 if (number < 0) == (by < 0) else -1)


def go_least(requested: int, capacity: int) -> int:
    return 0 if requested > capacity else quotient(wrapped(wrapped(capacity - requested) * 100), capacity)


def go_most(requested: int, capacity: int) -> int:
    return quotient(wrapped(min(requested, capacity) * 100), capacity)


def go_score(strategy: str, shares: list[tuple[int, int, int]]) -> int:
    """NodeResourcesFit's score of (requested, capacity, weight), step by step in 64 bits."""
    total = weights = 0
    for requested, capacity, weight in shares:
        if not capacity:
            continue
        if strategy == "RequestedToCapacityRatio":
            percent = 100 if requested > capacity else quotient(wrapped(requested * 100), capacity)
            score = min(max(percent, 0), 100)
            if score <= 0:
                continue
        else:
            score = (go_least if strategy == "LeastAllocated" else go_most)(requested, capacity)
        total, weights = wrapped(total + wrapped(score * weight)), weights + weight
    if not weights:
        return 0
    if strategy == "RequestedToCapacityRatio":
        return math.floor(total / weights + 0.5)
    return quotient(total, weights)


def thousandths(name: str, amount: int) -> int:
    return wrapped(amount * 1000) if name == "cpu" else amount


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(STRATEGIES),
    st.lists(st.tuples(node_amounts, images), min_size=1, max_size=8),
    st.lists(st.tuples(pod_amounts, st.integers(0, 7)), max_size=6),
    pod_amounts,
)
def test_whatever_numbers_there_are_columns_and_both_forms_are_those_of_go(
    strategy: dict[str, Any],
    nodes: list[tuple[dict[str, int], list[int]]],
    pods: list[tuple[dict[str, int], int]],
    asked: dict[str, int],
) -> None:
    snapshot = Snapshot.of([node(f"n{i}", *one) for i, one in enumerate(nodes)])
    engine = engine_of(snapshot, strategy)
    new = snapshot.info(pod("new", asked))
    engine.decide(new)  # columns are there from now on
    placed = [
        snapshot.pods.info(pod(f"p{i}", one, f"n{at % len(nodes)}"), on_node=True) for i, (one, at) in enumerate(pods)
    ]
    for one in placed:
        snapshot.nodes.add_pod(one, one.spec.node_name)
    check_columns(snapshot, nodes, placed)
    check_forms(engine, new, strategy)
    check_outcome(engine, new)
    for one in placed:
        snapshot.nodes.remove_pod(one, one.spec.node_name)
    check_columns(snapshot, nodes, [])
    assert snapshot.nodes.resources.absurd == {info.row for info in snapshot.nodes if not info.is_sane}


def check_columns(snapshot: Snapshot, nodes: list[tuple[dict[str, int], list[int]]], placed: list[PodInfo]) -> None:
    """What is requested, and free, modulo 64 bits."""
    for index, (offered, _) in enumerate(nodes):
        info = snapshot.nodes[index]
        there = [one for one in placed if one.spec.node_name == info.name]
        for name in ("cpu", "memory", "ephemeral-storage", "example.com/gpu"):
            requested = wrapped(sum(one.request.amounts.get(name, 0) for one in there))
            allocatable = thousandths(name, offered[name])
            assert info.requested.get(name, 0) == snapshot.nodes.requested(name)[index] == requested
            assert info.allocatable.get(name, 0) == snapshot.nodes.allocatable(name)[index] == allocatable
            free = snapshot.nodes.resources.free(name)[index]
            assert info.free(name) == free == wrapped(allocatable - requested)


def check_forms(engine: Engine, new: PodInfo, strategy: dict[str, Any]) -> None:
    """One node at a time, and all at once."""
    runner = engine.runner_of(new)
    search = runner.filtering.begin(new)
    nodes, state = engine.snapshot.nodes, search.state
    if search.rejection is not None:
        return
    fit = runner.profile.plugins["NodeResourcesFit"]
    codes, statuses = fit.filter_nodes(state, new, nodes, nodes.rows)
    assert [statuses[code - 1] if code else None for code in codes.tolist()] == [
        fit.filter(state, new, info) for info in nodes
    ]
    for name in ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality"):
        plugin = runner.profile.plugins[name]
        if hasattr(plugin, "pre_score") and plugin.pre_score(state, new, nodes, nodes.rows) is not None:
            continue
        many = plugin.score_nodes(state, new, nodes, nodes.rows).tolist()
        assert many == [plugin.score(state, new, info) for info in nodes], name
        if name == "NodeResourcesFit":
            assert many == [expected_fit(info, new, strategy) for info in nodes]


def expected_fit(info: NodeInfo, new: PodInfo, strategy: dict[str, Any]) -> int:
    scored = {
        "cpu": (info.scored_cpu, new.request.scored_cpu),
        "memory": (info.scored_memory, new.request.scored_memory),
    }
    shares = []
    for one in strategy["resources"]:
        name = one["name"]
        used, asked = scored.get(name, (info.requested.get(name, 0), new.request.amounts.get(name, 0)))
        if name in scored or asked:
            shares.append((wrapped(used + asked), info.allocatable.get(name, 0), one["weight"]))
    return go_score(strategy["type"], shares)


def check_outcome(engine: Engine, new: PodInfo) -> None:
    """A decision comes about; if a score is out of range, then that of a node that fits."""
    outcome = engine.decide(new, Answers(seed=1))
    told = engine.explain(new, Answers(seed=1))
    if isinstance(outcome, Failure) and outcome.is_error:
        assert "it should in the range of [0, 100] after normalizing" in outcome.message
        assert told.message == outcome.message or told.is_error
    elif isinstance(outcome, Placement):
        assert outcome.node_name in told.best
    else:
        assert isinstance(outcome, Failure)
        assert told.message == outcome.message


# ----------------------------------------------------------------------------------------------------------- the fault

POISON = a_node("poison").allocatable(cpu=str(HIGHEST), memory=str(HIGHEST))


def test_one_absurd_node_stops_nobody() -> None:
    cluster = Cluster(POISON, a_node("b"), a_pod("greedy").requests(cpu=str(HIGHEST)).on("poison"))
    scheduler = cluster.scheduler()
    assert [one.chosen for one in scheduler.schedule(*(a_pod(f"p{n}").requests(cpu="1") for n in range(3)))] == [
        "b"
    ] * 3
    assert scheduler.decide(a_pod("idle")).feasible == ("b", "poison")
    assert scheduler.decide(a_pod("idle")).decision.error is None


def test_pods_of_all_there_is_can_come_and_go() -> None:
    table = NodeTable()
    table.set_node(POISON.build())
    snapshot = Snapshot()
    snapshot.nodes = table
    table.requested("memory")
    pods = [snapshot.info(a_pod(f"p{n}").requests(memory=str(HIGHEST)).build()) for n in range(3)]
    for one in pods:
        table.add_pod(one, "poison")
    assert table[0].requested["memory"] == table.requested("memory")[0] == wrapped(3 * HIGHEST)
    for one in pods:
        table.remove_pod(one, "poison")
    assert (table[0].requested["memory"], table[0].scored_memory) == (0, 0)


class Rude:
    """Scores that cannot be right, on one node."""

    score_scope = Scope.NODE_AND_PODS

    def __init__(self, _args: Any, _handle: Handle) -> None: ...

    def score(self, _state: Any, _pod: PodInfo, info: NodeInfo) -> int:
        """Too much of a good thing."""
        return 1000 if info.name == "odd" else 1


@pytest.mark.parametrize("nodes", [2, 20])
def test_a_score_out_of_range_hurts_only_where_the_node_fits(nodes: int) -> None:
    others = [a_node(f"n{number}") for number in range(nodes)]
    engine = Cluster(a_node("odd").taint("keep-out", effect="NoSchedule"), *others).scheduler(plugins=[Rude]).engine
    for number in range(3):
        outcome = engine.schedule(engine.snapshot.info(a_pod(f"plain{number}").requests(cpu="1").build()))
        assert isinstance(outcome, Placement)
        Placer(cluster=ClusterState(engine.snapshot), engine=engine).reserve(outcome)
    tolerant = a_pod("tolerant").tolerates().requests(cpu="1")
    failed = engine.schedule(engine.snapshot.info(tolerant.build()))
    assert isinstance(failed, Failure)
    assert 'plugin "Rude" returns an invalid score 1000' in failed.message
    engine.snapshot.nodes.set_node(a_node("odd").cordoned().build())
    row = engine.snapshot.nodes.row_of["odd"]
    assert np.array_equal(engine.snapshot.nodes.unschedulable.nonzero()[0], [row])
    modest = a_pod("modest").tolerates("keep-out").requests(cpu="1")
    assert isinstance(engine.schedule(engine.snapshot.info(modest.build())), Placement)
