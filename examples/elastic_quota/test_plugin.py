"""What is one's own, what is borrowed, and how it comes back."""

from pathlib import Path
from typing import Any

import pytest
from examples.elastic_quota.plugin import ElasticQuotas

from moorage.testing import Cluster, PodBuilder, Run, a_node, a_pod


def quota(namespace: str, least: int, most: int) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": namespace},
        "spec": {"min": {"cpu": least}, "max": {"cpu": most}},
    }


def pod(namespace: str, name: str, priority: int = 0) -> PodBuilder:
    return a_pod(name).namespace(namespace).requests(cpu="1").priority(priority)


@pytest.fixture
def run() -> Run:
    """Four CPUs, of which two are the namespace `a`'s own, and two those of `b`."""
    config = Path(__file__).with_name("scheduler.yaml")
    cluster = Cluster(*(a_node(f"n{number}").allocatable(cpu="2") for number in range(2)))
    return cluster.add(quota("a", 2, 3), quota("b", 2, 4)).run(plugins=[ElasticQuotas], config=config)


def placed(run: Run, namespace: str) -> int:
    return sum(pod.namespace == namespace for node in run.core.cluster.snapshot.nodes for pod in node.pods.values())


def test_a_namespace_may_borrow_up_to_its_max(run: Run) -> None:
    run.add(*(pod("a", f"p{number}") for number in range(4)))
    assert placed(run, "a") == 3
    waiting = next(f"p{number}" for number in range(4) if not run.node_of(f"p{number}", "a"))
    assert "quota quota: cpu would exceed its max" in run.condition(waiting, "a")[1]


def test_nothing_is_lent_that_is_used(run: Run) -> None:
    run.add(*(pod("b", f"p{number}") for number in range(3)))
    run.add(*(pod("a", f"p{number}") for number in range(1)))
    assert (placed(run, "a"), placed(run, "b")) == (1, 3)
    run.add(pod("b", "more"))
    assert "quota quota: nobody has cpu left to lend" in run.condition("more", "b")[1]


def test_what_is_ones_own_is_taken_back(run: Run) -> None:
    run.add(*(pod("b", f"p{number}") for number in range(4)))
    assert placed(run, "b") == 4
    run.add(pod("a", "mine"))
    run.advance(30)
    assert run.node_of("mine", "a")
    assert (placed(run, "a"), placed(run, "b")) == (1, 3)


def test_within_a_quota_the_more_important_pod_stays(run: Run) -> None:
    run.add(*(pod("a", f"p{number}") for number in range(3)))
    run.add(pod("a", "important", priority=10))
    run.advance(30)
    assert run.node_of("important", "a")
    assert placed(run, "a") == 3


def test_borrowers_take_nothing_back(run: Run) -> None:
    run.add(*(pod("b", f"p{number}") for number in range(2)), *(pod("a", f"p{number}") for number in range(2)))
    run.add(pod("a", "greedy", priority=10_000))
    run.advance(30)
    assert (placed(run, "a"), placed(run, "b")) == (2, 2)


def test_a_quota_that_grows_wakes_who_waits(run: Run) -> None:
    run.add(*(pod("a", f"p{number}") for number in range(4)))
    assert placed(run, "a") == 3
    run.add(quota("a", 2, 4))
    run.advance(15)
    assert placed(run, "a") == 4


def test_namespaces_without_a_quota_are_let_alone(run: Run) -> None:
    run.add(*(pod("c", f"p{number}") for number in range(4)))
    assert placed(run, "c") == 4
