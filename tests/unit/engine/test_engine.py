"""Decisions: what they hold, how ties break, what is promised, what is assumed."""

from typing import Any

import pytest

from moorage.cluster import ClusterState
from moorage.columns import Snapshot
from moorage.engine import Engine, Failure, Placement, make_engine
from moorage.engine.cycle import NO_NODES
from moorage.errors import InputError
from moorage.framework import SKIP, Handle, NodeNames, PostFilterAnswer, Status, unresolvable, unschedulable
from moorage.testing import Cluster, PodBuilder, a_node, a_pod


def schedule(engine: Engine, pod: PodBuilder) -> Placement | Failure:
    return engine.schedule(engine.snapshot.info(pod.build()))


def failure(engine: Engine, pod: PodBuilder) -> Failure:
    outcome = schedule(engine, pod)
    assert isinstance(outcome, Failure)
    return outcome


def placed(engine: Engine, pod: PodBuilder) -> str:
    outcome = schedule(engine, pod)
    assert isinstance(outcome, Placement)
    return outcome.node_name


def plugin(name: str = "Mine", **methods: Any) -> type:
    def init(self: Any, _args: Any, _handle: Handle) -> None: ...

    return type(name, (), {"__init__": init, **methods})


# ------------------------------------------------------------------------------------------------------------ decisions


def test_a_decision_tells_everything() -> None:
    cluster = Cluster(
        a_node("a").allocatable(cpu="1"),
        a_node("b"),
        a_node("c").cordoned(),
        a_node("d").taint("slow", effect="PreferNoSchedule"),
    )
    decision = cluster.decide(a_pod("web").requests(cpu="2", memory="1Gi")).decision
    assert decision.pod == "default/web"
    assert decision.feasible == ("b", "d")
    assert {name: status.plugin for name, status in decision.rejected.items()} == {
        "a": "NodeResourcesFit",
        "c": "NodeUnschedulable",
    }
    assert decision.scores["b"]["TaintToleration"] == 300
    assert decision.scores["d"]["TaintToleration"] == 0
    assert "NodeAffinity" not in decision.scores["b"], "it has nothing to say and skips itself"
    assert decision.totals == {name: sum(scores.values()) for name, scores in decision.scores.items()}
    assert (decision.best, decision.chosen) == (("b",), "b")
    assert decision.preemption is None


def test_where_nothing_fits_every_reason_is_counted() -> None:
    nodes = [a_node(f"full-{number}").allocatable(cpu="1", pods=0) for number in range(3)]
    decided = Cluster(*nodes, a_node("cordoned").cordoned()).decide(a_pod().requests(cpu="2"))
    assert decided.message == (
        "0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient cpu, 3 Too many pods."
    )
    preemption = decided.preemption
    assert preemption is not None
    assert preemption.message == ("preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.")


def test_no_nodes_at_all() -> None:
    engine = Cluster().scheduler().engine
    assert failure(engine, a_pod()).message == NO_NODES
    assert engine.explain(engine.snapshot.info(a_pod().build())).message == NO_NODES


def test_a_pod_asks_for_its_profile() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "spreading"},
            {
                "schedulerName": "packing",
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {
                                "type": "MostAllocated",
                                "resources": [{"name": "cpu", "weight": 1}],
                            }
                        },
                    }
                ],
            },
        ],
    }
    cluster = Cluster(a_node("busy"), a_node("idle"), a_pod("p").requests(cpu="2").on("busy"))
    scheduler = cluster.scheduler(config=config)
    pod = a_pod("new").requests(cpu="1")
    assert scheduler.decide(pod.scheduler("spreading")).chosen == "idle"
    assert scheduler.decide(pod.scheduler("packing")).chosen == "busy"
    with pytest.raises(InputError, match='pod default/new names scheduler "other"; profiles: spreading, packing'):
        scheduler.decide(pod.scheduler("other"))


# ---------------------------------------------------------------------------------------------------------- determinism


def choices(seed: int) -> list[str]:
    snapshot = Snapshot.of([a_node(f"n{number}").build() for number in range(30)])
    engine = make_engine(snapshot, seed=seed)
    return [placed(engine, a_pod(f"p{number}")) for number in range(20)]


