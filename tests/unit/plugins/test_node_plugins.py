"""The plugins that look at the node object alone: cordon, name, taints, affinity, declared features."""

from typing import Any

import pytest
from tests.unit.plugins.handles import a_handle
from tests.unit.plugins.volumes.volume_builders import hint

from moorage.columns import PodInfo, Snapshot
from moorage.config import NodeAffinityArgs
from moorage.framework.events import Action, Hint, Resource
from moorage.framework.status import Code
from moorage.objects import Node, RestartRule
from moorage.plugins import NodeAffinity, NodeDeclaredFeatures, NodeName, NodeUnschedulable, TaintToleration
from moorage.testing import Cluster, NodeBuilder, PodBuilder, a_node, a_pod

UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def info(pod: PodBuilder) -> PodInfo:
    return Snapshot().info(pod.build())


def after_node(plugin: Any, pod: PodBuilder, action: Action, old: NodeBuilder | None, new: NodeBuilder) -> Hint | None:
    before: Node | None = old.build() if old is not None else None
    return hint(plugin, info(pod), Resource.NODE, action, before, new.build())


def after_pod(plugin: Any, pod: PodBuilder, action: Action, old: PodBuilder, new: PodBuilder) -> Hint | None:
    return hint(plugin, info(pod), Resource.UNSCHEDULABLE_POD, action, old.build(), new.build())


def made(plugin: Any, args: Any = None) -> Any:
    return plugin(args, a_handle())


# ---------------------------------------------------------------------------------------------------- NodeUnschedulable


def test_a_cordoned_node_is_refused() -> None:
    decided = Cluster(a_node("a").cordoned(), a_node("b")).decide(a_pod())
    assert decided.feasible == ("b",)
    decided.assert_refused("a", by="NodeUnschedulable", because="node(s) were unschedulable")
    assert decided.decision.rejected["a"].code is UNRESOLVABLE


def test_unless_the_pod_tolerates_it() -> None:
    pod = a_pod().tolerates("node.kubernetes.io/unschedulable", effect="NoSchedule")
    assert Cluster(a_node("a").cordoned()).decide(pod).chosen == "a"


def test_hints_of_the_cordon() -> None:
    plugin, pod = made(NodeUnschedulable), a_pod("p")
    assert after_node(plugin, pod, Action.ADD, None, a_node()) is Hint.QUEUE
    assert after_node(plugin, pod, Action.ADD, None, a_node().cordoned()) is Hint.SKIP
    assert after_node(plugin, pod, Action.UPDATE_NODE_TAINT, a_node().cordoned(), a_node()) is Hint.QUEUE
    assert after_node(plugin, pod, Action.UPDATE_NODE_TAINT, a_node(), a_node()) is Hint.SKIP
    tolerant = pod.tolerates()
    assert after_pod(plugin, pod, Action.UPDATE_POD_TOLERATION, pod, tolerant) is Hint.QUEUE
    assert after_pod(plugin, pod, Action.UPDATE_POD_TOLERATION, pod, pod.tolerates("x")) is Hint.SKIP
    assert after_pod(plugin, a_pod("other"), Action.UPDATE_POD_TOLERATION, pod, tolerant) is Hint.SKIP


# ------------------------------------------------------------------------------------------------------------- NodeName


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod().on("b"))
    assert decided.feasible == ("b",)
    missing = Cluster(*(a_node(f"n{number}") for number in range(9))).decide(a_pod().on("absent"))
    missing.assert_unschedulable("9 node(s) didn't satisfy plugin(s) [NodeName]")


def test_before_1_37_all_nodes_were_asked_about_the_name() -> None:
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod().on("b"), version="1.36")
    assert decided.feasible == ("b",)
    decided.assert_refused("a", by="NodeName", because="node(s) didn't match the requested node name")
    missing = Cluster(*(a_node(f"n{number}") for number in range(9))).decide(a_pod().on("absent"), version="1.36")
    missing.assert_unschedulable("9 node(s) didn't match the requested node name")


def test_hints_of_the_name() -> None:
    assert after_node(made(NodeName), a_pod(), Action.ADD, None, a_node()) is Hint.QUEUE
    assert after_node(made(NodeName), a_pod(), Action.UPDATE_NODE_LABEL, a_node(), a_node()) is None


