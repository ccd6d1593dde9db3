"""PodTopologySpread on small clusters."""

import math
from random import Random
from typing import Any

import pytest

from moorage.columns import PodInfo, Snapshot
from moorage.config import PodTopologySpreadArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import SKIP, Code
from moorage.objects import (
    KubeObject,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    OwnerReference,
    ReplicaSet,
    ReplicationController,
    ReplicationControllerSpec,
    SelectorSpec,
    Service,
    ServiceSpec,
    StatefulSet,
    TopologySpreadConstraint,
)
from moorage.plugins.topology_spread import PodTopologySpread
from moorage.testing import HOSTNAME, ZONE, NodeBuilder, PodBuilder, a_node, a_pod

UNEVEN = "node(s) didn't match pod topology spread constraints"
LACKS_LABEL = f"{UNEVEN} (missing required label)"
SYSTEM = PodTopologySpreadArgs()


class Bench:
    """The plugin over a snapshot."""

    def __init__(self, *items: NodeBuilder | PodBuilder | KubeObject, args: PodTopologySpreadArgs = SYSTEM) -> None:
        objects = [item if isinstance(item, KubeObject) else item.build() for item in items]
        self.snapshot = Snapshot.of(objects)
        self.plugin = PodTopologySpread(args, Handle(self.snapshot, now=lambda: 0.0, random=Random(0)))

    def pod(self, builder: PodBuilder) -> PodInfo:
        return self.snapshot.info(builder.build())

    def place(self, builder: PodBuilder, node: str) -> None:
        self.snapshot.nodes.add_pod(self.pod(builder), node)

    def refusals(self, builder: PodBuilder) -> dict[str, str]:
        """node -> why not, for the nodes that are refused."""
        state, pod, nodes = CycleState(), self.pod(builder), self.snapshot.nodes
        if self.plugin.pre_filter(state, pod, nodes) is SKIP:
            return {}
        found = {node.name: self.plugin.filter(state, pod, node) for node in nodes}
        codes, statuses = self.plugin.filter_nodes(state, pod, nodes, nodes.rows)
        assert [statuses[code - 1] if code else None for code in codes.tolist()] == list(found.values())
        return {name: status.message for name, status in found.items() if status is not None}

    def scores(self, builder: PodBuilder) -> dict[str, int] | None:
        """node -> normalised score; None where the plugin skips itself."""
        state, pod, nodes = CycleState(), self.pod(builder), self.snapshot.nodes
        if self.plugin.pre_score(state, pod, nodes, nodes.rows) is SKIP:
            return None
        raw = self.plugin.score_nodes(state, pod, nodes, nodes.rows)
        normal = self.plugin.normalize_scores(state, pod, raw, nodes.rows)
        return dict(zip((node.name for node in nodes), normal.tolist(), strict=True))


def four_nodes() -> list[NodeBuilder]:
    return [a_node("a1").zone("a"), a_node("a2").zone("a"), a_node("b1").zone("b"), a_node("b2").zone("b")]


def web(name: str, node: str = "") -> PodBuilder:
    return a_pod(name).labels(app="web").on(node)


def constrained(**fields: Any) -> PodBuilder:
    given: dict[str, Any] = {
        "max_skew": 1,
        "topology_key": ZONE,
        "when_unsatisfiable": "DoNotSchedule",
        "label_selector": LabelSelector({"app": "web"}),
    }
    constraint = TopologySpreadConstraint(**{**given, **fields})
    return web("new").spec(topology_spread_constraints=(constraint,))


# --------------------------------------------------------------------------------------------------------------- filter


def test_the_fuller_zone_is_refused() -> None:
    bench = Bench(*four_nodes(), web("one", "a1"))
    assert bench.refusals(constrained()) == {"a1": UNEVEN, "a2": UNEVEN}


def test_a_pod_placed_since_counts() -> None:
    bench = Bench(*four_nodes(), web("one", "a1"))
    bench.refusals(constrained())
    bench.place(web("two"), "b2")
    assert bench.refusals(constrained()) == {}


def test_a_pod_that_does_not_match_itself_adds_nothing() -> None:
    bench = Bench(*four_nodes(), web("one", "a1"))
    assert bench.refusals(constrained().labels(app="other")) == {}


def test_pods_of_other_namespaces_and_pods_being_deleted_do_not_count() -> None:
    bench = Bench(*four_nodes(), web("one", "a1").namespace("other"), web("two", "a1").terminating())
    assert bench.refusals(constrained()) == {}


def test_a_node_without_the_label_is_refused_for_good() -> None:
    bench = Bench(a_node("bare"), a_node("a1").zone("a"))
    assert bench.refusals(constrained()) == {"bare": LACKS_LABEL}


