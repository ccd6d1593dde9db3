"""DefaultPreemption: whom to evict, and where that costs least."""

from typing import Any

import pytest
from tests.unit.plugins.handles import a_handle
from tests.unit.plugins.volumes.volume_builders import hint

from moorage.columns import PodInfo, Snapshot
from moorage.config import DefaultPreemptionArgs, features_of
from moorage.engine.engine import make_engine
from moorage.engine.outcome import Failure
from moorage.framework.events import Action, Hint, Resource
from moorage.objects import (
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from moorage.plugins import DefaultPreemption
from moorage.plugins.default_preemption.budgets import Budgets, PreemptionRules
from moorage.plugins.default_preemption.candidates import Candidate, by_importance, cheapest
from moorage.testing import Cluster, Decided, PodBuilder, a_node, a_pod

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
NEW = a_pod("new").requests(cpu="4").priority(100)


def budget(allowed: int, *disrupted: str, namespace: str = "default", **labels: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        ObjectMeta(name=f"guard-{allowed}", namespace=namespace),
        PodDisruptionBudgetSpec(LabelSelector(labels)),
        PodDisruptionBudgetStatus(allowed, dict.fromkeys(disrupted, EARLY)),
    )


def victims(decided: Decided) -> tuple[str, tuple[str, ...]]:
    assert decided.preemption is not None
    return decided.preemption.node, tuple(key.removeprefix("default/") for key in decided.preemption.victims)


def small(name: str, priority: int = 0) -> PodBuilder:
    return a_pod(name).requests(cpu="1").priority(priority)


# ------------------------------------------------------------------------------------------------------------- who goes


def test_no_more_pods_go_than_must() -> None:
    pods = [small(name).on("n") for name in "abcd"]
    node, gone = victims(Cluster(a_node("n"), *pods).decide(NEW.requests(cpu="2")))
    assert (node, len(gone)) == ("n", 2)


def test_the_less_important_go_first() -> None:
    pods = [small("low", 1).on("n"), small("high", 3).on("n"), small("middle", 2).on("n"), small("lower", 0).on("n")]
    assert victims(Cluster(a_node("n"), *pods).decide(NEW.requests(cpu="2"))) == ("n", ("low", "lower"))


def test_among_equals_the_youngest_goes() -> None:
    pods = [small("old").started(EARLY).on("n"), small("young").started(LATE).on("n"), small("unborn").on("n")]
    cluster = Cluster(a_node("n").allocatable(cpu="3"), *pods)
    assert victims(cluster.decide(NEW.requests(cpu="1"))) == ("n", ("unborn",))
    assert victims(cluster.decide(NEW.requests(cpu="2"))) == ("n", ("unborn", "young"))


def test_pods_of_equal_or_higher_priority_stay() -> None:
    cluster = Cluster(a_node("n"), small("equal", 100).on("n"), small("higher", 101).on("n"))
    decided = cluster.decide(NEW)
    assert victims(decided) == ("", ())
    assert decided.preemption is not None
    assert decided.preemption.message.endswith(
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_room_that_no_eviction_makes() -> None:
    cluster = Cluster(a_node("small").allocatable(cpu="1"), a_node("cordoned").cordoned(), small("p").on("small"))
    decided = cluster.decide(NEW)
    assert decided.preemption is not None
    assert decided.preemption.message.endswith(
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_the_refusal_that_remains_is_told() -> None:
    stays = a_pod("stays").requests(cpu="3").priority(200).on("n")
    decided = Cluster(a_node("n"), stays, small("goes").on("n")).decide(NEW.requests(cpu="2"))
    assert decided.preemption is not None
    assert decided.preemption.message.endswith("preemption: 0/1 nodes are available: 1 Insufficient cpu.")


# ----------------------------------------------------------------------------------------------------- which node costs


def full(node: str, *priorities: int, start: str = EARLY, **labels: str) -> list[PodBuilder]:
    """Pods that fill a node of 4 cpus."""
    share = str(4 // len(priorities))
    return [
        a_pod(f"{node}-{index}").requests(cpu=share).priority(priority).started(start).labels(labels).on(node)
        for index, priority in enumerate(priorities)
    ]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(full("better", 9), full("worse", 1, app="db"), id="fewer broken budgets"),
        pytest.param(full("better", 5), full("worse", 9), id="lowest highest priority"),
        pytest.param(full("better", 5, 1), full("worse", 5, 2), id="lowest sum of priorities"),
        pytest.param(full("better", 5), full("worse", 5, -(2**31)), id="fewest victims"),
        pytest.param(full("better", 5, start=LATE), full("worse", 5, start=EARLY), id="latest start"),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_every_criterion(better: list[PodBuilder], worse: list[PodBuilder], seed: int) -> None:
    cluster = Cluster(a_node("better"), a_node("worse"), *better, *worse, budget(0, app="db"))
    assert victims(cluster.decide(NEW, seed=seed))[0] == "better"


def test_ties_are_broken_by_the_seed() -> None:
    nodes = [a_node(f"n{number}") for number in range(6)]
    pods = [small("x").requests(cpu="4").metadata(name=f"p{number}").on(f"n{number}") for number in range(6)]
    found = [victims(Cluster(*nodes, *pods).decide(NEW, seed=seed))[0] for seed in range(12)]
    assert len(set(found)) > 1
    assert found == [victims(Cluster(*nodes, *pods).decide(NEW, seed=seed))[0] for seed in range(12)]


def test_a_budget_is_broken_rather_than_nobody_helped() -> None:
    cluster = Cluster(a_node("n"), *full("n", 1, 1, app="db"), budget(0, app="db"))
    assert victims(cluster.decide(NEW)) == ("n", ("n-0", "n-1"))


def test_pods_that_a_budget_guards_are_spared_first() -> None:
    guarded, free = small("guarded", 1).labels(app="db").on("n"), small("free", 50).on("n")
    cluster = Cluster(a_node("n").allocatable(cpu="2"), guarded, free, budget(0, app="db"))
    assert victims(cluster.decide(NEW.requests(cpu="1"))) == ("n", ("free",))


@pytest.mark.parametrize(("absolute", "percentage", "fewest"), [(1, 0, 1), (3, 0, 3), (1, 50, 10)])
def test_only_so_many_candidates_are_looked_for(absolute: int, percentage: int, fewest: int) -> None:
    args = {"minCandidateNodesAbsolute": absolute, "minCandidateNodesPercentage": percentage}
    nodes = [a_node(f"n{number:02}") for number in range(20)]
    # The cheapest node is found only if it is among those looked at, which start anywhere.
    pods = [pod for number in range(20) for pod in full(f"n{number:02}", 50 - number)]
    cluster = Cluster(*nodes, *pods)
    found = {victims(cluster.decide(NEW, args={DefaultPreemption: args}, seed=seed))[0] for seed in range(20)}
    assert found <= {f"n{number:02}" for number in range(fewest - 1, 20)}
    assert len(found) > 1


# ---------------------------------------------------------------------------------------------------------- who may ask


def test_a_pod_that_may_not_preempt() -> None:
    cluster = Cluster(a_node("n"), *full("n", 1))
    decided = cluster.decide(NEW.priority(100, preempts=False))
    assert decided.preemption is not None
    assert decided.preemption.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def leaving(priority: int = 1, reason: str = "PreemptionByScheduler") -> PodBuilder:
    condition = Condition("DisruptionTarget", "True", reason)
    return small("leaving", priority).requests(cpu="4").terminating().status(conditions=(condition,)).on("n")


def test_a_pod_waits_while_its_victims_leave() -> None:
    cluster = Cluster(a_node("n"), leaving())
    decided = cluster.decide(NEW.nominated_to("n"))
    assert decided.preemption is not None
    assert decided.preemption.message.endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )


@pytest.mark.parametrize("other", [leaving(reason="EvictionByEvictionAPI"), leaving(priority=1000)])
def test_but_not_for_pods_that_leave_for_another_reason(other: PodBuilder) -> None:
    decided = Cluster(a_node("n"), other, a_node("m"), *full("m", 1)).decide(NEW.nominated_to("n"))
    assert decided.preemption is not None
    assert decided.preemption.node


def test_nor_where_the_promised_node_can_never_take_it() -> None:
    cluster = Cluster(a_node("n").cordoned(), leaving(), a_node("m"), *full("m", 1))
    assert victims(cluster.decide(NEW.nominated_to("n"))) == ("m", ("m-0",))


def test_pods_already_promised_the_node_are_counted() -> None:
    waiting = a_pod("waiting").requests(cpu="2").priority(100).nominated_to("n")
    pods = [small(name).on("n") for name in "abcd"]
    cluster = Cluster(a_node("n"), *pods, waiting)
    assert len(victims(cluster.decide(NEW.requests(cpu="2")))[1]) == 4


def test_a_pod_that_goes_never_helps_by_itself() -> None:
    plugin: Any = DefaultPreemption(DefaultPreemptionArgs(), a_handle())
    gone = a_pod("gone").on("n").build()
    assert hint(plugin, Snapshot().info(NEW.build()), Resource.ASSIGNED_POD, Action.DELETE, gone) is Hint.SKIP


# --------------------------------------------------------------------------------------------------------------- pieces


def infos(*pods: PodBuilder) -> list[PodInfo]:
    index = Snapshot().pods
    return [index.info(pod.build()) for pod in pods]


def names(pods: list[PodInfo]) -> list[str]:
    return [pod.name for pod in pods]


def test_importance() -> None:
    pods = infos(
        a_pod("waiting-1"),
        a_pod("late").started(LATE),
        a_pod("important").priority(5),
        a_pod("early").started(EARLY),
        a_pod("waiting-2"),
    )
    assert names(by_importance(pods, RULES)) == ["important", "early", "late", "waiting-1", "waiting-2"]
    older = PreemptionRules(start_times_once=False)
    assert names(by_importance(pods, older)) == ["important", "early", "late", "waiting-2", "waiting-1"]


RULES = PreemptionRules()


def split(budgets: list[PodDisruptionBudget], *pods: PodBuilder) -> tuple[list[str], list[str]]:
    violating, sparing = Budgets(budgets, RULES).split(infos(*pods))
    return names(violating), names(sparing)


DB = [a_pod(name).labels(app="db") for name in "abc"]


def test_budgets_are_spent_in_order() -> None:
    assert split([], *DB) == ([], ["a", "b", "c"])
    assert split([budget(2, app="db")], *DB) == (["c"], ["a", "b"])
    assert split([budget(0, app="db")], *DB) == (["a", "b", "c"], [])


def test_budgets_guard_their_own_namespace_and_labels() -> None:
    assert split([budget(0, app="web"), budget(0, namespace="other", app="db")], *DB) == ([], ["a", "b", "c"])
    assert split([budget(0, app="db")], a_pod("unlabelled")) == ([], ["unlabelled"])


def test_pods_already_counted_as_disrupted_are_free() -> None:
    assert split([budget(0, "b", app="db")], *DB) == (["a", "c"], ["b"])


def test_a_budget_that_selects_nothing_or_is_malformed_guards_nobody() -> None:
    empty = budget(0)
    absent = PodDisruptionBudget(ObjectMeta(name="x", namespace="default"))
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Like", ("db",)),))
    malformed = PodDisruptionBudget(ObjectMeta(name="y", namespace="default"), PodDisruptionBudgetSpec(bad))
    assert split([empty, absent, malformed], *DB) == ([], ["a", "b", "c"])


def test_every_budget_of_a_pod_is_spent() -> None:
    both = [a_pod("a").labels(app="db", tier="data"), a_pod("b").labels(tier="data")]
    assert split([budget(5, app="db"), budget(1, tier="data")], *both) == (["b"], ["a"])


def test_budgets_behind_the_first_that_breaks_are_spared() -> None:
    budgets = [budget(0, app="db"), budget(1, tier="data")]
    both = infos(a_pod("a").labels(app="db", tier="data"), a_pod("b").labels(tier="data"))
    assert names(Budgets(budgets, RULES).split(both)[0]) == ["a"]
    assert names(Budgets(budgets, PreemptionRules(first_broken_budget=False)).split(both)[0]) == ["a", "b"]


def test_success_is_told_as_the_version_does() -> None:
    newer = make_engine(Snapshot(), features=features_of("1.37"))
    older = make_engine(Snapshot(), features=features_of("1.36"))
    for engine, said in (
        (newer, "preemption: found a potential placement for pod on node n, preempting 1 victims"),
        (older, ""),
    ):
        engine.snapshot.add(a_node("n").allocatable(cpu="4").build())
        engine.snapshot.add(small("weak").on("n").build())
        failure = engine.schedule(engine.snapshot.info(NEW.build()))
        assert isinstance(failure, Failure)
        assert failure.nomination is not None
        assert failure.nomination.node_name == "n"
        assert failure.post_filter_message == said


def test_the_cheapest_of_many() -> None:
    one, two = infos(a_pod("one").started(EARLY), a_pod("two").started(LATE))
    candidates = [Candidate("x", (one,), 0), Candidate("y", (two,), 0), Candidate("z", (two,), 1)]
    assert [candidate.node_name for candidate in cheapest(candidates, now=4e9)] == ["y"]
    tied = [Candidate("x", (one,), 0), Candidate("y", (one,), 0)]
    assert [candidate.node_name for candidate in cheapest(tied, now=4e9)] == ["x", "y"]
