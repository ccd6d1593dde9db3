"""percentageOfNodesToScore."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.engine import Placement
from moorage.engine.sampling import FEWEST, Sampling
from moorage.testing import Cluster, Scheduler, a_node, a_pod


def rows(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.intp)


ALL = np.arange(200, dtype=np.intp)


@pytest.mark.parametrize("percentage", [0, 100, -1, 101])
def test_all_nodes_unless_an_explicit_share_is_asked_for(percentage: int) -> None:
    assert Sampling().sample(ALL, ALL, percentage) is ALL


def test_small_clusters_are_looked_at_whole() -> None:
    few = np.arange(FEWEST - 1, dtype=np.intp)
    assert Sampling().sample(few, few, 10) is few


def test_never_fewer_than_a_hundred() -> None:
    assert Sampling().sample(ALL, ALL, 1).tolist() == list(range(100))


def test_each_search_goes_on_where_the_last_one_stopped() -> None:
    sampling = Sampling()
    assert sampling.sample(ALL, ALL, 60).tolist() == list(range(120))
    assert sampling.sample(ALL, ALL, 60).tolist() == [*range(40), *range(120, 200)]
    assert sampling.sample(ALL, ALL, 60).tolist() == list(range(40, 160))


def test_nodes_that_do_not_fit_are_passed_over() -> None:
    sampling = Sampling()
    even = ALL[::2]
    assert sampling.sample(even, ALL, 40).tolist() == even.tolist(), "a hundred are wanted, and there are no more"
    late = np.arange(50, 200, dtype=np.intp)
    assert sampling.sample(late, ALL, 50).tolist() == list(range(50, 150))
    assert sampling.sample(late, ALL, 50).tolist() == [*range(50, 100), *range(150, 200)]


@given(st.lists(st.integers(0, 299), unique=True, min_size=1), st.integers(1, 99), st.integers(1, 5))
def test_against_walking_the_nodes_one_by_one(feasible: list[int], percentage: int, times: int) -> None:
    nodes = np.arange(300, dtype=np.intp)
    fitting = set(feasible)
    wanted = max(300 * percentage // 100, FEWEST)
    sampling, start = Sampling(), 0
    for _ in range(times):
        found: list[int] = []
        for offset in range(300):
            row = (start + offset) % 300
            if row in fitting and len(found) == wanted:
                start = row
                break
            if row in fitting:
                found.append(row)
        assert sampling.sample(rows(*sorted(feasible)), nodes, percentage).tolist() == sorted(found)


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
