"""PodTopologySpread against a plain model that walks all pods on all nodes, while the cluster changes."""

import math
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.changing import ChangingCluster

from moorage.columns import NodeInfo, PodInfo, Snapshot
from moorage.config import PodTopologySpreadArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import Code, Status
from moorage.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeSpec,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodSpec,
    ReplicaSet,
    SelectorSpec,
    Service,
    ServiceSpec,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from moorage.plugins.topology_spread import PodTopologySpread
from moorage.values.selector import EVERYTHING, Selector, compile_selector, from_labels
from moorage.values.taint import first_untolerated

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SYSTEM = (
    TopologySpreadConstraint(3, HOSTNAME, "ScheduleAnyway"),
    TopologySpreadConstraint(5, ZONE, "ScheduleAnyway"),
)


# ------------------------------------------------------------------------------------------------------ random objects


def some_labels(rnd: Random) -> dict[str, str]:
    return {key: rnd.choice("xy") for key in ("app", "tier") if rnd.random() < 0.7}


def some_selector(rnd: Random) -> LabelSelector | None:
    roll = rnd.random()
    if roll < 0.1:
        return None
    if roll < 0.2:
        return LabelSelector()
    if roll < 0.4:
        return LabelSelector(match_expressions=(LabelSelectorRequirement("tier", "NotIn", ("y",)),))
    return LabelSelector({"app": rnd.choice("xy")})


def some_constraint(rnd: Random) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=rnd.randint(1, 2),
        topology_key=rnd.choice((HOSTNAME, ZONE, "rack")),
        when_unsatisfiable=rnd.choice(("DoNotSchedule", "ScheduleAnyway")),
        label_selector=some_selector(rnd),
        min_domains=rnd.choice((None, None, 1, 3)),
        node_affinity_policy=rnd.choice((None, "Honor", "Ignore")),
        node_taints_policy=rnd.choice((None, "Honor", "Ignore")),
        match_label_keys=rnd.choice(((), (), ("tier",))),
    )


def some_node(rnd: Random, name: str) -> Node:
    labels = {HOSTNAME: name, ZONE: rnd.choice(("a", "b", "")), "rack": rnd.choice("12"), "disk": rnd.choice("hs")}
    kept = {key: value for key, value in labels.items() if rnd.random() < 0.9}
    taints = (Taint("dedicated", "", "NoSchedule"),) if rnd.random() < 0.2 else ()
    return Node(ObjectMeta(name, labels=kept), NodeSpec(taints=taints))


def some_pod(rnd: Random, name: str, node: str = "") -> Pod:
    owner = OwnerReference("apps/v1", "ReplicaSet", "set", controller=True)
    meta = ObjectMeta(
        name,
        rnd.choice(("one", "one", "two")),
        uid=name,
        labels=some_labels(rnd),
        deletion_timestamp="2026-01-01T00:00:00Z" if node and rnd.random() < 0.2 else "",
        owner_references=(owner,) if rnd.random() < 0.3 else (),
    )
    constraints = tuple(some_constraint(rnd) for _ in range(rnd.randint(0, 3)))
    spec = PodSpec(
        node_name=node,
        node_selector={"disk": "s"} if rnd.random() < 0.3 else {},
        tolerations=(Toleration("dedicated", "Exists"),) if rnd.random() < 0.3 else (),
        topology_spread_constraints=constraints,
    )
    return Pod(meta, spec)


class World(ChangingCluster):
    """With a service and a replica set, perhaps, that default constraints go by."""

    def __init__(self, rnd: Random) -> None:
        super().__init__(rnd, some_node, some_pod, most=7)
        self.fill(nodes=rnd.randint(1, 6), pods=rnd.randint(0, 12))
        if rnd.random() < 0.7:
            self.snapshot.add(Service(ObjectMeta("svc", "one"), ServiceSpec({"app": "x"})))
            self.snapshot.add(ReplicaSet(ObjectMeta("set", "one"), SelectorSpec(some_selector(rnd))))

    def change(self) -> None:
        roll = self.rnd.random()
        if roll < 0.4:
            self.place()
        elif roll < 0.7 and self.placed:
            self.take_away()
        elif roll < 0.9:
            self.set_node()
        else:
            self.remove_node()


# ----------------------------------------------------------------------------------------------------------- the model


