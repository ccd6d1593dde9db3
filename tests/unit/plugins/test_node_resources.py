"""NodeResourcesFit and NodeResourcesBalancedAllocation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.handles import a_handle
from tests.unit.plugins.volumes.volume_builders import hint

from moorage.columns import Snapshot
from moorage.config import NodeResourcesFitArgs, ScoringStrategy
from moorage.framework.events import Action, Hint, Resource
from moorage.framework.status import Code
from moorage.plugins import NodeResourcesFit
from moorage.plugins.node_resources.strategies import broken_line
from moorage.testing import Cluster, NodeBuilder, PodBuilder, a_node, a_pod

GPU = "example.com/gpu"
MANY = range(9)


# --------------------------------------------------------------------------------------------------------------- Filter


@pytest.mark.parametrize("count", [1, 9])
def test_everything_a_node_lacks_is_named(count: int) -> None:
    nodes = [a_node(f"n{number}").allocatable(cpu="1", memory="1Gi", pods=1) for number in range(count)]
    pods = [a_pod(f"p{number}").requests(cpu="500m").on(f"n{number}") for number in range(count)]
    decided = Cluster(*nodes, *pods).decide(a_pod().requests({GPU: 1}, cpu="600m", memory="512Mi"))
    assert decided.reasons("n0") == ("Too many pods", "Insufficient cpu", f"Insufficient {GPU}")
    assert decided.refused_by("n0") == "NodeResourcesFit"


@pytest.mark.parametrize("count", [1, 9])
def test_what_the_node_never_offers_cannot_be_made_free(count: int) -> None:
    nodes = [a_node(f"n{number}").allocatable(cpu="2") for number in range(count)]
    pods = [a_pod(f"p{number}").requests(cpu="1").on(f"n{number}") for number in range(count)]
    cluster = Cluster(*nodes, *pods)
    busy = cluster.decide(a_pod().requests(cpu="2")).decision.rejected["n0"]
    small = cluster.decide(a_pod().requests(cpu="3")).decision.rejected["n0"]
    assert (busy.code, small.code) == (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


@pytest.mark.parametrize("count", [1, 9])
def test_the_last_bit_fits(count: int) -> None:
    cluster = Cluster(*(a_node(f"n{number}").allocatable(cpu="1", memory="1Gi") for number in range(count)))
    assert cluster.decide(a_pod().requests(cpu="1", memory="1Gi")).chosen
    assert not cluster.decide(a_pod().requests(cpu="1001m")).chosen
    assert not cluster.decide(a_pod().requests(memory=2**30 + 1)).chosen


def test_a_pod_that_asks_for_nothing_needs_a_slot() -> None:
    Cluster(a_node("n").allocatable(pods=0, cpu="0")).decide(a_pod()).assert_refused("n", because="Too many pods")
    assert Cluster(a_node("n").allocatable(pods=1, cpu="0")).decide(a_pod()).chosen == "n"


@pytest.mark.parametrize("args", [{"ignoredResources": [GPU]}, {"ignoredResourceGroups": ["example.com"]}])
def test_ignored_resources(args: dict[str, Any]) -> None:
    cluster = Cluster(*(a_node(f"n{number}") for number in MANY))
    pod = a_pod().requests({GPU: 1})
    cluster.decide(pod).assert_unschedulable(f"Insufficient {GPU}")
    assert cluster.decide(pod, args={NodeResourcesFit: args}).chosen


# ---------------------------------------------------------------------------------------------------------------- Score


def fit_scores(pod: PodBuilder, strategy: dict[str, Any], *objects: NodeBuilder | PodBuilder) -> dict[str, int]:
    decided = Cluster(*objects).decide(pod, args={NodeResourcesFit: {"scoringStrategy": strategy}})
    return {name: decided.score(name, "NodeResourcesFit") for name in decided.feasible}


CPU_AND_MEMORY = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
HALF = (a_node("empty").allocatable(cpu="4", memory="8Gi"), a_node("half").allocatable(cpu="4", memory="8Gi"))
HALF_POD = a_pod("old").requests(cpu="2", memory="4Gi").on("half")


@pytest.mark.parametrize(
    ("kind", "scores"),
    [("LeastAllocated", {"empty": 75, "half": 25}), ("MostAllocated", {"empty": 25, "half": 75})],
)
def test_strategies(kind: str, scores: dict[str, int]) -> None:
    pod = a_pod().requests(cpu="1", memory="2Gi")
    assert fit_scores(pod, {"type": kind, "resources": CPU_AND_MEMORY}, *HALF, HALF_POD) == scores


def test_weights_of_resources() -> None:
    resources = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]
    pod = a_pod().requests(cpu="2", memory="8Gi")
    assert fit_scores(pod, {"type": "LeastAllocated", "resources": resources}, HALF[0]) == {"empty": (3 * 50 + 0) // 4}


def test_containers_that_ask_for_nothing_count_with_a_default() -> None:
    # 100m of 1 cpu and 200 MiB of 1000 MiB
    node = a_node("n").allocatable(cpu="1", memory="1000Mi")
    assert fit_scores(a_pod(), {"type": "LeastAllocated", "resources": CPU_AND_MEMORY}, node) == {"n": (90 + 80) // 2}


def test_resources_a_node_does_not_offer_do_not_count() -> None:
    resources = [*CPU_AND_MEMORY, {"name": GPU, "weight": 8}]
    pod = a_pod().requests(cpu="1", memory="2Gi")
    assert fit_scores(pod, {"type": "MostAllocated", "resources": resources}, *HALF) == {"empty": 25, "half": 25}


def test_the_ratio_follows_its_shape() -> None:
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 1}],
        "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]},
    }
    assert fit_scores(a_pod().requests(cpu="1"), strategy, *HALF, HALF_POD) == {"empty": 25, "half": 75}


LINE = [(0, 0), (40, 100), (100, 30)]


@pytest.mark.parametrize(
    ("at", "value"), [(-5, 0), (0, 0), (10, 25), (39, 97), (40, 100), (41, 99), (70, 65), (100, 30), (150, 30)]
)
def test_broken_line(at: int, value: int) -> None:
    assert broken_line(LINE, at) == value


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, unique_by=lambda point: point[0]),
    st.integers(0, 100),
)
def test_a_broken_line_stays_between_its_points(points: list[tuple[int, int]], at: int) -> None:
    points.sort()
    values = [value for _, value in points]
    assert min(values) <= broken_line(points, at) <= max(values)
    assert all(broken_line(points, x) == value for x, value in points)


# ------------------------------------------------------------------------------------------------------------- Balanced


def balanced_scores(pod: PodBuilder, *objects: NodeBuilder | PodBuilder, **args: Any) -> dict[str, int]:
    decided = Cluster(*objects).decide(pod, args={"NodeResourcesBalancedAllocation": args})
    return {name: decided.score(name, "NodeResourcesBalancedAllocation") for name in decided.feasible}


def test_balance_is_scored_by_what_the_pod_changes() -> None:
    even = a_pod().requests(cpu="1", memory="2Gi")
    assert balanced_scores(even, HALF[0]) == {"empty": 75}
    lopsided = a_pod("old").requests(cpu="2").on("half")
    # On "half" the pod's memory evens out half of what the other pod's cpu left askew.
    assert balanced_scores(a_pod().requests(memory="4Gi"), *HALF, lopsided) == {"empty": 62, "half": 87}


def test_three_resources_take_the_standard_deviation() -> None:
    resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}, {"name": GPU, "weight": 1}]
    node = a_node("n").allocatable({GPU: 4}, cpu="4", memory="8Gi")
    pod = a_pod().requests({GPU: 4}, cpu="1", memory="2Gi")
    # Shares 1, 1/4, 1/4: mean 1/2, deviation 0.3535..., so 64 after and 100 before.
    assert balanced_scores(pod, node, resources=resources) == {"n": 50 + (50 + 64 - 100) // 2}


def test_pods_that_ask_for_nothing_are_not_scored() -> None:
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod())
    assert "NodeResourcesBalancedAllocation" not in decided.decision.scores["a"]


# ---------------------------------------------------------------------------------------------------------------- hints


PLUGIN = NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("LeastAllocated")), a_handle())
WAITING = Snapshot().info(a_pod("waiting").requests(cpu="2").build())


@pytest.mark.parametrize(
    ("gone", "answer"),
    [
        (a_pod("old").on("n"), Hint.QUEUE),
        (a_pod("old").nominated_to("n"), Hint.QUEUE),
        (a_pod("old"), Hint.SKIP),
    ],
)
def test_a_pod_that_goes_from_a_node_helps(gone: PodBuilder, answer: Hint) -> None:
    assert hint(PLUGIN, WAITING, Resource.ASSIGNED_POD, Action.DELETE, gone.build()) is answer


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        (a_pod("old").requests(cpu="2").on("n"), a_pod("old").requests(cpu="1").on("n"), Hint.QUEUE),
        (a_pod("old").requests(memory="2").on("n"), a_pod("old").requests(memory="1").on("n"), Hint.SKIP),
        (a_pod("old").requests(cpu="2"), a_pod("old").requests(cpu="1"), Hint.SKIP),
        (a_pod("waiting").requests(cpu="2"), a_pod("waiting").requests(cpu="1"), Hint.QUEUE),
    ],
)
def test_a_pod_that_shrinks(before: PodBuilder, after: PodBuilder, answer: Hint) -> None:
    event = (Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN)
    assert hint(PLUGIN, WAITING, *event, before.build(), after.build()) is answer


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        (None, a_node("n"), Hint.QUEUE),
        (None, a_node("n").allocatable(cpu="1"), Hint.SKIP),
        (None, a_node("n").allocatable(pods=0), Hint.SKIP),
        (a_node("n").allocatable(cpu="2"), a_node("n"), Hint.QUEUE),
        (a_node("n"), a_node("n"), Hint.SKIP),
        (a_node("n"), a_node("n").allocatable(cpu="3"), Hint.SKIP),
        (a_node("n"), a_node("n").allocatable(memory="99Gi"), Hint.SKIP),
        (a_node("n"), a_node("n").allocatable(pods=111), Hint.QUEUE),
    ],
)
def test_a_node_that_comes_or_grows(before: NodeBuilder | None, after: NodeBuilder, answer: Hint) -> None:
    action = Action.ADD if before is None else Action.UPDATE_NODE_ALLOCATABLE
    old = before.build() if before is not None else None
    assert hint(PLUGIN, WAITING, Resource.NODE, action, old, after.build()) is answer