def test_the_first_constraint_that_refuses_is_told() -> None:
    bench = Bench(*four_nodes(), web("one", "a1"))
    both = constrained().spread(app="web", by="rack")
    assert bench.refusals(both) == {"a1": LACKS_LABEL, "a2": LACKS_LABEL, "b1": LACKS_LABEL, "b2": LACKS_LABEL}
    assert bench.refusals(web("new").spread(app="web", by="rack").spread(app="web"))["a1"] == LACKS_LABEL


def test_too_few_domains_make_the_minimum_zero() -> None:
    bench = Bench(*four_nodes(), web("one", "a1"), web("two", "b1"))
    assert bench.refusals(constrained(min_domains=2)) == {}
    assert set(bench.refusals(constrained(min_domains=3))) == {"a1", "a2", "b1", "b2"}


def test_an_empty_selector_counts_nobody() -> None:
    bench = Bench(*four_nodes(), web("one", "a1"), web("two", "a1"))
    assert bench.refusals(constrained(label_selector=LabelSelector())) == {}


def test_match_label_keys_narrow_the_selector_to_the_pods_own_values() -> None:
    bench = Bench(*four_nodes(), web("one", "a1").labels(rev="1"))
    wanted = constrained(match_label_keys=("rev", "absent"))
    assert set(bench.refusals(wanted.labels(rev="1"))) == {"a1", "a2"}
    assert bench.refusals(wanted.labels(rev="2")) == {}


def test_policies_decide_which_nodes_take_part() -> None:
    nodes = [*four_nodes(), a_node("c1").zone("c").taint("dedicated")]
    bench = Bench(*nodes, web("one", "a1"), web("two", "b1"))
    on_a_and_b = constrained().requires_nodes(ZONE, "In", "a", "b")
    assert bench.refusals(on_a_and_b) == {}
    ignoring = constrained(node_affinity_policy="Ignore").requires_nodes(ZONE, "In", "a", "b")
    assert set(bench.refusals(ignoring)) == {"a1", "a2", "b1", "b2"}
    assert bench.refusals(constrained(node_taints_policy="Honor")) == {}
    assert set(bench.refusals(constrained(node_taints_policy="Honor").tolerates("dedicated"))) == {
        "a1",
        "a2",
        "b1",
        "b2",
    }


def test_relabelling_a_node_moves_its_pods() -> None:
    bench = Bench(*four_nodes(), web("one", "a1"))
    bench.refusals(constrained())
    bench.snapshot.add(a_node("a1").zone("b").build())
    assert set(bench.refusals(constrained())) == {"a1", "b1", "b2"}


def test_malformed_selectors_break_the_cycle() -> None:
    bench = Bench(*four_nodes())
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Nearly", ("web",)),))
    pod = bench.pod(constrained(label_selector=bad))
    answer = bench.plugin.pre_filter(CycleState(), pod, bench.snapshot.nodes)
    assert answer is not None
    assert answer.code is Code.ERROR
    assert "Nearly" in answer.message


def test_dry_runs_leave_the_state_they_were_cloned_from_alone() -> None:
    victim = web("one", "a1")
    bench = Bench(*four_nodes(), victim)
    state, pod, nodes = CycleState(), bench.pod(constrained()), bench.snapshot.nodes
    bench.plugin.pre_filter(state, pod, nodes)
    dry, node = state.clone(), nodes[nodes.row_of["a1"]].copy()
    bench.plugin.remove_pod(dry, pod, bench.pod(victim), node)
    assert bench.plugin.filter(dry, pod, node) is None
    again = dry.clone()
    bench.plugin.add_pod(again, pod, bench.pod(victim), node)
    assert bench.plugin.filter(again, pod, node) is not None
    assert bench.plugin.filter(dry, pod, node) is None
    assert bench.plugin.filter(state, pod, node) is not None


# ---------------------------------------------------------------------------------------------------------------- score


@pytest.mark.parametrize(
    ("max_skew", "expected"),
    [(1, {"n0": 20, "n1": 60, "n2": 100, "n3": 0}), (2, {"n0": 33, "n1": 66, "n2": 100, "n3": 16})],
)
def test_the_emptiest_node_scores_best(max_skew: int, expected: dict[str, int]) -> None:
    counts = (2, 1, 0, 3)
    pods = [web(f"p{index}-{turn}", f"n{index}") for index, count in enumerate(counts) for turn in range(count)]
    bench = Bench(*(a_node(f"n{index}") for index in range(4)), *pods)
    assert bench.scores(web("new").spread(app="web", by=HOSTNAME, max_skew=max_skew, hard=False)) == expected


