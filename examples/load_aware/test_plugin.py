"""Busy nodes are avoided, as long as somebody says which those are."""

import json
from pathlib import Path

import pytest
from examples.load_aware.plugin import LoadAware

from moorage.config import ConfigErrors
from moorage.testing import Cluster, Scheduler, a_node, a_pod


def said(**load: str) -> bytes:
    """What Prometheus answers to a query for a vector."""
    result = [{"metric": {"node": name}, "value": [1700000000, value]} for name, value in load.items()]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


@pytest.fixture
def scheduler() -> Scheduler:
    config = Path(__file__).with_name("scheduler.yaml")
    cluster = Cluster(a_node("busy"), a_node("idle"), a_node("unknown"))
    return cluster.scheduler(plugins=[LoadAware], config=config)


def test_idle_nodes_go_first(scheduler: Scheduler) -> None:
    scheduler.plugin(LoadAware).learn(said(busy="0.9", idle="0.1"))
    decided = scheduler.decide(a_pod("web"))
    decided.assert_chosen("idle")
    assert [decided.score(name, "LoadAware") for name in ("busy", "unknown", "idle")] == [500, 2500, 4500]


def test_without_figures_it_says_nothing(scheduler: Scheduler) -> None:
    assert "LoadAware" not in scheduler.decide(a_pod("web")).decision.scores["idle"]


def test_old_figures_are_none() -> None:
    config = Path(__file__).with_name("scheduler.yaml")
    run = Cluster(a_node("busy").allocatable(cpu="8"), a_node("idle")).run(plugins=[LoadAware], config=config)
    run.plugin(LoadAware).learn(said(busy="1", idle="0"))
    run.add(a_pod("web").requests(cpu="2"))
    assert run.node_of("web") == "idle"
    run.advance(61)
    run.add(a_pod("later").requests(cpu="2"))
    assert run.node_of("later") == "busy", "its CPUs are less taken"


@pytest.mark.parametrize("value", ["NaN", "7", "-1"])
def test_odd_figures_do_no_harm(scheduler: Scheduler, value: str) -> None:
    scheduler.plugin(LoadAware).learn(said(busy="0.9", idle=value))
    assert 0 <= scheduler.decide(a_pod("web")).score("idle", "LoadAware") <= 5000


@pytest.mark.parametrize("answer", [b"<html>", b"{}", b'{"data": {"result": [{"metric": {}}]}}', b"[]"])
def test_what_is_no_answer_is_told(scheduler: Scheduler, answer: bytes) -> None:
    with pytest.raises(ValueError):
        scheduler.plugin(LoadAware).learn(answer)


@pytest.mark.parametrize(
    ("args", "problem"),
    [({}, "args.url: missing"), ({"url": "prometheus:9090"}, "args.url: expected an http or https URL")],
)
def test_what_is_wrong_in_the_arguments_is_told(args: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigErrors, match=problem):
        Cluster(a_node()).scheduler(plugins=[LoadAware], args={LoadAware: args})
