"""Decisions that end in questions, and decisions that are only asked for.

Invented extenders say what a hash of node and pod says. Between question and answer the cluster changes in every way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.random_clusters import (
    GPU,
    NODE_NAMES,
    NODE_TRAITS,
    SURROUNDINGS,
    config,
    make_node,
    make_pod,
    pod_traits,
)

from moorage.attempt.placing import Placer
from moorage.cluster import ClusterState
from moorage.columns import PodInfo, Snapshot
from moorage.config import parse_config
from moorage.engine import Answers, Decision, Engine, Failure, Placement, Question, make_engine
from moorage.engine.asking import (
    Answer,
    Broken,
    ChosenVictims,
    FilterAnswer,
    FilterQuestion,
    PreemptAnswer,
    PreemptQuestion,
    PrioritizeAnswer,
)
from moorage.engine.engine import default_registry
from moorage.engine.inquiry import MOST_ROUNDS
from moorage.framework import Handle, NodeInfo, Nomination, PostFilterAnswer

NOW = 2_000_000_000.0

EXTENDERS = [
    {"urlPrefix": "http://strict", "filterVerb": "f", "prioritizeVerb": "p", "preemptVerb": "v", "weight": 3},
    {"urlPrefix": "http://meek", "filterVerb": "f", "prioritizeVerb": "p", "weight": 1, "ignorable": True},
    {"urlPrefix": "http://picky", "filterVerb": "f", "weight": 1, "managedResources": [{"name": GPU}]},
]


def dice(*parts: object) -> int:
    """The same number for the same parts."""
    return crc32(" ".join(map(str, parts)).encode())


def says(question: Question, salt: int) -> Answer:
    """What the invented extenders say; the one that may be ignored breaks now and then."""
    if isinstance(question, FilterQuestion):
        name = question.extender.name
        if question.extender.ignorable and dice(salt, name, question.nodes) % 4 == 0:
            return Broken("down")
        luck = {node: dice(salt, name, node) % 4 for node in question.nodes}
        return FilterAnswer(
            frozenset(node for node, one in luck.items() if one > 1),
            {node: "not now" for node, one in luck.items() if one == 1},
            {node: "never" for node, one in luck.items() if one == 0},
        )
    if isinstance(question, PreemptQuestion):
        return PreemptAnswer(
            {
                name: ChosenVictims(tuple(pod.uid for pod in victims.pods))
                for name, victims in question.victims.items()
                if dice(salt, name) % 4
            }
        )
    return PrioritizeAnswer(
        {
            one.place: {node: dice(salt, one.name, node) % 11 for node in question.nodes if dice(salt, node) % 5}
            for one in question.extenders
        }
    )


@dataclass(frozen=True)
class Change:
    """Something that happens to the cluster; numbers are taken modulo what there is."""

    kind: str
    node: int
    traits: tuple[str, ...]


node_traits = st.lists(st.sampled_from(sorted(NODE_TRAITS)), max_size=2, unique=True).map(tuple)
changes = st.builds(
    Change, st.sampled_from(("node", "drop", "place", "remove", "promise")), st.integers(0, 20), node_traits
)
clusters = st.lists(node_traits, min_size=1, max_size=8)
crowds = st.lists(st.tuples(pod_traits(), st.integers(0, 7)), max_size=8)


def engine_of(nodes: Sequence[Sequence[str]], pods: Sequence[tuple[list[str], int]], **fields: Any) -> Engine:
    objects = [
        *SURROUNDINGS,
        *(make_node(name, list(traits)) for name, traits in zip(NODE_NAMES, nodes, strict=False)),
        *(make_pod(f"p{n}", traits, node=NODE_NAMES[at % len(nodes)]) for n, (traits, at) in enumerate(pods)),
    ]
    parsed = parse_config({**config(), **fields})
    return make_engine(Snapshot.of(objects), parsed, now=lambda: NOW, seed=3)


def happen(engine: Engine, change: Change, number: int) -> None:
    """Let a change come over the cluster."""
    snapshot = engine.snapshot
    name = NODE_NAMES[change.node % len(NODE_NAMES)]
    match change.kind:
        case "node":
            snapshot.nodes.set_node(make_node(name, list(change.traits)))
        case "drop":
            snapshot.nodes.remove_node(name)
        case "place":
            pod = make_pod(f"late{number}", ["big", "web"], node=name)
            snapshot.nodes.add_pod(snapshot.pods.info(pod, on_node=True), name)
        case "remove":
            pods = [pod for node in snapshot.nodes for pod in node.pods.values()]
            if pods:
                gone = pods[change.node % len(pods)]
                snapshot.nodes.remove_pod(gone, gone.spec.node_name)
        case "promise":
            snapshot.nominations.nominate(snapshot.info(make_pod(f"vip{number}", ["big", "important"])), name)


def attempt(
    engine: Engine, pod: PodInfo, salt: int, meanwhile: Sequence[Change] = ()
) -> tuple[Placement | Failure, Answers, list[Question]]:
    """A whole attempt, with one change while each question is out."""
    asked: list[Question] = []
    happening = iter(meanwhile)
    answers = engine.begin()
    while isinstance(outcome := engine.decide(pod, answers), Question):
        assert engine.decide(pod, answers) == outcome, "asked again it asks the same"
        asked.append(outcome)
        assert len(asked) <= (2 * len(EXTENDERS) + 3) * (MOST_ROUNDS + 1), "it does not end"
        answer = says(outcome, salt)
        change = next(happening, None)
        if change is not None:
            happen(engine, change, len(asked))
        answers = answers.answered(outcome, answer)
    engine.commit(outcome)
    return outcome, answers, asked


@settings(max_examples=150, deadline=None)
@given(clusters, crowds, pod_traits(), st.integers(0, 1000), st.lists(changes, max_size=8))
def test_whatever_happens_meanwhile_a_pod_goes_where_it_fits_and_all_agree(
    nodes: list[Sequence[str]], pods: list[tuple[list[str], int]], traits: list[str], salt: int, meanwhile: list[Change]
) -> None:
    engine = engine_of(nodes, pods, extenders=EXTENDERS)
    pod = engine.snapshot.info(make_pod("new", traits))
    outcome, answers, _ = attempt(engine, pod, salt, meanwhile)
    if isinstance(outcome, Failure):
        assert not outcome.is_error
        check_nomination(engine, outcome, answers)
        return
    assert outcome.node_name in engine.explain(pod).feasible, "extenders left out it fits"
    for question, answer in answers.given.values():
        if isinstance(question, FilterQuestion):
            assert outcome.node_name in question.nodes
            assert isinstance(answer, Broken) or outcome.node_name in answer.passed  # type: ignore[union-attr]


def check_nomination(engine: Engine, failure: Failure, answers: Answers) -> None:
    """Preemption goes where the extender agreed to, and takes away nobody who was not named to it."""
    nomination = failure.nomination
    if nomination is None or not nomination.node_name:
        return
    question, _ = answers.given["preempt", 0]
    assert isinstance(question, PreemptQuestion)
    assert {pod.uid for pod in nomination.victims} == {pod.uid for pod in question.victims[nomination.node_name].pods}
    node = engine.snapshot.nodes.get(nomination.node_name)
    assert node is not None
    assert all(victim.uid in node.pods for victim in nomination.victims)


@settings(max_examples=150, deadline=None)
@given(clusters, crowds, pod_traits(), st.integers(0, 1000))
def test_on_a_still_cluster_the_outcome_is_what_filters_then_extenders_then_scores_say(
    nodes: list[Sequence[str]], pods: list[tuple[list[str], int]], traits: list[str], salt: int
) -> None:
    engine = engine_of(nodes, pods, extenders=EXTENDERS)
    alone = engine_of(nodes, pods)
    pod = engine.snapshot.info(make_pod("new", traits))
    outcome, answers, asked = attempt(engine, pod, salt)
    plain = alone.explain(alone.snapshot.info(make_pod("new", traits)))
    left = list(plain.feasible)
    for question, answer in answers.given.values():
        if isinstance(question, FilterQuestion):
            assert sorted(question.nodes) == left
            left = [node for node in left if isinstance(answer, Broken) or node in answer.passed]  # type: ignore[union-attr]
    if not left:
        assert isinstance(outcome, Failure)
        assert not asked or "Extender" in outcome.plugins or not plain.feasible
        return
    assert isinstance(outcome, Placement)
    assert (outcome.feasible, outcome.node_name in left) == (len(left), True)
    decision = engine.explain(pod, answers)
    assert (decision.feasible, decision.unasked) == (tuple(sorted(left)), ())
    if len(left) > 1:
        check_best(decision, answers, outcome)


def check_best(decision: Decision, answers: Answers, outcome: Placement) -> None:
    _, answer = answers.given["prioritize"]
    assert isinstance(answer, PrioritizeAnswer)
    for name, scores in decision.scores.items():
        given_by = {one: scores.get(f"http://{one}", 0) for one in ("strict", "meek")}
        assert given_by == {
            "strict": answer.scores[0].get(name, 0) * 30,
            "meek": answer.scores[1].get(name, 0) * 10,
        }
        assert decision.totals[name] == sum(scores.values())
    assert outcome.node_name in decision.best


# ------------------------------------------------------------------------------------------------------- asked for only


class Dreamer:
    """Draws chance wherever it can, from a source it took hold of when it was made."""

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._random = handle.random

    def score(self, _state: Any, _pod: PodInfo, _node: NodeInfo) -> int:
        """How nice the node is, today."""
        return self._random.randrange(100)

    def post_filter(self, _state: Any, _pod: PodInfo, _statuses: Any) -> PostFilterAnswer:
        """Dream of a node."""
        return PostFilterAnswer(None, Nomination(self._random.choice(NODE_NAMES)))

    def permit(self, _state: Any, _pod: PodInfo, _node_name: str) -> None:
        """Outside the cycle there is chance, too."""
        self.drawn = self._random.random()


@dataclass(frozen=True)
class Asked:
    """Decisions asked for between two real ones."""

    traits: list[str]
    explained: bool
    times: int


asked_for = st.lists(st.builds(Asked, pod_traits(), st.booleans(), st.integers(1, 2)), max_size=3)


def dreaming(share: int) -> Engine:
    registry = default_registry()
    registry.register(Dreamer)
    document = config()
    profile = {**document["profiles"][0], "plugins": {"multiPoint": {"enabled": [{"name": "Dreamer"}]}}}
    parsed = parse_config({**document, "profiles": [profile], "percentageOfNodesToScore": share}, known=registry.known)
    nodes = [make_node(f"n{number:03}", ["room for 2"]) for number in range(120)]
    return make_engine(Snapshot.of([*SURROUNDINGS, *nodes]), parsed, registry=registry, now=lambda: NOW, seed=11)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from((0, 90)), st.lists(st.tuples(pod_traits(), asked_for), min_size=1, max_size=5))
def test_decisions_that_are_only_asked_for_leave_the_real_ones_as_they_were(
    share: int, story: list[tuple[list[str], list[Asked]]]
) -> None:
    disturbed, quiet = dreaming(share), dreaming(share)
    for number, (traits, asked) in enumerate(story):
        for one in asked:
            other = disturbed.snapshot.info(make_pod("asked", one.traits))
            for _ in range(one.times):
                disturbed.explain(other) if one.explained else disturbed.decide(other)
        told = [told_of(engine, make_pod(f"p{number}", traits)) for engine in (disturbed, quiet)]
        assert told[0] == told[1]


def told_of(engine: Engine, pod: Any) -> tuple[object, ...]:
    """A real decision, and the pod placed."""
    info = engine.snapshot.info(pod)
    outcome = engine.schedule(info)
    if isinstance(outcome, Failure):
        return outcome.message, outcome.post_filter_message, outcome.nomination
    Placer(cluster=ClusterState(engine.snapshot), engine=engine).reserve(outcome)
    runner = engine.runner_of(info)
    runner.permit(outcome)
    return outcome.node_name, runner.profile.plugins["Dreamer"].drawn
