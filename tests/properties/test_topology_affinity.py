"""InterPodAffinity against a plain model that walks all pods on all nodes, while the cluster changes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.changing import ChangingCluster

from moorage.columns import NodeInfo, PodInfo, Snapshot
from moorage.config import InterPodAffinityArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.objects import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    WeightedPodAffinityTerm,
)
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.values.podaffinity import AffinityTerm
from moorage.values.selector import Labels

KEYS = ("host", "zone", "rack")
NAMESPACES = ("one", "two", "three")
Pairs = Counter[tuple[str, str]]


# ------------------------------------------------------------------------------------------------------ random objects


def some_term(rnd: Random) -> PodAffinityTerm:
    by_labels = rnd.choice(
        (
            None,
            None,
            LabelSelector(),
            LabelSelector({"team": "x"}),
            LabelSelector(match_expressions=(LabelSelectorRequirement("team", "NotIn", ("x",)),)),
        )
    )
    pods = rnd.choice(
        (
            LabelSelector({"app": rnd.choice("xy")}),
            LabelSelector({"app": rnd.choice("xy"), "tier": "x"}),
            LabelSelector(match_expressions=(LabelSelectorRequirement("tier", "DoesNotExist"),)),
            LabelSelector(),
            None,
        )
    )
    named = rnd.choice(((), (), ("two",), ("one", "two")))
    return PodAffinityTerm(pods, named, rnd.choice(KEYS), by_labels)


def some_affinity(rnd: Random) -> PodAffinity | None:
    if rnd.random() < 0.5:
        return None
    return PodAffinity(
        tuple(some_term(rnd) for _ in range(rnd.randint(0, 2))),
        tuple(WeightedPodAffinityTerm(rnd.randint(1, 9), some_term(rnd)) for _ in range(rnd.randint(0, 2))),
    )


def some_pod(rnd: Random, name: str, node: str = "") -> Pod:
    labels = {key: rnd.choice("xy") for key in ("app", "tier") if rnd.random() < 0.7}
    meta = ObjectMeta(name, rnd.choice(NAMESPACES), uid=name, labels=labels)
    affinity = Affinity(None, some_affinity(rnd), some_affinity(rnd)) if rnd.random() < 0.6 else None
    return Pod(meta, PodSpec(node_name=node, affinity=affinity))


def some_node(rnd: Random, name: str) -> Node:
    labels = {"host": name, "zone": rnd.choice("ab"), "rack": rnd.choice("12")}
    return Node(ObjectMeta(name, labels={key: value for key, value in labels.items() if rnd.random() < 0.9}))


class World(ChangingCluster):
    """With namespaces whose labels change, too."""

    def __init__(self, rnd: Random) -> None:
        super().__init__(rnd, some_node, some_pod, most=6)
        for name in NAMESPACES[: rnd.randint(2, 3)]:
            self.label_namespace(name)
        self.fill(nodes=rnd.randint(1, 5), pods=rnd.randint(0, 8))

    def label_namespace(self, name: str) -> None:
        self.snapshot.add(Namespace(ObjectMeta(name, labels={"team": self.rnd.choice("xy")})))

    def change(self) -> None:
        roll = self.rnd.random()
        if roll < 0.35:
            self.place()
        elif roll < 0.7 and self.placed:
            self.take_away()
        elif roll < 0.85:
            self.set_node()
        elif roll < 0.93:
            self.label_namespace(self.rnd.choice(NAMESPACES))
        else:
            self.remove_node()


# ----------------------------------------------------------------------------------------------------------- the model


class Model:
    """What kube-scheduler does, pod by pod and node by node."""

    def __init__(self, snapshot: Snapshot, pod: PodInfo, args: InterPodAffinityArgs) -> None:
        self.snapshot = snapshot
        self.nodes = list(snapshot.nodes)
        self.pod = pod
        self.args = args
        self.namespace_labels = snapshot.namespace_labels(pod.namespace)
        self.affinity: Pairs = Counter()
        self.anti_affinity: Pairs = Counter()
        self.existing: Pairs = Counter()
        for node in self.nodes:
            for other in node.pods.values():
                self.change(other, node, 1)

    def means(self, term: AffinityTerm, other: PodInfo) -> bool:
        """Whether a term of the incoming pod means another: in listed namespaces, or in those of the selector."""
        by_labels = term.namespace_selector
        listed = {
            one.metadata.name
            for one in self.snapshot.objects.each(Namespace)
            if not by_labels.is_empty and by_labels.matches(one.metadata.labels)
        }
        in_scope = other.namespace in term.namespaces | listed or by_labels.is_empty
        return in_scope and term.selector.matches(other.labels)

    def is_meant_by(self, term: AffinityTerm) -> bool:
        return term.matches(self.pod.namespace, self.pod.labels, self.namespace_labels)

    def meets_all(self, other: PodInfo) -> bool:
        wanted = self.pod.terms.required_affinity
        return bool(wanted) and all(self.means(term, other) for term in wanted)

    def change(self, other: PodInfo, node: NodeInfo, delta: int) -> None:
        if self.meets_all(other):
            add(self.affinity, node, [term.topology_key for term in self.pod.terms.required_affinity], delta)
        hated = self.pod.terms.required_anti_affinity
        add(self.anti_affinity, node, [term.topology_key for term in hated if self.means(term, other)], delta)
        hating = other.terms.required_anti_affinity
        add(self.existing, node, [term.topology_key for term in hating if self.is_meant_by(term)], delta)

    @property
    def is_idle(self) -> bool:
        terms = self.pod.terms
        return not (self.existing or terms.required_affinity or terms.required_anti_affinity)

    def verdict(self, labels: Labels) -> str | None:
        wanted = [term.topology_key for term in self.pod.terms.required_affinity]
        hated = [term.topology_key for term in self.pod.terms.required_anti_affinity]
        if not all(key in labels for key in wanted):
            return "node(s) didn't match pod affinity rules"
        near = all(self.affinity[(key, labels[key])] > 0 for key in wanted)
        if not near and not (not self.affinity and self.meets_all(self.pod)):
            return "node(s) didn't match pod affinity rules"
        if any(key in labels and self.anti_affinity[(key, labels[key])] > 0 for key in hated):
            return "node(s) didn't match pod anti-affinity rules"
        if any(self.existing[pair] > 0 for pair in labels.items()):
            return "node(s) didn't satisfy existing pods anti-affinity rules"
        return None

    def scores(self) -> dict[tuple[str, str], int]:
        """The weight of every (key, value) on record."""
        weights: dict[tuple[str, str], int] = {}

        def record(node: NodeInfo, term: AffinityTerm, weight: int) -> None:
            if term.topology_key in node.labels:
                pair = (term.topology_key, node.labels[term.topology_key])
                weights[pair] = weights.get(pair, 0) + weight

        mine = self.pod.terms
        for node in self.nodes:
            for other in node.pods.values():
                for sign, wishes in ((1, mine.preferred_affinity), (-1, mine.preferred_anti_affinity)):
                    for wish in wishes:
                        if self.means(wish.term, other):
                            record(node, wish.term, sign * wish.weight)
                theirs = other.terms
                for term in theirs.required_affinity if self.args.hard_pod_affinity_weight else ():
                    if self.is_meant_by(term):
                        record(node, term, self.args.hard_pod_affinity_weight)
                for sign, wishes in ((1, theirs.preferred_affinity), (-1, theirs.preferred_anti_affinity)):
                    for wish in wishes:
                        if self.is_meant_by(wish.term):
                            record(node, wish.term, sign * wish.weight)
        return weights


def add(pairs: Pairs, node: NodeInfo, keys: Sequence[str], delta: int) -> None:
    for key in keys:
        if key in node.labels:
            pair = (key, node.labels[key])
            pairs[pair] += delta
            if not pairs[pair]:
                del pairs[pair]


def normalised(raw: list[int]) -> list[int]:
    width = max(raw) - min(raw)
    return [int(100.0 * ((score - min(raw)) / width)) if width else 0 for score in raw]


# ----------------------------------------------------------------------------------------------------------- the tests


def reason(status: Status | None) -> str | None:
    return None if status is None else status.message


def check_verdicts(plugin: InterPodAffinity, state: CycleState, world: World, pod: PodInfo, model: Model) -> None:
    nodes = world.snapshot.nodes
    expected = [model.verdict(node.labels) for node in nodes]
    assert [reason(plugin.filter(state, pod, node)) for node in nodes] == expected
    codes, statuses = plugin.filter_nodes(state, pod, nodes, nodes.rows)
    assert [reason(statuses[code - 1]) if code else None for code in codes.tolist()] == expected


def dry_run(world: World, node: NodeInfo) -> Iterator[tuple[PodInfo, int]]:
    pods = list(node.pods.values())
    world.rnd.shuffle(pods)
    gone = pods[: world.rnd.randint(0, len(pods))]
    yield from ((pod, -1) for pod in gone)
    yield from ((pod, 1) for pod in gone[::2])
    yield world.newcomer(), 1


def check_filter(plugin: InterPodAffinity, world: World, pod: PodInfo, args: InterPodAffinityArgs) -> None:
    state, nodes, model = CycleState(), world.snapshot.nodes, Model(world.snapshot, pod, args)
    answer = plugin.pre_filter(state, pod, nodes)
    assert (answer is not None) == model.is_idle
    if answer is not None:
        return
    check_verdicts(plugin, state, world, pod, model)
    crowded, dry = nodes[world.rnd.choice(nodes.rows.tolist())].copy(), state.clone()
    for moved, delta in dry_run(world, crowded):
        if delta > 0:
            crowded.add_pod(moved)
            plugin.add_pod(dry, pod, moved, crowded)
        else:
            crowded.remove_pod(moved)
            plugin.remove_pod(dry, pod, moved, crowded)
        model.change(moved, crowded, delta)
        assert reason(plugin.filter(dry, pod, crowded)) == model.verdict(crowded.labels)
    check_verdicts(plugin, dry, world, pod, model)
    check_verdicts(plugin, state, world, pod, Model(world.snapshot, pod, args))


def check_scores(plugin: InterPodAffinity, world: World, pod: PodInfo, args: InterPodAffinityArgs) -> None:
    state, nodes = CycleState(), world.snapshot.nodes
    fitting = [row for row in nodes.rows.tolist() if world.rnd.random() < 0.8] or nodes.rows.tolist()[:1]
    rows = nodes.rows if len(fitting) == len(nodes) else np.array(fitting, dtype=np.intp)
    weights = Model(world.snapshot, pod, args).scores()
    wishes = pod.terms.preferred_affinity or pod.terms.preferred_anti_affinity
    is_left_out = args.ignore_preferred_terms_of_existing_pods and not wishes
    answer = plugin.pre_score(state, pod, nodes, rows)
    assert (answer is not None) == (is_left_out or not weights)
    if answer is not None:
        return
    raw = [sum(weights.get(pair, 0) for pair in nodes[row].labels.items()) for row in fitting]
    assert [plugin.score(state, pod, nodes[row]) for row in fitting] == raw
    scores = plugin.score_nodes(state, pod, nodes, rows)
    assert scores.tolist() == raw
    assert plugin.normalize_scores(state, pod, scores, rows).tolist() == normalised(raw)


@given(rnd=st.randoms(use_true_random=False), hard_weight=st.integers(0, 5), ignores=st.booleans())
@settings(deadline=None, max_examples=250)
def test_every_form_agrees_with_the_plain_model(rnd: Random, hard_weight: int, ignores: bool) -> None:
    world = World(rnd)
    args = InterPodAffinityArgs(hard_weight, ignores)
    plugin = InterPodAffinity(args, Handle(world.snapshot, now=lambda: 0.0, random=rnd))
    pods = [world.newcomer() for _ in range(3)]
    for _ in range(8):
        pod = rnd.choice(pods)
        check_filter(plugin, world, pod, args)
        check_scores(plugin, world, pod, args)
        world.change()
