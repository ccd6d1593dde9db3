"""Which pod gets the one place there is."""

from pathlib import Path

import pytest
from examples.queue_order.plugin import DEADLINE, EarliestDeadline

from moorage.testing import Cluster, PodBuilder, Run, a_node, a_pod


def due(name: str, deadline: str) -> PodBuilder:
    return a_pod(name).requests(cpu="1").annotations({DEADLINE: deadline})


@pytest.fixture
def run() -> Run:
    """A cluster without a node, so that pods wait."""
    config = Path(__file__).with_name("scheduler.yaml")
    return Cluster().run(plugins=[EarliestDeadline], config=config)


def test_the_earliest_deadline_goes_first(run: Run) -> None:
    run.add(due("late", "300"), due("soon", "100"), due("later", "200"), a_pod("whenever").requests(cpu="1"))
    for number, name in enumerate(("soon", "later", "late", "whenever")):
        run.add(a_node(f"n{number}").allocatable(cpu="1"))
        run.advance(30)
        assert run.node_of(name) == f"n{number}"


def test_priority_goes_before_deadlines(run: Run) -> None:
    run.add(due("soon", "100"), due("important", "300").priority(5))
    run.add(a_node("n").allocatable(cpu="1"))
    run.advance(30)
    assert run.node_of("important") == "n"


@pytest.mark.parametrize("deadline", ["tomorrow", "nan", ""])
def test_a_deadline_that_is_none_comes_last(run: Run, deadline: str) -> None:
    run.add(due("odd", deadline), due("soon", "100"))
    run.add(a_node("n").allocatable(cpu="1"))
    run.advance(30)
    assert run.node_of("soon") == "n"
