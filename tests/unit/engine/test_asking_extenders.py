"""Questions and answers: what a cycle asks of extenders, in which order, and what it makes of what they say."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from moorage.columns import PodInfo
from moorage.engine import Answers, Engine, Failure, Placement, Question
from moorage.engine.asking import (
    Answer,
    Broken,
    ChosenVictims,
    FilterAnswer,
    FilterQuestion,
    PreemptAnswer,
    PreemptQuestion,
    PrioritizeAnswer,
    PrioritizeQuestion,
)
from moorage.engine.inquiry import MOST_ROUNDS
from moorage.framework import Handle, Nomination, PostFilterAnswer
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.points import Victims
from moorage.testing import Cluster, PodBuilder, a_node, a_pod

Says = Callable[[Any], Answer]


def an_extender(name: str = "one", **fields: Any) -> dict[str, Any]:
    return {"urlPrefix": f"http://{name}", "weight": 1, **fields}


def config(*extenders: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": list(extenders),
        **fields,
    }


def engine_of(cluster: Cluster, *extenders: Mapping[str, Any], **fields: Any) -> Engine:
    return cluster.scheduler(config=config(*extenders, **fields)).engine


def info(engine: Engine, pod: PodBuilder) -> PodInfo:
    return engine.snapshot.info(pod.build())


def attempt(
    engine: Engine, pod: PodBuilder, says: Says, *, meanwhile: Callable[[Engine], None] | None = None
) -> tuple[Placement | Failure, list[Question]]:
    """A whole attempt with an extender that says so, and what it was asked; `meanwhile` happens before each answer."""
    asked: list[Question] = []
    answers = engine.begin()
    while isinstance(outcome := engine.decide(info(engine, pod), answers), Question):
        asked.append(outcome)
        assert len(asked) < 20, "it goes round in circles"
        answer = says(outcome)
        if meanwhile is not None:
            meanwhile(engine)
        answers = answers.answered(outcome, answer)
    engine.commit(outcome)
    return outcome, asked


def passing(*names: str, **refusals: Mapping[str, str]) -> Says:
    return lambda _: FilterAnswer(frozenset(names), **refusals)


FILTERING = an_extender(filterVerb="filter")
SCORING = an_extender(prioritizeVerb="prioritize")
PREEMPTING = an_extender(preemptVerb="preempt")
THREE = Cluster(a_node("a"), a_node("b"), a_node("c"))


# --------------------------------------------------------------------------------------------------------------- filter


def test_the_nodes_that_fit_are_asked_about() -> None:
    engine = engine_of(THREE.add(a_node("full").cordoned()), FILTERING)
    outcome, asked = attempt(engine, a_pod(), passing("b"))
    assert isinstance(outcome, Placement)
    assert (outcome.node_name, outcome.feasible) == ("b", 1)
    (question,) = asked
    assert isinstance(question, FilterQuestion)
    assert (question.nodes, question.extender.name, question.is_promised) == (("a", "b", "c"), "http://one", False)


def test_each_extender_sees_what_the_one_before_it_left_and_those_that_may_be_ignored_come_last() -> None:
    first = an_extender("meek", filterVerb="filter", ignorable=True)
    engine = engine_of(THREE, first, an_extender("strict", filterVerb="filter"))
    left = {"http://strict": ("a", "c"), "http://meek": ("c",)}
    outcome, asked = attempt(engine, a_pod(), lambda q: FilterAnswer(frozenset(left[q.extender.name])))
    assert [(q.extender.name, q.nodes) for q in asked if isinstance(q, FilterQuestion)] == [
        ("http://strict", ("a", "b", "c")),
        ("http://meek", ("a", "c")),
    ]
    assert isinstance(outcome, Placement)
    assert outcome.node_name == "c"


def test_why_extenders_refused_nodes_is_told() -> None:
    engine = engine_of(THREE.add(a_node("d").cordoned()), FILTERING)
    says = passing(failed={"a": "no card", "b": "no card"}, unresolvable={"b": "no slot", "c": "no slot"})
    outcome, _ = attempt(engine, a_pod(), says)
    assert isinstance(outcome, Failure)
    assert outcome.message == "0/4 nodes are available: 1 no card, 1 node(s) were unschedulable, 2 no slot."
    assert outcome.plugins == {"Extender", "NodeUnschedulable"}
    assert not outcome.is_error


def test_nobody_is_asked_where_nothing_fits_or_nobody_is_interested() -> None:
    engine = engine_of(Cluster(a_node("a").cordoned()), FILTERING)
    assert attempt(engine, a_pod(), passing())[1] == []
    picky = an_extender(filterVerb="filter", managedResources=[{"name": "example.com/gpu"}])
    engine = engine_of(Cluster(a_node("a").allocatable(**{"example.com/gpu": "1"})), picky)
    assert attempt(engine, a_pod(), passing())[1] == []
    assert len(attempt(engine, a_pod().requests(**{"example.com/gpu": "1"}), passing("a"))[1]) == 1


def test_a_broken_extender_fails_the_attempt_unless_it_may_be_ignored() -> None:
    outcome, _ = attempt(engine_of(THREE, FILTERING), a_pod(), lambda _: Broken("extender http://one: down"))
    assert isinstance(outcome, Failure)
    assert (outcome.message, outcome.is_error, outcome.plugins) == ("extender http://one: down", True, frozenset())
    outcome, _ = attempt(engine_of(THREE, {**FILTERING, "ignorable": True}), a_pod(), lambda _: Broken("down"))
    assert isinstance(outcome, Placement)
    assert outcome.feasible == 3


def test_the_promised_node_goes_through_extenders_first() -> None:
    pod = a_pod().nominated_to("b")
    outcome, asked = attempt(engine_of(THREE, FILTERING, SCORING), pod, passing("b"))
    assert isinstance(outcome, Placement)
    assert (outcome.node_name, [(q.nodes, q.is_promised) for q in asked if isinstance(q, FilterQuestion)]) == (
        "b",
        [(("b",), True)],
    )
    outcome, asked = attempt(engine_of(THREE, FILTERING), pod, passing("c", failed={"b": "not there"}))
    assert isinstance(outcome, Placement)
    assert outcome.node_name == "c"
    assert [q.nodes for q in asked if isinstance(q, FilterQuestion)] == [("b",), ("a", "b", "c")]


def test_an_extender_that_breaks_over_the_promised_node_is_asked_about_all() -> None:
    def says(question: Any) -> Answer:
        return Broken("down") if question.is_promised else FilterAnswer(frozenset("a"))

    outcome, _ = attempt(engine_of(THREE, FILTERING), a_pod().nominated_to("b"), says)
    assert isinstance(outcome, Placement)
    assert outcome.node_name == "a"


# ----------------------------------------------------------------------------------------------------------- prioritize


def test_scores_of_extenders_are_weighted_and_scaled() -> None:
    engine = engine_of(THREE, {**SCORING, "weight": 2}, an_extender("two", prioritizeVerb="p", weight=1))
    says = {0: {"a": 1, "b": 7}, 1: {"c": 10}}
    outcome, asked = attempt(engine, a_pod(), lambda _: PrioritizeAnswer(says))
    assert isinstance(outcome, Placement)
    assert outcome.node_name == "b"
    (question,) = asked
    assert isinstance(question, PrioritizeQuestion)
    assert ([one.place for one in question.extenders], question.nodes) == ([0, 1], ("a", "b", "c"))
    decision = engine.explain(info(engine, a_pod()), Answers().answered(question, PrioritizeAnswer(says)))
    assert {name: scores["http://one"] for name, scores in decision.scores.items()} == {"a": 20, "b": 140, "c": 0}
    assert {name: scores["http://two"] for name, scores in decision.scores.items()} == {"a": 0, "b": 0, "c": 100}


def test_scores_wrap_as_they_do_in_go() -> None:
    engine = engine_of(THREE, {**SCORING, "weight": 2**62 // 10})
    outcome, _ = attempt(engine, a_pod(), lambda _: PrioritizeAnswer({0: {"a": 3, "b": 1}}))
    assert isinstance(outcome, Placement)
    assert outcome.node_name == "b", "three times that is more than there is: a comes out below zero"


def test_one_node_alone_is_not_scored() -> None:
    engine = engine_of(THREE, an_extender(filterVerb="f", prioritizeVerb="p"))
    outcome, asked = attempt(engine, a_pod(), passing("b"))
    assert isinstance(outcome, Placement)
    assert len(asked) == 1


@pytest.mark.parametrize("answer", [Broken("down"), PrioritizeAnswer({})])
def test_an_extender_that_cannot_score_is_done_without(answer: Answer) -> None:
    outcome, _ = attempt(engine_of(THREE, SCORING), a_pod(), lambda _: answer)
    assert isinstance(outcome, Placement)
    assert outcome.feasible == 3


def test_among_equals_nodes_that_an_extender_named_win() -> None:
    engine = engine_of(THREE, SCORING)
    for _ in range(10):
        outcome, _ = attempt(engine, a_pod(), lambda _: PrioritizeAnswer({0: {"c": 0}}))
        assert isinstance(outcome, Placement)
        assert outcome.node_name == "c"


def test_a_share_of_the_nodes_is_asked_about_in_turns() -> None:
    large = Cluster(*(a_node(f"n{number:03}") for number in range(300)))
    engine = engine_of(large, FILTERING)
    _, (first,) = attempt(engine, a_pod("a"), lambda q: FilterAnswer(frozenset(q.nodes)))
    _, (second,) = attempt(engine, a_pod("b"), lambda q: FilterAnswer(frozenset(q.nodes)))
    assert isinstance(first, FilterQuestion)
    assert isinstance(second, FilterQuestion)
    assert [len(first.nodes), len(second.nodes)] == [144, 144], "48 of 100, as in kube-scheduler"
    assert set(first.nodes).isdisjoint(second.nodes)
    whole = engine_of(large, FILTERING, percentageOfNodesToScore=100)
    _, (question,) = attempt(whole, a_pod("c"), lambda q: FilterAnswer(frozenset(q.nodes)))
    assert isinstance(question, FilterQuestion)
    assert len(question.nodes) == 300


def test_only_nodes_that_were_looked_at_are_counted_as_refused() -> None:
    nodes = [a_node(f"n{number:03}") for number in range(300)]
    engine = engine_of(Cluster(*(node.cordoned() if i % 30 == 29 else node for i, node in enumerate(nodes))), FILTERING)
    outcome, _ = attempt(engine, a_pod(), lambda q: FilterAnswer(frozenset(), dict.fromkeys(q.nodes, "no")))
    assert isinstance(outcome, Failure)
    assert outcome.message == "0/300 nodes are available: 144 no, 4 node(s) were unschedulable."


# -------------------------------------------------------------------------------------------------------------- preempt

CROWDED = Cluster(
    *(a_node(name).allocatable(cpu="2") for name in "ab"),
    *(a_pod(f"{name}{n}").requests(cpu="1").on(name) for name in "ab" for n in range(2)),
)
URGENT = a_pod("urgent").requests(cpu="1").priority(10)


def choosing(*names: str, on: str = "a") -> Says:
    return lambda _: PreemptAnswer({on: ChosenVictims(tuple(a_pod(name).build().metadata.uid for name in names))})


def test_extenders_choose_among_the_nodes_to_preempt_on_and_the_victims() -> None:
    outcome, asked = attempt(engine_of(CROWDED, PREEMPTING), URGENT, choosing("a0", "a1"))
    (question,) = asked
    assert isinstance(question, PreemptQuestion)
    assert set(question.victims) == {"a", "b"}
    assert isinstance(outcome, Failure)
    assert outcome.nomination is not None
    assert outcome.nomination.node_name == "a"
    assert [pod.key for pod in outcome.nomination.victims] == ["default/a0", "default/a1"]


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (lambda _: PreemptAnswer({}), "preemption: no candidate node for preemption"),
        (choosing(), 'preemption: extender http://one: expected at least one victim pod on node "a"'),
        (lambda _: Broken("down"), "preemption: extender http://one: down"),
    ],
)
def test_where_extenders_do_not_agree_nothing_is_promised_anew(says: Says, message: str) -> None:
    outcome, _ = attempt(engine_of(CROWDED, PREEMPTING), URGENT, says)
    assert isinstance(outcome, Failure)
    assert outcome.nomination is None
    assert outcome.post_filter_message.endswith(message)


def test_one_that_may_be_ignored_is() -> None:
    engine = engine_of(CROWDED, {**PREEMPTING, "ignorable": True})
    outcome, _ = attempt(engine, URGENT, lambda _: Broken("down"))
    assert isinstance(outcome, Failure)
    assert outcome.nomination is not None
    assert outcome.nomination.node_name in ("a", "b")
    outcome, _ = attempt(engine, URGENT, choosing())
    assert isinstance(outcome, Failure)
    assert outcome.post_filter_message.endswith("preemption: no candidate node for preemption")


def test_a_node_only_extenders_refuse_is_not_preempted_on() -> None:
    cluster = Cluster(a_node("a"), a_pod("low").on("a"))
    outcome, _ = attempt(engine_of(cluster, FILTERING), URGENT, passing(failed={"a": "no card"}))
    assert isinstance(outcome, Failure)
    assert outcome.nomination is None
    assert outcome.post_filter_message == 'preemption: expected at least one victim pod on node "a"'


class Greedy:
    """A PostFilter that catches what it should let pass."""

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle

    def post_filter(self, _state: Any, _pod: PodInfo, _statuses: NodeStatuses) -> PostFilterAnswer:
        """Preempt whatever comes."""
        with suppress(BaseException):
            self._handle.ask_extenders({"a": Victims(())})
        return PostFilterAnswer(None, Nomination("a"))


def test_a_plugin_that_swallows_a_question_does_not_lose_it() -> None:
    profile = {"plugins": {"postFilter": {"enabled": [{"name": "Greedy"}], "disabled": [{"name": "*"}]}}}
    engine = CROWDED.scheduler(plugins=[Greedy], config=config(PREEMPTING, profiles=[profile])).engine
    outcome, asked = attempt(engine, URGENT, choosing("a0"))
    assert len(asked) == 1
    assert isinstance(outcome, Failure)
    assert outcome.nomination == Nomination("a")


# ------------------------------------------------------------------------------------------------------ asked for only


def test_a_decision_that_may_not_ask_leaves_extenders_out_and_says_so() -> None:
    engine = engine_of(THREE, FILTERING, an_extender("two", prioritizeVerb="p"))
    outcome = engine.decide(info(engine, a_pod()))
    assert isinstance(outcome, Placement)
    assert outcome.unasked == ("http://one", "http://two")
    decision = engine.explain(info(engine, a_pod()))
    assert decision.unasked == ("http://one", "http://two")
    assert decision.as_data()["extendersNotAsked"] == ["http://one", "http://two"]
    crowded = engine_of(CROWDED, PREEMPTING)
    assert crowded.explain(info(crowded, URGENT)).unasked == ("http://one",)


# ------------------------------------------------------------------------------------------- while an extender thinks


def test_a_node_that_came_meanwhile_is_out() -> None:
    def add(engine: Engine) -> None:
        engine.snapshot.nodes.set_node(a_node("new").build())

    outcome, asked = attempt(engine_of(THREE, FILTERING), a_pod(), passing("b", "c", "new"), meanwhile=add)
    assert isinstance(outcome, Placement)
    assert (outcome.feasible, len(asked)) == (2, 1)


def test_where_all_allowed_nodes_went_the_others_are_asked_about_at_once_but_not_for_ever() -> None:
    times = iter(range(20))

    def replace_all(engine: Engine) -> None:
        number = next(times)
        for node in list(engine.snapshot.nodes):
            engine.snapshot.nodes.remove_node(node.name)
        engine.snapshot.nodes.set_node(a_node(f"new-{number}").build())

    says: Says = lambda q: FilterAnswer(frozenset(q.nodes))  # noqa: E731
    outcome, asked = attempt(engine_of(THREE, FILTERING), a_pod(), says, meanwhile=replace_all)
    assert [q.nodes for q in asked if isinstance(q, FilterQuestion)] == [
        ("a", "b", "c"),
        *((f"new-{number}",) for number in range(MOST_ROUNDS)),
    ]
    assert isinstance(outcome, Failure)
    assert outcome.plugins == {"Extender"}
    assert not outcome.is_error


def test_where_the_extender_refused_all_nobody_asks_again() -> None:
    def add(engine: Engine) -> None:
        engine.snapshot.nodes.set_node(a_node("new").build())

    outcome, asked = attempt(engine_of(THREE, FILTERING), a_pod(), passing(), meanwhile=add)
    assert isinstance(outcome, Failure)
    assert len(asked) == 1


def test_victims_that_are_others_by_now_are_asked_about_again() -> None:
    moved = False

    def move(engine: Engine) -> None:
        nonlocal moved
        if not moved:
            moved = True
            for name in "ab":
                for pod in list(engine.snapshot.nodes[engine.snapshot.nodes.row_of[name]].pods.values()):
                    engine.snapshot.nodes.remove_pod(pod, name)
                late = a_pod(f"late-{name}").requests(cpu="2").on(name).build()
                engine.snapshot.nodes.add_pod(engine.snapshot.pods.info(late, on_node=True), name)

    def says(question: Any) -> Answer:
        return PreemptAnswer(
            {name: ChosenVictims(tuple(pod.uid for pod in one.pods)) for name, one in question.victims.items()}
        )

    outcome, asked = attempt(engine_of(CROWDED, PREEMPTING), URGENT, says, meanwhile=move)
    assert len(asked) == 2
    assert isinstance(outcome, Failure)
    assert outcome.nomination is not None
    assert [pod.name for pod in outcome.nomination.victims] == [f"late-{outcome.nomination.node_name}"]


def test_the_seed_of_the_attempt_decides_where_a_search_starts_and_what_is_taken() -> None:
    large = Cluster(*(a_node(f"n{number:03}") for number in range(300)))
    engine = engine_of(large, FILTERING)
    pod = info(engine, a_pod())
    answers = replace(engine.begin(), start=7)
    questions = [engine.decide(pod, answers) for _ in range(3)]
    assert questions[0] == questions[1] == questions[2]
    question = questions[0]
    assert isinstance(question, FilterQuestion)
    answers = answers.answered(question, FilterAnswer(frozenset(question.nodes)))
    outcomes = [engine.decide(pod, answers) for _ in range(3)]
    assert len({one.node_name for one in outcomes if isinstance(one, Placement)}) == 1
