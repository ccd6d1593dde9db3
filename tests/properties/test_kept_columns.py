"""What is kept between decisions never goes stale.

One engine lives through a random history: pods are scheduled, placed, promised nodes and removed, nodes come, change
and go, a namespace changes its labels. After every step the decision for every kind of pod is held against that of an
engine made that moment from the objects as they then are.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.properties.random_clusters import (
    CONFIGS,
    NODE_NAMES,
    NODE_TRAITS,
    SURROUNDINGS,
    make_node,
    make_pod,
    pod_traits,
)

from moorage.cluster import ClusterState
from moorage.columns import NodeTable, PodInfo, Snapshot
from moorage.columns.changes import RowLog
from moorage.config import Config, parse_config
from moorage.engine import Answers, Decision, Engine, Failure, Placement, make_engine
from moorage.framework.points import Nomination
from moorage.objects import KubeObject, Namespace, Node, ObjectMeta, Pod
from moorage.plugins.default_preemption import plugin
from moorage.plugins.default_preemption.candidates import Candidate, cheapest

PARSED = {name: parse_config(document) for name, document in CONFIGS.items()}
NOW = 2_000_000_000.0


def seed_for(index: int, options: int) -> int:
    """The seed with which the cycle takes this one of so many nodes that are equally good."""
    return -(-index * 2**64 // options)


@dataclass(frozen=True)
class Step:
    """Something that happens; which node, pod and traits is said by numbers that are taken modulo what there is."""

    kind: str
    pod: int
    node: int
    traits: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    """A configuration, the kinds of pods there are, the nodes to begin with, and what happens then."""

    config: str
    templates: list[list[str]]
    nodes: list[tuple[str, ...]]
    steps: list[Step]


KINDS = ("schedule", "schedule", "node", "node", "place", "remove", "drop", "promise", "burst", "namespace")

node_traits = st.lists(st.sampled_from(sorted(NODE_TRAITS)), max_size=4, unique=True).map(tuple)
steps = st.builds(Step, st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, len(NODE_NAMES) - 1), node_traits)
histories = st.builds(
    History,
    st.sampled_from(sorted(CONFIGS)),
    st.lists(pod_traits(), min_size=1, max_size=4),
    # So many nodes that a few can change without everything being worked out anew.
    st.lists(node_traits, min_size=9, max_size=len(NODE_NAMES)),
    st.lists(steps, min_size=1, max_size=24),
)


class World:
    """The engine that lives on, and the objects from which a fresh one can be made at any moment."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.config: Config = PARSED[history.config]
        self.surroundings: dict[str, KubeObject] = {item.key + item.KIND: item for item in SURROUNDINGS}
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, PodInfo] = {}
        self.promised: dict[str, PodInfo] = {}
        self.made = 0
        snapshot = Snapshot.of(SURROUNDINGS)
        # Small from the start, so that the table grows and the logs are cut within a short history.
        snapshot.nodes = NodeTable(capacity=2)
        snapshot.nodes.node_changes, snapshot.nodes.pod_rows = RowLog(keep=8), RowLog(keep=16)
        self.live = make_engine(snapshot, self.config, now=lambda: NOW)
        self.state = ClusterState(snapshot)
        for name, traits in zip(NODE_NAMES, history.nodes, strict=False):
            self.set_node(name, traits)

    # ------------------------------------------------------------------------------------------------------- happenings

    def take(self, step: Step) -> None:
        """Let it happen."""
        match step.kind:
            case "schedule":
                self.schedule(self.new_pod(step))
            case "place":
                self.place(self.new_pod(step), NODE_NAMES[step.node])
            case "burst":
                for offset in range(8):
                    self.place(self.new_pod(step), NODE_NAMES[(step.node + offset) % len(NODE_NAMES)])
            case "remove":
                self.remove(step.pod)
            case "node":
                self.set_node(NODE_NAMES[step.node], step.traits)
            case "drop":
                self.nodes.pop(NODE_NAMES[step.node], None)
                self.live.snapshot.nodes.remove_node(NODE_NAMES[step.node])
            case "promise":
                self.promise(self.new_pod(step, nominated=NODE_NAMES[step.node]))
            case "namespace":
                self.set_namespace("blue" if step.pod % 2 else "red")

    def new_pod(self, step: Step, *, nominated: str = "") -> Pod:
        """One more pod of a known kind."""
        self.made += 1
        traits = self.history.templates[step.pod % len(self.history.templates)]
        return make_pod(f"p{self.made}", traits, nominated=nominated)

    def schedule(self, pod: Pod) -> None:
        """Decide, and place the pod if it found a node."""
        info = self.live.snapshot.info(pod)
        outcome = self.live.schedule(info)
        if isinstance(outcome, Placement):
            self.placed[info.uid] = self.state.assume(info, outcome.node_name)

    def place(self, pod: Pod, node_name: str) -> None:
        """Somebody else put a pod there, whether it fits or not and whether the node is there or not."""
        bound = self.live.snapshot.info(pod).bound_to(node_name)
        self.live.snapshot.nodes.add_pod(bound, node_name)
        self.placed[bound.uid] = bound

    def remove(self, number: int) -> None:
        """A pod goes, or a promise is taken back."""
        uids = [*self.placed, *self.promised]
        if not uids:
            return
        uid = uids[number % len(uids)]
        if uid in self.placed:
            pod = self.placed.pop(uid)
            self.live.snapshot.nodes.remove_pod(pod, pod.spec.node_name)
        else:
            self.live.snapshot.nominations.forget(self.promised.pop(uid))

    def promise(self, pod: Pod) -> None:
        """A pod waits for a node that preemption promised it."""
        info = self.live.snapshot.info(pod)
        self.live.snapshot.nominations.nominate(info, pod.status.nominated_node_name)
        self.promised[info.uid] = info

    def set_node(self, name: str, traits: Sequence[str]) -> None:
        """A node comes, or changes."""
        self.nodes[name] = make_node(name, list(traits))
        self.live.snapshot.nodes.set_node(self.nodes[name])

    def set_namespace(self, team: str) -> None:
        """A namespace changes sides."""
        item = Namespace(ObjectMeta(name="y", labels={"team": team}))
        self.surroundings["yNamespace"] = item
        self.live.snapshot.objects.set(item)

    # ------------------------------------------------------------------------------------------------------- comparison

    def fresh(self) -> Engine:
        """An engine made of the objects as they are now."""
        pods = [pod.pod for pod in (*self.placed.values(), *self.promised.values())]
        snapshot = Snapshot.of([*self.surroundings.values(), *self.nodes.values(), *pods])
        return make_engine(snapshot, self.config, now=lambda: NOW)

    def compare_all(self) -> None:
        """The decisions for new pods of every kind, and for those promised a node, are those of a fresh engine."""
        engine = self.fresh()
        new = [make_pod(f"new-{number}", traits) for number, traits in enumerate(self.history.templates)]
        for pod in (*new, *(waiting.pod for waiting in self.promised.values())):
            with recorded_candidates() as offered:
                expected = engine.explain(engine.snapshot.info(pod))
            info = self.live.snapshot.info(pod)
            assert without_preemption(self.live.explain(info)) == without_preemption(expected)
            if expected.feasible:
                self.compare_best(info, expected)
            else:
                self.compare_failure(info, expected, offered)

    def compare_best(self, info: PodInfo, expected: Decision) -> None:
        """The quick way chooses among the same nodes."""
        chosen = []
        for index in range(len(expected.best)):
            outcome = self.live.decide(info, Answers(seed_for(index, len(expected.best))))
            assert isinstance(outcome, Placement)
            assert outcome.feasible == len(expected.feasible)
            chosen.append(outcome.node_name)
        assert sorted(chosen) == list(expected.best)

    def compare_failure(self, info: PodInfo, expected: Decision, offered: Sequence[Candidate]) -> None:
        """The quick way fails for the same reasons, and preemption would do one of the same things."""
        outcome = self.live.decide(info)
        assert isinstance(outcome, Failure)
        assert (outcome.message, outcome.is_error) == (expected.message, expected.is_error)
        assert outcome.pre_filter == expected.pre_filter
        if outcome.statuses is not None:
            nodes = self.live.snapshot.nodes
            assert {nodes[row].name: status for row, status in outcome.statuses.own()} == expected.rejected
        if expected.preemption is None:
            return
        if not expected.preemption.node:
            assert outcome.post_filter_message == expected.preemption.message
            return
        assert outcome.nomination is not None
        assert victims_of(outcome.nomination) in [(one.node_name, keys(one.victims)) for one in offered]


@contextmanager
def recorded_candidates() -> Iterator[list[Candidate]]:
    """The nodes among which preemption chooses by chance, while the block runs."""
    offered: list[Candidate] = []

    def remember(candidates: Sequence[Candidate], now: float) -> list[Candidate]:
        offered[:] = cheapest(candidates, now)
        return offered

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin, "cheapest", remember)
        yield offered


def without_preemption(decision: Decision) -> dict[str, Any]:
    return {field: value for field, value in decision.as_data().items() if field != "preemption"}


def victims_of(nomination: Nomination) -> tuple[str, list[str]]:
    return nomination.node_name, keys(nomination.victims)


def keys(pods: Sequence[PodInfo]) -> list[str]:
    return [pod.key for pod in pods]


@settings(max_examples=120, deadline=None)
@given(histories)
def test_decisions_are_those_of_a_fresh_engine(history: History) -> None:
    world = World(history)
    world.compare_all()
    for number, step in enumerate(history.steps):
        note(f"step {number}: {step}")
        world.take(step)
        world.compare_all()