class Model:
    """What kube-scheduler does, pod by pod and node by node."""

    def __init__(self, snapshot: Snapshot, pod: PodInfo, args: PodTopologySpreadArgs) -> None:
        self.nodes = list(snapshot.nodes)
        self.pod = pod
        own = pod.spec.topology_spread_constraints
        self.require_all = bool(own) or args.defaulting_type == "List"
        self.shared: Selector | None = None
        self.all = own
        if not own:
            self.all = SYSTEM if args.defaulting_type == "System" else args.default_constraints
            self.shared = self._default_selector(snapshot)
            if self.shared == EVERYTHING:
                self.all = ()

    def _default_selector(self, snapshot: Snapshot) -> Selector:
        labels: dict[str, str] = {}
        for service in snapshot.objects.each(Service):
            if service.metadata.namespace == self.pod.namespace and from_labels(service.spec.selector).matches(
                self.pod.labels
            ):
                labels |= service.spec.selector
        further: tuple[object, ...] = ()
        if self.pod.pod.metadata.owner_references:
            owner = snapshot.objects.get(ReplicaSet, f"{self.pod.namespace}/set")
            if owner is not None:
                further = compile_selector(owner.spec.selector).requirements
        return Selector((*from_labels(labels).requirements, *further))  # type: ignore[arg-type]

    def of(self, action: str) -> list[TopologySpreadConstraint]:
        return [one for one in self.all if one.when_unsatisfiable == action]

    def selector(self, one: TopologySpreadConstraint) -> Selector:
        if self.shared is not None:
            return self.shared
        own = {key: self.pod.labels[key] for key in one.match_label_keys if key in self.pod.labels}
        return compile_selector(one.label_selector).and_labels(own)

    def takes_part(self, one: TopologySpreadConstraint, node: NodeInfo) -> bool:
        if one.node_affinity_policy in (None, "Honor") and not all(
            node.labels.get(key) == value for key, value in self.pod.spec.node_selector.items()
        ):
            return False
        return one.node_taints_policy != "Honor" or first_untolerated(node.taints, self.pod.spec.tolerations) is None

    def matching(self, one: TopologySpreadConstraint, node: NodeInfo) -> int:
        selector = self.selector(one)
        return sum(
            not selector.is_empty
            and other.namespace == self.pod.namespace
            and not other.pod.is_terminating
            and selector.matches(other.labels)
            for other in node.pods.values()
        )

    def hard_counts(self) -> list[dict[str, int]]:
        counts: list[dict[str, int]] = []
        constraints = self.of("DoNotSchedule")
        for one in constraints:
            by_value: dict[str, int] = {}
            for node in self.nodes:
                if all(other.topology_key in node.labels for other in constraints) and self.takes_part(one, node):
                    value = node.labels[one.topology_key]
                    by_value[value] = by_value.get(value, 0) + self.matching(one, node)
            counts.append(by_value)
        return counts

    def change(self, counts: list[dict[str, int]], moved: PodInfo, node: NodeInfo, delta: int) -> None:
        constraints = self.of("DoNotSchedule")
        if moved.namespace != self.pod.namespace or not all(one.topology_key in node.labels for one in constraints):
            return
        for one, by_value in zip(constraints, counts, strict=True):
            if self.selector(one).matches(moved.labels) and self.takes_part(one, node):
                by_value[node.labels[one.topology_key]] += delta

    def verdict(self, counts: list[dict[str, int]], node: NodeInfo) -> Code | None:
        for one, by_value in zip(self.of("DoNotSchedule"), counts, strict=True):
            if one.topology_key not in node.labels:
                return Code.UNSCHEDULABLE_AND_UNRESOLVABLE
            smallest = min(by_value.values(), default=2**31 - 1)
            if len(by_value) < (1 if one.min_domains is None else one.min_domains):
                smallest = 0
            count = by_value.get(node.labels[one.topology_key], 0)
            if count + self.selector(one).matches(self.pod.labels) - smallest > one.max_skew:
                return Code.UNSCHEDULABLE
        return None

    def scores(self, fitting: list[NodeInfo]) -> tuple[list[int], list[int]]:
        """Raw and normalised."""
        constraints = self.of("ScheduleAnyway")
        keys = {one.topology_key for one in constraints}
        ignored = [self.require_all and not keys <= node.labels.keys() for node in fitting]
        counted = [node for node, out in zip(fitting, ignored, strict=True) if not out]
        totals = [0.0] * len(fitting)
        for one in constraints:
            values = {node.labels.get(one.topology_key, "") for node in counted}
            weight = math.log((len(counted) if one.topology_key == HOSTNAME else len(values)) + 2)
            by_value = dict.fromkeys(values, 0)
            for node in self.nodes:
                value = node.labels.get(one.topology_key, "")
                whole = not self.require_all or keys <= node.labels.keys()
                if whole and self.takes_part(one, node) and value in by_value:
                    by_value[value] += self.matching(one, node)
            for index, node in enumerate(fitting):
                if ignored[index] or one.topology_key not in node.labels:
                    continue
                is_own = one.topology_key == HOSTNAME
                count = self.matching(one, node) if is_own else by_value[node.labels[one.topology_key]]
                totals[index] += count * weight + (one.max_skew - 1)
        raw = [math.floor(total) + (total - math.floor(total) >= 0.5) for total in totals]
        valid = [score for score, out in zip(raw, ignored, strict=True) if not out]
        low, high = min(valid, default=0), max(valid, default=0)
        normal = [100 * (high + low - score) // high if high else 100 for score in raw]
        return raw, [0 if out else score for score, out in zip(normal, ignored, strict=True)]


# ----------------------------------------------------------------------------------------------------------- the tests


def code_of(status: Status | None) -> Code | None:
    return None if status is None else status.code


def check_filter(plugin: PodTopologySpread, world: World, pod: PodInfo, model: Model) -> None:
    state, nodes = CycleState(), world.snapshot.nodes
    answer = plugin.pre_filter(state, pod, nodes)
    assert (answer is not None) == (not model.of("DoNotSchedule"))
    if answer is not None:
        return
    counts = model.hard_counts()
    check_verdicts(plugin, state, world, pod, model, counts)
    crowded, dry = nodes[world.rnd.choice(nodes.rows.tolist())].copy(), state.clone()
    for moved, delta in dry_run(world, crowded):
        if delta > 0:
            crowded.add_pod(moved)
            plugin.add_pod(dry, pod, moved, crowded)
        else:
            crowded.remove_pod(moved)
            plugin.remove_pod(dry, pod, moved, crowded)
        model.change(counts, moved, crowded, delta)
        assert code_of(plugin.filter(dry, pod, crowded)) == model.verdict(counts, crowded)
    check_verdicts(plugin, dry, world, pod, model, counts)
    check_verdicts(plugin, state, world, pod, model, model.hard_counts())


def dry_run(world: World, node: NodeInfo) -> Iterator[tuple[PodInfo, int]]:
    pods = list(node.pods.values())
    world.rnd.shuffle(pods)
    gone = pods[: world.rnd.randint(0, len(pods))]
    yield from ((pod, -1) for pod in gone)
    yield from ((pod, 1) for pod in gone[::2])
    yield world.newcomer(), 1


def check_verdicts(
    plugin: PodTopologySpread,
    state: CycleState,
    world: World,
    pod: PodInfo,
    model: Model,
    counts: list[dict[str, int]],
) -> None:
    nodes = world.snapshot.nodes
    expected = [model.verdict(counts, node) for node in nodes]
    assert [code_of(plugin.filter(state, pod, node)) for node in nodes] == expected
    codes, statuses = plugin.filter_nodes(state, pod, nodes, nodes.rows)
    assert [code_of(statuses[code - 1]) if code else None for code in codes.tolist()] == expected


def check_scores(plugin: PodTopologySpread, world: World, pod: PodInfo, model: Model) -> None:
    state, nodes = CycleState(), world.snapshot.nodes
    fitting = [row for row in nodes.rows.tolist() if world.rnd.random() < 0.8] or nodes.rows.tolist()[:1]
    rows = nodes.rows if len(fitting) == len(nodes) else np.array(fitting, dtype=np.intp)
    answer = plugin.pre_score(state, pod, nodes, rows)
    assert (answer is not None) == (not model.of("ScheduleAnyway"))
    if answer is not None:
        return
    raw, normal = model.scores([nodes[row] for row in fitting])
    assert [plugin.score(state, pod, nodes[row]) for row in fitting] == raw
    scores = plugin.score_nodes(state, pod, nodes, rows)
    assert scores.tolist() == raw
    assert plugin.normalize_scores(state, pod, scores, rows).tolist() == normal


@pytest.mark.parametrize("defaulting", ["System", "List"])
@given(rnd=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=150)
def test_every_form_agrees_with_the_plain_model(defaulting: str, rnd: Random) -> None:
    world = World(rnd)
    defaults = tuple(
        TopologySpreadConstraint(1, key, action)
        for key, action in ((ZONE, "ScheduleAnyway"), ("rack", "DoNotSchedule"), (HOSTNAME, "ScheduleAnyway"))
    )
    args = PodTopologySpreadArgs(defaults if defaulting == "List" else (), defaulting)
    plugin = PodTopologySpread(args, Handle(world.snapshot, now=lambda: 0.0, random=rnd))
    pods = [world.newcomer() for _ in range(3)]
    for _ in range(8):
        pod = rnd.choice(pods)
        model = Model(world.snapshot, pod, args)
        check_filter(plugin, world, pod, model)
        check_scores(plugin, world, pod, model)
        world.change()