# ------------------------------------------------------------------------------------------------------ TaintToleration


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_an_untolerated_taint(effect: str) -> None:
    cluster = Cluster(a_node("a").taint("gpu", "yes", effect=effect))
    cluster.decide(a_pod()).assert_refused("a", by="TaintToleration", because="node(s) had untolerated taint(s)")
    assert cluster.decide(a_pod().tolerates("gpu")).chosen == "a"


def test_soft_taints_cost_points() -> None:
    nodes = (
        a_node("clean"),
        a_node("slow").taint("slow", effect="PreferNoSchedule"),
        a_node("worse").taint("slow", effect="PreferNoSchedule").taint("old", effect="PreferNoSchedule"),
    )
    decided = Cluster(*nodes).decide(a_pod(), weights={"TaintToleration": 1})
    assert [decided.score(name, "TaintToleration") for name in ("clean", "slow", "worse")] == [100, 50, 0]
    tolerant = Cluster(*nodes).decide(a_pod().tolerates("slow", effect="PreferNoSchedule"))
    assert tolerant.best == ("clean", "slow")
    assert Cluster(*nodes).decide(a_pod().tolerates("slow", effect="NoSchedule")).best == ("clean",)


def test_without_soft_taints_every_node_has_full_points() -> None:
    assert Cluster(a_node("a"), a_node("b")).decide(a_pod()).score("b", "TaintToleration") == 300


def test_hints_of_taints() -> None:
    plugin, pod, tainted = made(TaintToleration), a_pod("p"), a_node().taint("gpu")
    assert after_node(plugin, pod, Action.ADD, None, a_node()) is Hint.QUEUE
    assert after_node(plugin, pod, Action.ADD, None, tainted) is Hint.SKIP
    assert after_node(plugin, pod, Action.UPDATE_NODE_TAINT, tainted, a_node()) is Hint.QUEUE
    assert after_node(plugin, pod, Action.UPDATE_NODE_TAINT, a_node(), a_node()) is Hint.SKIP
    assert after_pod(plugin, pod, Action.UPDATE_POD_TOLERATION, pod, pod.tolerates()) is Hint.QUEUE
    assert after_pod(plugin, a_pod("q"), Action.UPDATE_POD_TOLERATION, pod, pod.tolerates()) is Hint.SKIP


# --------------------------------------------------------------------------------------------------------- NodeAffinity


def test_selector_and_affinity_must_both_hold() -> None:
    cluster = Cluster(a_node("both").labels(disk="ssd", rank="5"), a_node("one").labels(disk="ssd"), a_node("none"))
    decided = cluster.decide(a_pod().node_selector(disk="ssd").requires_nodes("rank", "Gt", "3"))
    assert decided.feasible == ("both",)
    decided.assert_refused("one", by="NodeAffinity", because="node(s) didn't match Pod's node affinity/selector")
    assert decided.decision.rejected["one"].code is UNRESOLVABLE


def test_named_nodes_narrow_the_search() -> None:
    cluster = Cluster(a_node("a"), a_node("b"), a_node("c"))
    named = a_pod().requires_nodes("metadata.name", "In", "a").requires_nodes("metadata.name", "In", "b")
    decided = cluster.decide(named)
    assert decided.feasible == ("a", "b")
    assert decided.decision.rejected == {}, "c was never looked at"
    either = cluster.decide(named.requires_nodes("kubernetes.io/hostname", "In", "c"))
    assert either.feasible == ("a", "b", "c")


def test_nobody_left() -> None:
    decided = Cluster(a_node("a")).decide(a_pod().requires_nodes("metadata.name", "In"))
    decided.assert_unschedulable("pod affinity terms conflict")


def test_preferences_add_up() -> None:
    cluster = Cluster(a_node("both").labels(disk="ssd", rank="5"), a_node("one").labels(disk="ssd"), a_node("none"))
    pod = a_pod().prefers_nodes(30, "disk", "In", "ssd").prefers_nodes(10, "rank", "Exists")
    decided = cluster.decide(pod, weights={"NodeAffinity": 1})
    assert [decided.score(name, "NodeAffinity") for name in ("both", "one", "none")] == [100, 75, 0]


