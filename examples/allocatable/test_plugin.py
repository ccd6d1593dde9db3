"""Small nodes first, or big ones; and what a configuration may say."""

from pathlib import Path

import pytest
from examples.allocatable.plugin import Allocatable

from moorage.config import ConfigErrors
from moorage.testing import Cluster, a_node, a_pod, check_plugin

CLUSTER = Cluster(a_node("big").allocatable(cpu="64"), a_node("middle").allocatable(cpu="8"), a_node("small"))


@pytest.mark.parametrize(("mode", "best", "worst"), [("Least", "small", "big"), ("Most", "big", "small")])
def test_nodes_are_ranked_by_their_size(mode: str, best: str, worst: str) -> None:
    args = {"mode": mode, "resources": {"cpu": 1}}
    decided = CLUSTER.decide(a_pod("web"), plugins=[Allocatable], args={Allocatable: args}, weights={Allocatable: 1})
    assert decided.score(best, "Allocatable") == 100
    assert decided.score(worst, "Allocatable") == 0
    assert 0 < decided.score("middle", "Allocatable") < 100


def test_nodes_of_one_size_are_equal() -> None:
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod("web"), plugins=[Allocatable])
    assert decided.score("a", "Allocatable") == decided.score("b", "Allocatable") == 0


def test_as_configured() -> None:
    config = Path(__file__).with_name("scheduler.yaml")
    CLUSTER.decide(a_pod("web"), plugins=[Allocatable], config=config).assert_chosen("small")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"mode": "Smallest"}, "args.mode: invalid enum value 'Smallest'"),
        ({"mod": "Least"}, "args.mod: unknown field; did you mean mode?"),
        ({"resources": {"cpu": 0}}, "args.resources.cpu: expected a weight above 0, got 0"),
        ({"resources": {"cpu": "much"}}, r"args.resources\[...\]: expected int, got str"),
    ],
)
def test_what_is_wrong_in_the_arguments_is_told(args: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigErrors, match=problem):
        CLUSTER.decide(a_pod("web"), plugins=[Allocatable], args={Allocatable: args})


def test_it_keeps_its_promises() -> None:
    check_plugin(Allocatable)
