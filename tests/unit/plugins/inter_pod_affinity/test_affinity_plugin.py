"""InterPodAffinity on small clusters."""

from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from moorage.columns import PodInfo, Snapshot
from moorage.config import InterPodAffinityArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import SKIP, Code
from moorage.objects import (
    Affinity,
    KubeObject,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
)
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.plugins.inter_pod_affinity.scoring import normalize
from moorage.testing import HOSTNAME, ZONE, NodeBuilder, PodBuilder, a_node, a_pod

FAR = "node(s) didn't match pod affinity rules"
NEAR = "node(s) didn't match pod anti-affinity rules"
UNWANTED = "node(s) didn't satisfy existing pods anti-affinity rules"
DEFAULTS = InterPodAffinityArgs()


class Bench:
    """The plugin over a snapshot."""

    def __init__(self, *items: NodeBuilder | PodBuilder | KubeObject, args: InterPodAffinityArgs = DEFAULTS) -> None:
        objects = [item if isinstance(item, KubeObject) else item.build() for item in items]
        self.snapshot = Snapshot.of(objects)
        self.plugin = InterPodAffinity(args, Handle(self.snapshot, now=lambda: 0.0, random=Random(0)))

    def pod(self, builder: PodBuilder) -> PodInfo:
        return self.snapshot.info(builder.build())

    def refusals(self, builder: PodBuilder) -> dict[str, str] | None:
        """node -> why not, for the nodes that are refused; None where the plugin skips itself."""
        state, pod, nodes = CycleState(), self.pod(builder), self.snapshot.nodes
        if self.plugin.pre_filter(state, pod, nodes) is SKIP:
            return None
        found = {node.name: self.plugin.filter(state, pod, node) for node in nodes}
        codes, statuses = self.plugin.filter_nodes(state, pod, nodes, nodes.rows)
        assert [statuses[code - 1] if code else None for code in codes.tolist()] == list(found.values())
        return {name: status.message for name, status in found.items() if status is not None}

    def scores(self, builder: PodBuilder) -> dict[str, int] | None:
        """node -> score before normalising; None where the plugin skips itself."""
        state, pod, nodes = CycleState(), self.pod(builder), self.snapshot.nodes
        if self.plugin.pre_score(state, pod, nodes, nodes.rows) is SKIP:
            return None
        scores = self.plugin.score_nodes(state, pod, nodes, nodes.rows)
        return dict(zip((node.name for node in nodes), scores.tolist(), strict=True))


def three_nodes() -> list[NodeBuilder]:
    return [a_node("a1").zone("a"), a_node("a2").zone("a"), a_node("b1").zone("b")]


def term(selector: LabelSelector | None, **fields: Any) -> PodAffinityTerm:
    return replace(PodAffinityTerm(selector, topology_key=ZONE), **fields)


def wanting(one: PodAffinityTerm) -> PodBuilder:
    return a_pod("new").spec(affinity=Affinity(pod_affinity=PodAffinity((one,))))


# --------------------------------------------------------------------------------------------------------------- filter


def test_a_pod_without_terms_in_a_cluster_without_terms_is_left_alone() -> None:
    bench = Bench(*three_nodes(), a_pod("db").on("a1"))
    assert bench.refusals(a_pod("new")) is None
    assert bench.scores(a_pod("new")) is None


def test_required_affinity_wants_the_same_domain() -> None:
    bench = Bench(*three_nodes(), a_pod("db").labels(app="db").on("a1"))
    assert bench.refusals(a_pod("new").near(app="db", by=ZONE)) == {"b1": FAR}
    assert bench.refusals(a_pod("new").near(app="db")) == {"a2": FAR, "b1": FAR}


def test_pods_being_deleted_count() -> None:
    bench = Bench(*three_nodes(), a_pod("db").labels(app="db").on("a1").terminating())
    assert bench.refusals(a_pod("new").near(app="db", by=ZONE)) == {"b1": FAR}