def test_a_node_without_the_label_scores_nothing() -> None:
    bench = Bench(a_node("bare"), a_node("a1").zone("a"), web("one", "bare"))
    assert bench.scores(web("new").spread(app="web", hard=False)) == {"bare": 0, "a1": 100}


def test_hard_constraints_do_not_score() -> None:
    assert Bench(*four_nodes()).scores(constrained()) is None


# ------------------------------------------------------------------------------------------------------------- defaults


def controller(kind: str, version: str = "apps/v1") -> PodBuilder:
    owner = OwnerReference(version, kind, "web", controller=True)
    return web("new").metadata(owner_references=(owner,))


SELECTS_WEB = SelectorSpec(LabelSelector({"app": "web"}))
META = ObjectMeta("web", "default")


@pytest.mark.parametrize(
    ("owner", "pod"),
    [
        (Service(META, ServiceSpec({"app": "web"})), web("new")),
        (ReplicaSet(META, SELECTS_WEB), controller("ReplicaSet")),
        (StatefulSet(META, SELECTS_WEB), controller("StatefulSet")),
        (
            ReplicationController(META, ReplicationControllerSpec({"app": "web"})),
            controller("ReplicationController", "v1"),
        ),
    ],
)
def test_pods_of_one_owner_are_spread_by_default(owner: KubeObject, pod: PodBuilder) -> None:
    bench = Bench(a_node("a1").zone("a"), a_node("b1").zone("b"), web("one", "a1"), owner)
    scores = bench.scores(pod)
    assert scores is not None
    assert scores["b1"] > scores["a1"]


@pytest.mark.parametrize(
    "pod",
    [
        web("new"),
        controller("ReplicaSet"),
        controller("ReplicaSet", "example.com/v1"),
        controller("Job", "batch/v1"),
    ],
)
def test_pods_that_nothing_selects_are_not_spread(pod: PodBuilder) -> None:
    other = Service(META, ServiceSpec({"app": "other"}))
    elsewhere = ReplicaSet(ObjectMeta("web", "elsewhere"), SELECTS_WEB)
    assert Bench(*four_nodes(), other, elsewhere).scores(pod) is None


def test_defaults_follow_the_services() -> None:
    bench = Bench(*four_nodes())
    assert bench.scores(web("new")) is None
    service = Service(META, ServiceSpec({"app": "web"}))
    bench.snapshot.add(service)
    assert bench.scores(web("new")) is not None
    bench.snapshot.objects.remove(service)
    assert bench.scores(web("new")) is None


def test_by_default_nodes_without_a_zone_are_spread_by_host() -> None:
    bench = Bench(a_node("n1"), a_node("n2"), web("one", "n1"), Service(META, ServiceSpec({"app": "web"})))
    scores = bench.scores(web("new"))
    assert scores is not None
    assert scores["n2"] > scores["n1"]


def test_by_default_no_zone_and_an_empty_zone_are_one_domain() -> None:
    nodes = (a_node("n1").zone(""), a_node("n2"), a_node("n3").zone("a"))
    pods = [web(f"p{index}", node) for index, node in enumerate(["n1"] * 4 + ["n2"] * 2)]
    bench = Bench(*nodes, *pods, Service(META, ServiceSpec({"app": "web"})))
    state, pod = CycleState(), bench.pod(web("new"))
    bench.plugin.pre_score(state, pod, bench.snapshot.nodes, bench.snapshot.nodes.rows)
    by_host, by_zone = 4 * math.log(3 + 2) + 2, 6 * math.log(2 + 2) + 4
    assert bench.plugin.score(state, pod, bench.snapshot.nodes[0]) == round(by_host + by_zone)


def test_a_list_of_defaults_may_be_hard() -> None:
    args = PodTopologySpreadArgs((TopologySpreadConstraint(1, ZONE, "DoNotSchedule"),), "List")
    service = Service(META, ServiceSpec({"app": "web"}))
    bench = Bench(*four_nodes(), web("one", "a1"), service, args=args)
    assert set(bench.refusals(web("new"))) == {"a1", "a2"}
    assert bench.refusals(web("new").labels(app="other")) == {}
    assert bench.scores(web("new")) is None


def test_a_controller_whose_selector_changes_is_followed() -> None:
    bench = Bench(a_node("n1"), a_node("n2"), web("one", "n1"), ReplicaSet(META, SELECTS_WEB))
    assert bench.scores(controller("ReplicaSet")) == {"n1": 66, "n2": 100}
    bench.snapshot.add(ReplicaSet(META, SelectorSpec(LabelSelector({"app": "other"}))))
    assert bench.scores(controller("ReplicaSet")) == {"n1": 100, "n2": 100}