def added(**affinity: Any) -> dict[str, Any]:
    return {"NodeAffinity": {"addedAffinity": affinity}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def test_the_profile_may_add_requirements_and_preferences() -> None:
    cluster = Cluster(a_node("a").labels(pool="mine"), a_node("b").labels(pool="mine", disk="ssd"), a_node("c"))
    args = added(
        requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": [expression("pool", "In", "mine")]},
        preferredDuringSchedulingIgnoredDuringExecution=[{"weight": 9, "preference": expression("disk", "Exists")}],
    )
    decided = cluster.decide(a_pod(), args=args)
    decided.assert_chosen("b")
    decided.assert_refused("c", by="NodeAffinity", because="node(s) didn't match scheduler-enforced node affinity")


def test_a_malformed_preference_fails_the_pod() -> None:
    engine = Cluster(a_node("a"), a_node("b")).scheduler().engine
    decision = engine.explain(info(a_pod().prefers_nodes(5, "rank", "Gt", "many")))
    problem = (
        """[0].matchExpressions[0].values[0]: Invalid value: "many": for 'Gt', 'Lt' operators, the value must be"""
    )
    assert decision.message == f'running PreScore plugin "NodeAffinity": {problem} an integer'


def test_hints_of_affinity() -> None:
    plugin, pod = made(NodeAffinity, NodeAffinityArgs()), a_pod().node_selector(disk="ssd")
    ssd = a_node().labels(disk="ssd")
    assert after_node(plugin, pod, Action.ADD, None, ssd) is Hint.QUEUE
    assert after_node(plugin, pod, Action.ADD, None, a_node()) is Hint.SKIP
    assert after_node(plugin, pod, Action.UPDATE_NODE_LABEL, a_node(), ssd) is Hint.QUEUE
    assert after_node(plugin, pod, Action.UPDATE_NODE_LABEL, ssd, ssd.labels(a="b")) is Hint.SKIP


# ------------------------------------------------------------------------------------------------- NodeDeclaredFeatures


def restarting() -> PodBuilder:
    rules = (RestartRule("RestartAllContainers"),)
    return a_pod().spec(
        containers=tuple(type(c)(c.name, restart_policy_rules=rules) for c in a_pod().pod.spec.containers)
    )


@pytest.mark.parametrize(
    ("pod", "feature"),
    [
        (restarting(), "RestartAllContainersOnContainerExits"),
        (a_pod().spec(host_network=True, host_users=False), "UserNamespacesHostNetworkSupport"),
    ],
)
def test_what_a_spec_needs_the_node_must_declare(pod: PodBuilder, feature: str) -> None:
    cluster = Cluster(a_node("new").status(declared_features=("Other", feature)), a_node("old"))
    decided = cluster.decide(pod)
    assert decided.feasible == ("new",)
    decided.assert_refused("old", by="NodeDeclaredFeatures", because="node(s) didn't match Pod's required features")


def test_most_pods_need_nothing() -> None:
    assert Cluster(a_node("old")).decide(a_pod().spec(host_network=True)).chosen == "old"


def test_hints_of_features() -> None:
    plugin, pod = made(NodeDeclaredFeatures), a_pod("p")
    new = a_node().status(declared_features=("X",))
    assert after_node(plugin, pod, Action.ADD, None, new) is Hint.QUEUE
    assert after_node(plugin, pod, Action.UPDATE_NODE_DECLARED_FEATURE, a_node(), new) is Hint.QUEUE
    assert after_node(plugin, pod, Action.UPDATE_NODE_DECLARED_FEATURE, new, new) is Hint.SKIP
    needy = pod.spec(host_network=True, host_users=False)
    assert after_pod(plugin, pod, Action.UPDATE_POD_LABEL, needy, pod) is Hint.QUEUE
    assert after_pod(plugin, pod, Action.UPDATE_POD_LABEL, pod, pod) is Hint.SKIP
    assert after_pod(plugin, a_pod("q"), Action.UPDATE_POD_LABEL, needy, pod) is Hint.SKIP