def test_one_pod_must_meet_all_affinity_terms() -> None:
    both = a_pod("new").near(app="db", by=ZONE).near(tier="x", by=ZONE)
    apart = [a_pod("db").labels(app="db").on("a1"), a_pod("x").labels(tier="x").on("a2")]
    assert Bench(*three_nodes(), *apart).refusals(both) == {"a1": FAR, "a2": FAR, "b1": FAR}
    assert Bench(*three_nodes(), a_pod("db").labels(app="db", tier="x").on("b1")).refusals(both) == {
        "a1": FAR,
        "a2": FAR,
    }


def test_the_first_of_a_series_may_go_anywhere_with_the_label() -> None:
    bench = Bench(*three_nodes(), a_node("bare"))
    first = a_pod("new").labels(app="db").near(app="db", by=ZONE)
    assert bench.refusals(first) == {"bare": FAR}
    assert bench.refusals(a_pod("new").near(app="db", by=ZONE)) == dict.fromkeys(("a1", "a2", "b1", "bare"), FAR)
    bench.snapshot.nodes.add_pod(bench.pod(first.metadata(name="first", uid="first")), "b1")
    assert bench.refusals(first) == {"a1": FAR, "a2": FAR, "bare": FAR}


def test_required_anti_affinity_keeps_away() -> None:
    bench = Bench(*three_nodes(), a_node("bare"), a_pod("db").labels(app="db").on("a1"))
    assert bench.refusals(a_pod("new").away_from(app="db", by=ZONE)) == {"a1": NEAR, "a2": NEAR}


def test_pods_already_there_keep_others_away() -> None:
    bench = Bench(*three_nodes(), a_pod("db").on("a1").away_from(app="web", by=ZONE))
    assert bench.refusals(a_pod("new").labels(app="web")) == {"a1": UNWANTED, "a2": UNWANTED}
    assert bench.refusals(a_pod("new").labels(app="other")) is None
    assert bench.refusals(a_pod("new").labels(app="web").namespace("elsewhere")) is None


def test_terms_that_come_and_go_with_their_pods_are_followed() -> None:
    bench = Bench(*three_nodes(), a_pod("db").on("a1").away_from(app="web", by=ZONE))
    new = a_pod("new").labels(app="web")
    assert bench.refusals(new) == {"a1": UNWANTED, "a2": UNWANTED}
    late = bench.pod(a_pod("late").away_from(app="web"))
    bench.snapshot.nodes.add_pod(late, "b1")
    assert bench.refusals(new) == dict.fromkeys(("a1", "a2", "b1"), UNWANTED)
    bench.snapshot.nodes.remove_pod(late, "b1")
    assert bench.refusals(new) == {"a1": UNWANTED, "a2": UNWANTED}


def test_terms_that_take_each_others_place_between_two_decisions_are_told_apart() -> None:
    bench = Bench(*three_nodes())
    nodes, new = bench.snapshot.nodes, a_pod("new").labels(app="web")
    by_zone, by_host = (bench.pod(a_pod("shy").away_from(app="web", by=key)) for key in (ZONE, HOSTNAME))
    nodes.add_pod(by_zone, "a1")
    assert bench.refusals(new) == {"a1": UNWANTED, "a2": UNWANTED}
    nodes.remove_pod(by_zone, "a1")
    nodes.add_pod(by_host, "b1")
    assert bench.refusals(new) == {"b1": UNWANTED}


def test_affinity_is_told_before_anti_affinity_and_that_before_others_terms() -> None:
    bench = Bench(*three_nodes(), a_pod("db").labels(app="db").on("a1").away_from(app="web", by=ZONE))
    web = a_pod("new").labels(app="web")
    assert bench.refusals(web.away_from(app="db")) == {"a1": NEAR, "a2": UNWANTED}
    assert bench.refusals(web.away_from(app="db").near(app="db")) == {"a1": NEAR, "a2": FAR, "b1": FAR}