def test_the_same_seed_gives_the_same_choices_and_ties_are_spread() -> None:
    assert choices(1) == choices(1)
    assert choices(1) != choices(2)
    assert len(set(choices(1))) > 5


def test_deciding_changes_nothing() -> None:
    scheduler = Cluster(a_node("a"), a_node("b"), a_pod("old").requests(cpu="1").on("a")).scheduler()
    first = scheduler.decide(a_pod("new").requests(cpu="1")).decision
    position = scheduler.engine.snapshot.nodes.pod_changes.position
    assert scheduler.decide(a_pod("new").requests(cpu="1")).decision == first
    assert scheduler.engine.snapshot.nodes.pod_changes.position == position


# ------------------------------------------------------------------------------------------------------- nominated pods


CROWDED = (a_node("n").allocatable(cpu="2"), a_pod("waiting").requests(cpu="2").priority(10).nominated_to("n"))


@pytest.mark.parametrize(("priority", "fits"), [(9, False), (10, False), (11, True)])
def test_a_promised_node_is_kept_for_pods_of_at_least_equal_priority(priority: int, fits: bool) -> None:
    decided = Cluster(*CROWDED).decide(a_pod("new").requests(cpu="1").priority(priority))
    assert bool(decided.chosen) is fits
    if not fits:
        assert decided.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_pod_does_not_stand_in_its_own_way() -> None:
    node, waiting = CROWDED
    Cluster(node, waiting).decide(waiting).assert_chosen("n")


def test_the_promised_pods_may_never_come_so_they_cannot_be_counted_on() -> None:
    """A pod that wants to be near one that is only promised does not fit."""
    friend = a_pod("friend").labels(app="web").priority(10).nominated_to("n")
    decided = Cluster(a_node("n"), friend).decide(a_pod("new").near(app="web"))
    decided.assert_unschedulable("didn't match pod affinity rules")


def test_but_they_count_against_it() -> None:
    enemy = a_pod("enemy").labels(app="web").priority(10).nominated_to("n")
    decided = Cluster(a_node("n"), enemy).decide(a_pod("new").away_from(app="web"))
    decided.assert_refused("n", by="InterPodAffinity")


def test_a_pod_goes_to_the_node_it_was_promised_without_looking_further() -> None:
    cluster = Cluster(a_node("better"), a_node("promised").taint("slow", effect="PreferNoSchedule"))
    decided = cluster.decide(a_pod().nominated_to("promised"))
    decided.assert_chosen("promised")
    assert decided.feasible == ("promised",)
    engine = cluster.scheduler().engine
    assert placed(engine, a_pod().nominated_to("promised")) == "promised"


@pytest.mark.parametrize("node", [a_node("promised").cordoned(), a_node("another")])
def test_a_broken_promise_is_forgotten(node: Any) -> None:
    decided = Cluster(node, a_node("free")).decide(a_pod().nominated_to("promised"))
    assert "free" in decided.feasible


def test_an_assumed_pod_waits_no_longer() -> None:
    node, waiting = CROWDED
    engine = Cluster(node, waiting).scheduler().engine
    ClusterState(engine.snapshot).assume(engine.snapshot.info(waiting.build()), "n")
    assert len(engine.snapshot.nominations) == 0


# ----------------------------------------------------------------------------------------------------- assume and place


def test_assumed_pods_count_until_they_are_forgotten() -> None:
    engine = Cluster(a_node("n").allocatable(cpu="1")).scheduler().engine
    cluster = ClusterState(engine.snapshot)
    pod = a_pod("a").requests(cpu="1")
    assumed = cluster.assume(engine.snapshot.info(pod.build()), "n")
    assert assumed.spec.node_name == "n"
    assert isinstance(schedule(engine, a_pod("b").requests(cpu="1")), Failure)
    cluster.forget(assumed.uid)
    assert placed(engine, a_pod("b").requests(cpu="1")) == "n"


# --------------------------------------------------------------------------------------------------------------- points


