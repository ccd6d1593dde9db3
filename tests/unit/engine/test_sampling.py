"""percentageOfNodesToScore."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.engine import Placement
from moorage.engine.sampling import FEWEST, sample, wanted_nodes
from moorage.testing import Cluster, Scheduler, a_node, a_pod


def rows(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.intp)


ALL = np.arange(200, dtype=np.intp)


def walk(feasible: Any, percentage: int, start: int = 0, nodes: Any = ALL) -> tuple[list[int], int]:
    """The sample, and where the next one starts."""
    wanted = wanted_nodes(len(nodes), percentage, adaptive=False)
    found = sample(feasible, nodes, wanted, start, len(nodes))
    return (feasible.tolist(), start) if found is None else (found.rows.tolist(), found.next_start)


@pytest.mark.parametrize("percentage", [0, 100, -1, 101])
def test_all_nodes_unless_an_explicit_share_is_asked_for(percentage: int) -> None:
    assert wanted_nodes(200, percentage, adaptive=False) == 200


@pytest.mark.parametrize(("nodes", "wanted"), [(99, 99), (100, 100), (1000, 420), (5000, 500), (6000, 300)])
def test_the_adaptive_share_shrinks_as_the_cluster_grows(nodes: int, wanted: int) -> None:
    assert wanted_nodes(nodes, 0, adaptive=True) == wanted
    assert wanted_nodes(nodes, 100, adaptive=True) == nodes, "an explicit percentage says it all"


def test_small_clusters_are_looked_at_whole() -> None:
    assert wanted_nodes(FEWEST - 1, 10, adaptive=False) == FEWEST - 1


def test_never_fewer_than_a_hundred() -> None:
    assert walk(ALL, 1)[0] == list(range(100))


def test_each_search_goes_on_where_the_last_one_stopped() -> None:
    assert walk(ALL, 60) == (list(range(120)), 120)
    assert walk(ALL, 60, 120) == ([*range(40), *range(120, 200)], 40)
    assert walk(ALL, 60, 40) == (list(range(40, 160)), 160)


def test_nodes_that_do_not_fit_are_passed_over() -> None:
    even = ALL[::2]
    assert walk(even, 40) == (even.tolist(), 0), "a hundred are wanted, and there are no more"
    late = np.arange(50, 200, dtype=np.intp)
    assert walk(late, 50) == (list(range(50, 150)), 150)
    assert walk(late, 50, 150)[0] == [*range(50, 100), *range(150, 200)]


@given(st.lists(st.integers(0, 299), unique=True, min_size=1), st.integers(1, 99), st.integers(0, 299))
def test_against_walking_the_nodes_one_by_one(feasible: list[int], percentage: int, start: int) -> None:
    fitting = set(feasible)
    wanted = max(300 * percentage // 100, FEWEST)
    found: list[int] = []
    visited: list[int] = []
    for offset in range(300):
        row = (start + offset) % 300
        if row in fitting and len(found) == wanted:
            break
        visited.append(row)
        if row in fitting:
            found.append(row)
    got = sample(rows(*sorted(feasible)), np.arange(300, dtype=np.intp), wanted, start, 300)
    if len(visited) == 300:
        assert got is None
    else:
        assert got is not None
        assert (got.rows.tolist(), got.visited.tolist()) == (sorted(found), sorted(visited))
        assert got.next_start == (start + len(visited)) % 300


def scheduler(percentage: int) -> Scheduler:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 90,
        "profiles": [{"schedulerName": "default-scheduler", "percentageOfNodesToScore": percentage}],
    }
    return Cluster(*(a_node(f"n{number:03}") for number in range(200))).scheduler(config=config)


def test_a_profile_may_ask_for_a_share_of_its_own() -> None:
    engine = scheduler(50).engine
    outcome = engine.schedule(engine.snapshot.info(a_pod().build()))
    assert isinstance(outcome, Placement)
    assert outcome.feasible == 100
    assert outcome.node_name < "n100"