def test_malformed_terms_end_the_search() -> None:
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Nearly", ("db",)),))
    bench = Bench(*three_nodes())
    answer = bench.plugin.pre_filter(CycleState(), bench.pod(wanting(term(bad))), bench.snapshot.nodes)
    assert answer is not None
    assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.message.startswith("parsing pod: ")


def test_malformed_terms_of_running_pods_bind_nobody() -> None:
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Nearly", ("db",)),))
    affinity = Affinity(pod_anti_affinity=PodAffinity((term(bad),)))
    assert Bench(*three_nodes(), a_pod("old").on("a1").spec(affinity=affinity)).refusals(a_pod("new")) is None


# ----------------------------------------------------------------------------------------------------------- namespaces

DB = LabelSelector({"app": "db"})
TEAMS = (
    Namespace(ObjectMeta("default", labels={"team": "x"})),
    Namespace(ObjectMeta("x", labels={"team": "x"})),
    Namespace(ObjectMeta("y", labels={"team": "y"})),
)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"default"}),
        ({"namespaces": ("y",)}, {"y"}),
        ({"namespace_selector": LabelSelector()}, {"default", "x", "y"}),
        ({"namespace_selector": LabelSelector({"team": "x"})}, {"default", "x"}),
        ({"namespaces": ("y",), "namespace_selector": LabelSelector({"team": "x"})}, {"default", "x", "y"}),
        # Of only negative requirements, too: before 1.37 they were taken for every namespace.
        (
            {
                "namespace_selector": LabelSelector(
                    match_expressions=(LabelSelectorRequirement("team", "NotIn", ("x",)),)
                )
            },
            {"y"},
        ),
    ],
)
def test_whose_pods_a_term_means(fields: dict[str, Any], expected: set[str]) -> None:
    found = set()
    for namespace in ("default", "x", "y"):
        bench = Bench(*TEAMS, a_node("a1").zone("a"), a_pod("db").namespace(namespace).labels(app="db").on("a1"))
        if bench.refusals(wanting(term(DB, **fields))) == {}:
            found.add(namespace)
    assert found == expected


def test_a_namespace_that_changes_its_labels_is_followed() -> None:
    bench = Bench(*TEAMS, a_node("a1").zone("a"), a_pod("db").namespace("y").labels(app="db").on("a1"))
    new = wanting(term(DB, namespace_selector=LabelSelector({"team": "x"})))
    assert bench.refusals(new) == {"a1": FAR}
    bench.snapshot.add(Namespace(ObjectMeta("y", labels={"team": "x"})))
    assert bench.refusals(new) == {}


def test_others_terms_see_the_real_labels_of_the_incoming_pods_namespace() -> None:
    not_x = LabelSelector(match_expressions=(LabelSelectorRequirement("team", "NotIn", ("x",)),))
    hating = Affinity(pod_anti_affinity=PodAffinity((term(LabelSelector(), namespace_selector=not_x),)))
    bench = Bench(*TEAMS, a_node("a1").zone("a"), a_pod("old").on("a1").spec(affinity=hating))
    assert bench.refusals(a_pod("new").namespace("y")) == {"a1": UNWANTED}
    assert bench.refusals(a_pod("new").namespace("x")) is None


# ---------------------------------------------------------------------------------------------------------------- score


def test_preferred_terms_add_and_take_away_weight() -> None:
    bench = Bench(*three_nodes(), a_pod("db").labels(app="db").on("a1"), a_pod("web").labels(app="web").on("a2"))
    new = a_pod("new").prefers_near(10, app="db", by=ZONE).prefers_away_from(3, app="web")
    assert bench.scores(new) == {"a1": 10, "a2": 7, "b1": 0}


