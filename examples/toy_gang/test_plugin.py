"""All of a gang, or none."""

from pathlib import Path

import pytest
from examples.toy_gang.plugin import GANG, SIZE, ToyGang

from moorage.testing import Cluster, PodBuilder, Run, a_node, a_pod

NODES = [a_node(name).allocatable(cpu="1") for name in ("a", "b", "c")]


def member(name: str, size: int = 3, gang: str = "g") -> PodBuilder:
    return a_pod(name).requests(cpu="1").labels({GANG: gang}).annotations({SIZE: str(size)})


@pytest.fixture
def run() -> Run:
    config = Path(__file__).with_name("scheduler.yaml")
    return Cluster(*NODES).run(plugins=[ToyGang], config=config)


def nodes_of(run: Run, *names: str) -> set[str]:
    return {run.node_of(name) for name in names}


def test_a_gang_is_bound_when_it_is_whole(run: Run) -> None:
    run.add(member("one"), member("two"))
    assert nodes_of(run, "one", "two") == {""}
    assert run.condition("one")[1].startswith("0/3 nodes are available: 2 of 3 pods of the gang are there")
    run.add(member("three"))
    run.advance(5)
    assert nodes_of(run, "one", "two", "three") == {"a", "b", "c"}


def test_the_first_wait_for_the_last_and_say_so(run: Run) -> None:
    run.add(a_pod("other").requests(cpu="1"))
    run.add(member("one"), member("two"), member("three"))
    assert nodes_of(run, "one", "two", "three") == {""}
    held = [name for name in ("one", "two", "three") if run.notes(name, "WaitingOnPermit")]
    assert len(held) == 2
    assert run.notes(held[0], "WaitingOnPermit")[-1].endswith(": 2 of 3")
    assert len(run.notes(held[0], "WaitingOnPermit")) == 2


def test_nobody_keeps_room_for_ever(run: Run) -> None:
    run.add(a_pod("other").requests(cpu="1"))
    run.add(member("one"), member("two"), member("three"))
    run.advance(21)
    run.add(a_pod("late").requests(cpu="1"), a_pod("later").requests(cpu="1"))
    run.advance(60)
    assert "" not in nodes_of(run, "late", "later")
    assert nodes_of(run, "one", "two", "three") == {""}


def test_gangs_do_not_mix(run: Run) -> None:
    run.add(member("one"), member("two"), member("stranger", gang="h"))
    run.advance(30)
    assert nodes_of(run, "one", "two", "stranger") == {""}


def test_pods_without_a_gang_do_not_wait(run: Run) -> None:
    run.add(a_pod("web"))
    assert run.node_of("web")