def test_pre_filter_may_narrow_the_nodes() -> None:
    only_b = plugin(pre_filter=lambda *_: NodeNames(frozenset(["b", "gone"])))
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod(), plugins=[only_b])
    decided.assert_chosen("b")
    assert decided.feasible == ("b",)
    assert decided.decision.rejected == {}
    engine = Cluster(a_node("a"), a_node("b").cordoned()).scheduler(plugins=[only_b]).engine
    outcome = failure(engine, a_pod())
    assert outcome.message == (
        "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [Mine], 1 node(s) were unschedulable."
    )
    assert {"Mine", "NodeUnschedulable"} <= outcome.plugins


def test_nodes_that_two_plugins_narrow_apart() -> None:
    plugins = [
        plugin(name, pre_filter=lambda *_, node=node: NodeNames(frozenset([node])))
        for name, node in (("X", "a"), ("Y", "b"))
    ]
    engine = Cluster(a_node("a"), a_node("b")).scheduler(plugins=plugins).engine
    outcome = failure(engine, a_pod())
    assert outcome.message == "0/2 nodes are available: node(s) didn't satisfy plugin(s) [X Y] simultaneously."


def test_pre_filter_may_refuse() -> None:
    asked: list[str] = []
    refusing = plugin("A", pre_filter=lambda *_: unresolvable("not today"))
    later = plugin("B", pre_filter=lambda *_: asked.append("B"))
    engine = Cluster(a_node("n")).scheduler(plugins=[refusing, later]).engine
    outcome = failure(engine, a_pod())
    assert outcome.message == "0/1 nodes are available: not today."
    assert outcome.pre_filter == unresolvable("not today").by("A")
    assert outcome.plugins == {"A"}
    assert asked == []


def test_a_skipping_plugin_is_left_out() -> None:
    def unexpected(*_: Any) -> Any:
        raise AssertionError("was skipped")

    skipping = plugin(pre_filter=lambda *_: SKIP, filter=unexpected, pre_score=lambda *_: SKIP, score=unexpected)
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod(), plugins=[skipping])
    assert decided.best == ("a", "b")
    assert "Mine" not in decided.decision.scores["a"]


def test_post_filter_plugins_in_turn_until_one_helps() -> None:
    asked: list[str] = []

    def answer(name: str, status: Status | None) -> type:
        def post_filter(*_: Any) -> PostFilterAnswer:
            asked.append(name)
            return PostFilterAnswer(status)

        return plugin(name, post_filter=post_filter)

    plugins = [answer("A", unschedulable("A cannot")), answer("B", None), answer("C", None)]
    never = plugin("Never", filter=lambda *_: unschedulable("never"))
    outcome = failure(Cluster(a_node("n")).scheduler(plugins=[*plugins, never], defaults=False).engine, a_pod())
    assert asked == ["A", "B"]
    assert outcome.full_message == "0/1 nodes are available: 1 never."


def test_refusals_of_all_post_filter_plugins_are_told() -> None:
    plugins = [
        plugin(name, post_filter=lambda *_, name=name: PostFilterAnswer(unschedulable(f"{name} cannot")))
        for name in "AB"
    ]
    never = plugin("Never", filter=lambda *_: unschedulable("never"))
    engine = Cluster(a_node("n")).scheduler(plugins=[*plugins, never], defaults=False).engine
    assert failure(engine, a_pod()).full_message == "0/1 nodes are available: 1 never. A cannot, B cannot"


def test_weights_decide_between_plugins() -> None:
    likes = {
        name: plugin(name, score=lambda _self, _state, _pod, node, name=name: 100 if node.name == name else 0)
        for name in "ab"
    }
    cluster = Cluster(a_node("a"), a_node("b"))
    for favourite, other in ("ab", "ba"):
        decided = cluster.decide(
            a_pod(), plugins=list(likes.values()), weights={favourite: 3, other: 2}, defaults=False
        )
        decided.assert_chosen(favourite)
        assert decided.total(favourite) == 300


def test_without_any_score_every_node_is_as_good() -> None:
    cluster = Cluster(*(a_node(f"n{number}") for number in range(5)))
    scheduler = cluster.scheduler(defaults=False)
    assert scheduler.decide(a_pod()).best == tuple(f"n{number}" for number in range(5))
    assert len({placed(scheduler.engine, a_pod()) for _ in range(40)}) == 5