def test_preferred_and_required_terms_of_pods_already_there_score_too() -> None:
    old = [
        a_pod("fond").on("a1").prefers_near(5, app="web"),
        a_pod("shy").on("a2").prefers_away_from(2, app="web"),
        a_pod("clingy").labels(app="web").on("b1").near(app="web"),
    ]
    new = a_pod("new").labels(app="web")
    assert Bench(*three_nodes(), *old).scores(new) == {"a1": 5, "a2": -2, "b1": 1}
    heavy = InterPodAffinityArgs(hard_pod_affinity_weight=7)
    assert Bench(*three_nodes(), *old, args=heavy).scores(new) == {"a1": 5, "a2": -2, "b1": 7}
    assert Bench(*three_nodes(), old[2], args=InterPodAffinityArgs(hard_pod_affinity_weight=0)).scores(new) is None


def test_preferred_terms_of_pods_already_there_may_be_ignored() -> None:
    args = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
    bench = Bench(*three_nodes(), a_pod("fond").on("a1").prefers_near(5, app="web"), args=args)
    assert bench.scores(a_pod("new").labels(app="web")) is None


def test_weights_that_cancel_out_are_on_record_all_the_same() -> None:
    bench = Bench(*three_nodes(), a_pod("db").labels(app="db").on("a1"))
    assert bench.scores(a_pod("new").prefers_near(5, app="db").prefers_away_from(5, app="db")) == {
        "a1": 0,
        "a2": 0,
        "b1": 0,
    }


@pytest.mark.parametrize(
    ("raw", "expected"),
    [([5, 0, -3, 2], [100, 37, 0, 62]), ([4, 4], [0, 0]), ([], []), ([0, 3000, 1000], [0, 100, 33])],
)
def test_scores_are_stretched_between_the_lowest_and_the_highest(raw: list[int], expected: list[int]) -> None:
    assert normalize(np.array(raw, dtype=np.int64)).tolist() == expected


# ------------------------------------------------------------------------------------------------------------- dry runs


def test_dry_runs_leave_the_state_they_were_cloned_from_alone() -> None:
    victim = a_pod("db").labels(app="db").on("a1").away_from(app="web")
    bench = Bench(*three_nodes(), victim)
    pod, nodes, state = (
        bench.pod(a_pod("new").labels(app="web").away_from(app="db")),
        bench.snapshot.nodes,
        CycleState(),
    )
    bench.plugin.pre_filter(state, pod, nodes)
    node, dry = nodes[nodes.row_of["a1"]].copy(), state.clone()
    bench.plugin.remove_pod(dry, pod, bench.pod(victim), node)
    assert bench.plugin.filter(dry, pod, node) is None
    assert bench.plugin.filter_nodes(dry, pod, nodes, nodes.rows).codes.tolist() == [0, 0, 0]
    refusal = bench.plugin.filter(state, pod, node)
    assert refusal is not None
    assert refusal.message == NEAR


def test_a_pod_that_a_dry_run_adds_may_bring_terms_over_another_topology() -> None:
    bench = Bench(*three_nodes(), a_pod("db").labels(app="db").on("b1"))
    pod, nodes, state = (
        bench.pod(a_pod("new").labels(app="web").away_from(app="db")),
        bench.snapshot.nodes,
        CycleState(),
    )
    bench.plugin.pre_filter(state, pod, nodes)
    node = nodes[nodes.row_of["a1"]].copy()
    bench.plugin.add_pod(state, pod, bench.pod(a_pod("late").away_from(app="web", by=ZONE)), node)
    refusal = bench.plugin.filter(state, pod, node)
    assert refusal is not None
    assert refusal.message == UNWANTED
    assert bench.plugin.filter_nodes(state, pod, nodes, nodes.rows).codes.tolist() == [1, 1, 2]


def test_hostnames_need_no_zone() -> None:
    bench = Bench(a_node("n1"), a_node("n2"), a_pod("db").labels(app="db").on("n1"))
    assert bench.refusals(a_pod("new").away_from(app="db", by=HOSTNAME)) == {"n1": NEAR}
