"""A plugin that breaks fails that pod's cycle, is named in the message, and hurts nobody else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from moorage.attempt.placing import Placed, Placer
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine import Engine, Failure, Placement
from moorage.errors import InputError, PluginError
from moorage.framework import (
    NormalizeByMax,
    PermitAnswer,
    PostFilterAnswer,
    Scope,
    Verdicts,
    error,
    unschedulable,
    wait,
)
from moorage.framework.faults import Faults
from moorage.framework.points import Wait
from moorage.framework.status import Status
from moorage.testing import Cluster, Scheduler, a_node, a_pod

#: More than the few rows for which the one-node form is asked anyway.
NODES = tuple(a_node(f"n{number}") for number in range(8))
FULL = tuple(a_node(f"n{number}").allocatable(cpu="0") for number in range(8))


def _named(point: str) -> str:
    """As kube-scheduler names the plugin that broke."""
    return '"Broken" filter plugin' if point == "Filter" else f'{point} plugin "Broken"'


def plugin(**members: Any) -> type:
    """A plugin class with these methods and attributes."""

    def init(self: Any, _args: Any, _handle: Any) -> None: ...

    return type("Broken", (), {"__init__": init, **members})


def raising(*_: Any) -> Any:
    raise ZeroDivisionError("by zero")


def scheduler(members: dict[str, Any], nodes: tuple[Any, ...] = NODES) -> Scheduler:
    return Cluster(*nodes).scheduler(plugins=[plugin(**members)])


def info(engine: Engine) -> PodInfo:
    return engine.snapshot.info(a_pod().requests(cpu="1").build())


def give(answer: Any) -> Callable[..., Any]:
    return lambda *_: answer


def ignored(*_: Any) -> None: ...


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "pre_filter raises": ({"pre_filter": raising, "filter": ignored}, "PreFilter"),
    "pre_filter of a kept filter raises": (
        {"pre_filter": raising, "filter": ignored, "filter_scope": Scope.NODE},
        "PreFilter",
    ),
    "pre_filter answers an error": ({"pre_filter": give(error("no good"))}, "PreFilter"),
    "pre_filter answers wait": ({"pre_filter": give(wait("a bit"))}, "PreFilter"),
    "pre_filter answers nonsense": ({"pre_filter": give("yes")}, "PreFilter"),
    "filter raises": ({"filter": raising}, "Filter"),
    "kept filter raises": ({"filter": raising, "filter_scope": Scope.NODE_AND_PODS}, "Filter"),
    "filter answers an error": ({"filter": give(error("no good"))}, "Filter"),
    "filter answers nonsense": ({"filter": give(True)}, "Filter"),
    "filter_nodes raises": ({"filter_nodes": raising}, "Filter"),
    "filter_nodes answers an error": (
        {
            "filter_nodes": lambda _self, _state, _pod, _nodes, rows: Verdicts(
                np.ones(len(rows), dtype=np.intp), (error("x"),)
            )
        },
        "Filter",
    ),
    "filter_nodes answers too few": (
        {"filter_nodes": give(Verdicts(np.array([1], dtype=np.intp), (unschedulable("x"),)))},
        "Filter",
    ),
    "filter_nodes answers an unknown status": (
        {
            "filter_nodes": lambda _self, _state, _pod, _nodes, rows: Verdicts(
                np.full(len(rows), 7), (unschedulable("x"),)
            )
        },
        "Filter",
    ),
    "filter_nodes answers nonsense": ({"filter_nodes": give(None)}, "Filter"),
    "pre_score raises": ({"pre_score": raising, "score": give(1)}, "PreScore"),
    "pre_score of a kept score raises": (
        {"pre_score": raising, "score": give(1), "score_scope": Scope.NODE},
        "PreScore",
    ),
    "pre_score refuses": ({"pre_score": give(unschedulable("x")), "score": give(1)}, "PreScore"),
    "pre_score answers nonsense": ({"pre_score": give(5), "score": give(1)}, "PreScore"),
    "score raises": ({"score": raising}, "Score"),
    "kept score raises": ({"score": raising, "score_scope": Scope.NODE}, "Score"),
    "score answers nothing": ({"score": give(None)}, "Score"),
    "score answers text": ({"score": give("100")}, "Score"),
    "score answers a fraction": ({"score": give(0.5)}, "Score"),
    "score answers too much": ({"score": give(101)}, "Score"),
    "score answers too little": ({"score": give(-1)}, "Score"),
    "kept score answers too much": ({"score": give(101), "score_scope": Scope.NODE_AND_PODS}, "Score"),
    "score_nodes raises": ({"score_nodes": raising}, "Score"),
    "score_nodes answers too much": (
        {"score_nodes": lambda _self, _state, _pod, _nodes, rows: np.full(len(rows), 101)},
        "Score",
    ),
    "score_nodes answers too few": ({"score_nodes": give(np.array([1, 2]))}, "Score"),
    "score_nodes answers fractions": (
        {"score_nodes": lambda _self, _state, _pod, _nodes, rows: np.full(len(rows), 0.5)},
        "Score",
    ),
    "score_nodes answers nonsense": ({"score_nodes": give("many")}, "Score"),
    "normalize_scores raises": ({"score": give(1), "normalize_scores": raising}, "NormalizeScore"),
    "normalize_scores answers too much": (
        {"score": give(1), "normalize_scores": lambda _self, _state, _pod, scores, _rows: scores + 100},
        "Score",
    ),
    "normalize_scores answers nothing": ({"score": give(1), "normalize_scores": ignored}, "NormalizeScore"),
    "scores below zero to be normalised by the highest": (
        {
            "score": lambda _self, _state, _pod, node: -node.row,
            "normalize_scores": NormalizeByMax(),
            "score_scope": Scope.NODE,
        },
        "Score",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cycle_fails_and_names_the_plugin(name: str) -> None:
    members, point = CASES[name]
    engine = scheduler(members).engine
    outcome = engine.schedule(info(engine))
    assert isinstance(outcome, Failure)
    assert outcome.is_error
    # A score is looked at when it is weighed.
    begins = (f"running {_named(point)}: ", 'applying score defaultWeights on Score plugins: plugin "Broken" returns')
    assert outcome.message.startswith(begins)
    decision = engine.explain(info(engine))
    assert decision.is_error
    assert decision.message.startswith(begins)
    assert decision.as_data()["error"] == decision.message


@pytest.mark.parametrize(
    ("members", "point"),
    [
        ({"post_filter": raising}, "PostFilter"),
        ({"post_filter": give("nothing")}, "PostFilter"),
    ],
)
def test_post_filter(members: dict[str, Any], point: str) -> None:
    engine = scheduler(members, FULL).engine
    outcome = engine.schedule(info(engine))
    assert isinstance(outcome, Failure)
    assert outcome.message.startswith(f"running {_named(point)}: ")


def test_an_error_of_post_filter_is_told_beside_the_reasons() -> None:
    engine = scheduler({"post_filter": give(PostFilterAnswer(error("out of order")))}, FULL).engine
    outcome = engine.schedule(info(engine))
    assert isinstance(outcome, Failure)
    assert not outcome.is_error
    assert outcome.full_message == "0/8 nodes are available: 8 Insufficient cpu. out of order"


def test_what_was_raised_and_where_is_in_the_message() -> None:
    engine = scheduler({"filter": raising}).engine
    outcome = engine.schedule(info(engine))
    assert isinstance(outcome, Failure)
    line = raising.__code__.co_firstlineno + 1
    where = f"framework/test_broken_plugins.py:{line}"
    assert outcome.message == f'running "Broken" filter plugin: ZeroDivisionError: by zero (at {where})'


@pytest.mark.parametrize("nodes", [NODES, NODES[:2]])
@pytest.mark.parametrize("scope", [Scope.CLUSTER, Scope.NODE, Scope.NODE_AND_PODS])
def test_a_score_out_of_range_names_plugin_score_and_node(
    scope: Scope, nodes: tuple[Any, ...], caplog: pytest.LogCaptureFixture
) -> None:
    def score(_self: Any, _state: Any, _pod: Any, node: Any) -> int:
        return 1000 if node.name == "n1" else 1

    engine = scheduler({"score": score, "score_scope": scope}, nodes).engine
    outcome = engine.schedule(info(engine))
    assert isinstance(outcome, Failure)
    assert outcome.message == (
        'applying score defaultWeights on Score plugins: plugin "Broken" returns an invalid score 1000, '
        "it should in the range of [0, 100] after normalizing"
    )
    assert isinstance(outcome.error, PluginError)
    Faults().see(outcome.error, "it is tried again")
    assert caplog.messages == [f"{outcome.message}; it is the score of node n1; it is tried again"]


def test_numbers_of_numpy_are_numbers() -> None:
    engine = scheduler({"score": give(np.int64(7))}).engine
    assert engine.explain(info(engine)).scores["n0"]["Broken"] == 7


def test_a_plugin_that_breaks_for_one_pod_serves_the_next() -> None:
    def moody(_self: Any, _state: Any, pod: PodInfo, _node: Any) -> None:
        if pod.name == "unlucky":
            raise RuntimeError("not this one")

    engine = scheduler({"filter": moody}).engine
    assert isinstance(engine.schedule(engine.snapshot.info(a_pod("unlucky").build())), Failure)
    assert isinstance(engine.schedule(engine.snapshot.info(a_pod("lucky").build())), Placement)


def test_a_kept_plugin_that_broke_is_asked_again() -> None:
    answers = iter([RuntimeError("not yet")])

    def once(*_: Any) -> None:
        for problem in answers:
            raise problem

    engine = scheduler({"filter": once, "filter_scope": Scope.NODE}).engine
    assert isinstance(engine.schedule(info(engine)), Failure)
    assert isinstance(engine.schedule(info(engine)), Placement)


def test_a_kept_score_that_broke_is_asked_again() -> None:
    problems = iter([RuntimeError("not yet")])

    def once(_self: Any, _state: Any, _pod: Any, node: Any) -> int:
        for problem in problems if node.name == "n5" else ():
            raise problem
        return 100 if node.name == "n6" else 0

    engine = scheduler({"score": once, "score_scope": Scope.NODE}).engine
    assert isinstance(engine.schedule(info(engine)), Failure)
    placement = engine.schedule(info(engine))
    assert isinstance(placement, Placement)
    assert placement.node_name == "n6"


def test_a_kept_plugin_that_broke_on_a_new_node_forgets_no_other() -> None:
    is_broken = False

    def sometimes(*_: Any) -> None:
        if is_broken:
            raise RuntimeError("not now")

    engine = scheduler({"filter": sometimes, "filter_scope": Scope.NODE}).engine
    assert isinstance(engine.schedule(info(engine)), Placement)
    for number in range(engine.snapshot.nodes.capacity):
        engine.snapshot.nodes.set_node(a_node(f"more-{number}").build())
    is_broken = True
    assert isinstance(engine.schedule(info(engine)), Failure)
    is_broken = False
    placement = engine.schedule(info(engine))
    assert isinstance(placement, Placement)
    assert placement.feasible == len(engine.snapshot.nodes)


class Reserving:
    """Reserve and Unreserve, noted."""

    def __init__(self, _args: Any, _handle: Any) -> None:
        self.calls: list[str] = []

    def reserve(self, _state: Any, _pod: Any, node_name: str) -> None:
        self.calls.append(f"reserve {node_name}")

    def unreserve(self, _state: Any, _pod: Any, node_name: str) -> None:
        self.calls.append(f"unreserve {node_name}")


def reserve(engine: Engine) -> Placed | Status:
    placer = Placer(cluster=ClusterState(engine.snapshot), engine=engine)
    return placer.reserve(engine.reach(info(engine), "n"))


def reserving(answer: Callable[..., Any], unreserve: Callable[..., Any] = ignored) -> tuple[Engine, Reserving]:
    broken = plugin(reserve=answer, unreserve=unreserve)
    engine = Cluster(a_node("n")).scheduler(plugins=[Reserving, broken]).engine
    noted: Reserving = engine.runners["default-scheduler"].profile.plugins["Reserving"]
    return engine, noted


def test_a_refused_reserve_undoes_everything() -> None:
    engine, noted = reserving(give(unschedulable("taken")))
    refusal = reserve(engine)
    assert isinstance(refusal, Status)
    assert (refusal.plugin, refusal.reasons) == ("Broken", ("taken",))
    assert noted.calls == ["reserve n", "unreserve n"]
    assert engine.snapshot.nodes[0].pods == {}


def test_a_broken_reserve_undoes_everything() -> None:
    engine, noted = reserving(raising)
    with pytest.raises(PluginError, match='running Reserve plugin "Broken": ZeroDivisionError: by zero'):
        reserve(engine)
    assert noted.calls == ["reserve n", "unreserve n"]
    assert engine.snapshot.nodes[0].pods == {}


def test_a_broken_unreserve_keeps_nobody_else_from_it(caplog: pytest.LogCaptureFixture) -> None:
    engine, noted = reserving(give(unschedulable("taken")), raising)
    reserve(engine)
    assert noted.calls == ["reserve n", "unreserve n"]
    assert 'Unreserve plugin "Broken"' in caplog.text


def permitting(answer: Any) -> tuple[Any, dict[str, Wait]]:
    engine = Cluster(a_node("n")).scheduler(plugins=[plugin(permit=answer)]).engine
    placement = engine.schedule(info(engine))
    assert isinstance(placement, Placement)
    return engine.runners["default-scheduler"].permit(placement)


def test_permit_allows_denies_or_waits() -> None:
    assert permitting(give(None)) == (None, {})
    assert permitting(give(wait("a bit"))) == (None, {"Broken": Wait(0.0, "a bit")})
    assert permitting(give(PermitAnswer(wait(), 30))) == (None, {"Broken": Wait(30)})
    denied, _ = permitting(give(unschedulable("no")))
    assert (denied.plugin, denied.reasons) == ("Broken", ("no",))


@pytest.mark.parametrize("answer", [raising, give(error("no good")), give("yes")])
def test_a_broken_permit(answer: Any) -> None:
    with pytest.raises(PluginError, match=r'^running Permit plugin "Broken": '):
        permitting(answer)


def test_the_kit_shows_where_it_broke() -> None:
    with pytest.raises(PluginError) as broken:
        scheduler({"filter": raising}).decide(a_pod())
    assert isinstance(broken.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("init", "problem"),
    [
        (lambda _self, _wish: None, "plugin Broken: it is made with (_wish); ask for `args`, `handle`, both"),
        (raising, "plugin Broken: cannot be created: ZeroDivisionError: by zero"),
    ],
)
def test_a_plugin_that_cannot_be_made(init: Any, problem: str) -> None:
    with pytest.raises(InputError) as refusal:
        Cluster(a_node()).scheduler(plugins=[plugin(__init__=init, filter=ignored)])
    assert str(refusal.value).startswith(problem)
