"""The testing kit: what its builders build, and what its assertions say."""

import doctest
from pathlib import Path
from typing import Any

import pytest

from moorage.attempt.scripted import PatchStatus
from moorage.config import ConfigErrors
from moorage.errors import ObjectError, PluginError
from moorage.framework import Handle, PermitAnswer, PodInfo, unresolvable, unschedulable, wait
from moorage.objects import Namespace, ObjectMeta, Toleration, convert
from moorage.objects.pod import Pod
from moorage.testing import HOSTNAME, REGION, ZONE, Cluster, a_node, a_pod
from moorage.testing import cluster as cluster_module
from moorage.testing import nodes as nodes_module
from moorage.testing import pods as pods_module
from moorage.testing.running import START


class OnlyFast:
    """A plugin to test with: refuses slow nodes, likes the one it is told to."""

    def __init__(self, args: dict[str, Any] | None, _handle: Any) -> None:
        self.liked = (args or {}).get("liked", "")

    def filter(self, _state: Any, _pod: Any, node: Any) -> Any:
        return unschedulable("node(s) were slow") if "slow" in node.labels else None

    def score(self, _state: Any, _pod: Any, node: Any) -> int:
        return 100 if node.name == self.liked else 0


NODES = (a_node("a"), a_node("b"), a_node("c").labels(slow="yes"))


@pytest.mark.parametrize("module", [cluster_module, nodes_module, pods_module])
def test_the_examples_in_the_documentation_work(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed


# ------------------------------------------------------------------------------------------------------------- builders


def test_a_node_says_what_was_said() -> None:
    node = (
        a_node("n")
        .allocatable({"example.com/gpu": 2}, cpu="8")
        .labels({"example.com/pool": "x"}, disk="ssd")
        .annotations(note="mine")
        .zone("a")
        .region("r")
        .taint("gpu", "yes", effect="NoExecute")
        .cordoned()
        .image("web:1", "web:latest", size="1Ki")
        .condition("Ready")
        .build()
    )
    assert node.metadata.name == "n"
    assert node.metadata.annotations == {"note": "mine"}
    assert node.metadata.labels == {HOSTNAME: "n", "example.com/pool": "x", "disk": "ssd", ZONE: "a", REGION: "r"}
    assert node.status.allocatable["cpu"] == "8"
    assert node.status.allocatable["pods"] == "110"
    assert node.status.allocatable["example.com/gpu"] == 2
    assert (node.spec.unschedulable, node.spec.taints[0].key, node.spec.taints[0].effect) == (True, "gpu", "NoExecute")
    assert node.status.images[0].size_bytes == 1024
    assert node.status.conditions[0].type == "Ready"


def test_a_pod_is_what_its_manifest_would_be() -> None:
    built = (
        a_pod("web")
        .namespace("live")
        .labels(app="web")
        .requests(cpu="1", memory="1Gi")
        .image("web:1")
        .host_port(80, address="10.0.0.1")
        .init_container(requests={"cpu": "2"}, sidecar=True)
        .overhead(cpu="100m")
        .claim("data")
        .node_selector(disk="ssd")
        .requires_nodes("rank", "Gt", "3")
        .prefers_nodes(5, "metadata.name", "In", "n1")
        .near(app="db", by=ZONE)
        .prefers_away_from(9, app="web")
        .spread(app="web", max_skew=2, hard=False)
        .tolerates("gpu", "yes")
        .tolerates("drain", effect="NoExecute")
        .priority(7, preempts=False)
        .scheduler("mine")
        .gated("quota")
        .nominated_to("n1")
        .started("2026-01-01T00:00:00Z")
        .owned_by("ReplicaSet", "web")
        .terminating()
        .build()
    )
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["3"]}]}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 5,
                    "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
                }
            ],
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
            ]
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 9,
                    "podAffinityTerm": {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME},
                }
            ]
        },
    }
    manifest = {
        "metadata": {
            "name": "web",
            "namespace": "live",
            "uid": "live-web-uid",
            "labels": {"app": "web"},
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web-uid", "controller": True}
            ],
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "web:1",
                    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                    "ports": [{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1", "protocol": "TCP"}],
                }
            ],
            "initContainers": [{"name": "init-0", "resources": {"requests": {"cpu": "2"}}, "restartPolicy": "Always"}],
            "overhead": {"cpu": "100m"},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            "nodeSelector": {"disk": "ssd"},
            "affinity": affinity,
            "topologySpreadConstraints": [
                {
                    "maxSkew": 2,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app": "web"}},
                }
            ],
            "tolerations": [
                {"key": "gpu", "operator": "Equal", "value": "yes"},
                {"key": "drain", "operator": "Exists", "effect": "NoExecute"},
            ],
            "priority": 7,
            "preemptionPolicy": "Never",
            "schedulerName": "mine",
            "schedulingGates": [{"name": "quota"}],
        },
        "status": {"nominatedNodeName": "n1", "startTime": "2026-01-01T00:00:00Z"},
    }
    assert built == convert(manifest, Pod)


def test_builders_can_be_shared() -> None:
    base = a_pod("p").labels(app="web")
    first, second = base.labels(tier="a").tolerates("x"), base.labels(tier="b").near(app="web").near(app="db")
    assert base.build().metadata.labels == {"app": "web"}
    assert first.build().spec.tolerations == (Toleration("x", "Exists"),)
    assert second.build().spec.tolerations == ()
    assert second.build().spec.affinity is not None
    assert base.build().spec.affinity is None


def test_pods_of_different_names_and_namespaces_are_different_pods() -> None:
    uids = {pod.build().metadata.uid for pod in (a_pod("a"), a_pod("b"), a_pod("a").namespace("other"))}
    assert len(uids) == 3
    assert a_pod("a").metadata(uid="own").build().metadata.uid == "own"


def test_any_other_field() -> None:
    assert a_pod().spec(host_network=True).build().spec.host_network
    assert a_node().status(declared_features=("X",)).build().status.declared_features == ("X",)
    with pytest.raises(TypeError):
        a_pod().spec(no_such_field=1)


# ------------------------------------------------------------------------------------------------------------- clusters


def test_a_cluster_takes_builders_structs_and_manifests() -> None:
    manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "m"}, "status": {"allocatable": {"pods": 5}}}
    cluster = Cluster(a_node("b"), Namespace(ObjectMeta(name="default")), manifest)
    assert cluster.decide(a_pod()).feasible == ("b", "m")
    with pytest.raises(ObjectError, match="unknown kind"):
        Cluster({"kind": "Gadget"})


def test_adding_makes_another_cluster() -> None:
    one = Cluster(a_node("a"))
    two = one.add(a_node("b"), a_node("a").cordoned())
    assert one.decide(a_pod()).feasible == ("a",)
    assert two.decide(a_pod()).feasible == ("b",)


def test_plugins_run_beside_the_defaults_with_args_and_weights() -> None:
    decided = Cluster(*NODES).decide(
        a_pod(), plugins=[OnlyFast], args={OnlyFast: {"liked": "b"}}, weights={OnlyFast: 7}
    )
    decided.assert_chosen("b")
    assert decided.score("b", "OnlyFast") == 700
    assert "NodeResourcesFit" in decided.decision.scores["b"]
    by_name = Cluster(*NODES).decide(a_pod(), plugins=[OnlyFast], args={"OnlyFast": {"liked": "b"}})
    assert by_name.score("b", "OnlyFast") == 100


def test_or_alone() -> None:
    decided = Cluster(*NODES, a_node("d").cordoned()).decide(a_pod(), plugins=[OnlyFast], defaults=False)
    assert decided.decision.scores["a"] == {"OnlyFast": 0}
    assert decided.feasible == ("a", "b", "d")


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins: {score: {enabled: [{name: OnlyFast, weight: 2}]}}
    pluginConfig: [{name: OnlyFast, args: {liked: a}}]
"""


def test_or_as_a_configuration_says(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    for config in (CONFIG, path):
        decided = Cluster(*NODES).decide(a_pod(), plugins=[OnlyFast], config=config)
        assert decided.score("a", "OnlyFast") == 200
        assert decided.feasible == ("a", "b", "c"), "the filter is not enabled there"


def test_a_configuration_says_it_all() -> None:
    with pytest.raises(ValueError, match="a config says which plugins run"):
        Cluster().decide(a_pod(), plugins=[OnlyFast], weights={OnlyFast: 1}, config=CONFIG)
    with pytest.raises(ConfigErrors, match="OnlyFast"):
        Cluster().decide(a_pod(), config=CONFIG)


def test_a_scheduler_fills_its_own_copy() -> None:
    cluster = Cluster(a_node("a").allocatable(cpu="1"), a_node("b").allocatable(cpu="1"))
    scheduler = cluster.scheduler()
    first, second, third = scheduler.schedule(*(a_pod(name).requests(cpu="1") for name in "xyz"))
    assert sorted((first.chosen, second.chosen)) == ["a", "b"]
    third.assert_unschedulable("2 Insufficient cpu")
    assert cluster.decide(a_pod().requests(cpu="1")).chosen


def test_a_refused_reserve_is_told() -> None:
    class Taken(OnlyFast):
        def reserve(self, *_: Any) -> Any:
            return unschedulable("taken")

        def unreserve(self, *_: Any) -> None: ...

    with pytest.raises(PluginError, match='running Reserve plugin "Taken": taken'):
        Cluster(*NODES).scheduler(plugins=[Taken]).schedule(a_pod())


# ----------------------------------------------------------------------------------------------------------- assertions


@pytest.fixture
def decided() -> Any:
    return Cluster(*NODES).decide(a_pod("web"), plugins=[OnlyFast], args={OnlyFast: {"liked": "a"}}, defaults=False)


def test_what_holds_passes(decided: Any) -> None:
    decided.assert_chosen("a")
    decided.assert_refused("c")
    decided.assert_refused("c", by="OnlyFast", because="slow")
    decided.assert_prefers("a", over="b")
    assert (decided.chosen, decided.best, decided.feasible) == ("a", ("a",), ("a", "b"))
    assert (decided.reasons("a"), decided.reasons("c")) == ((), ("node(s) were slow",))
    assert (decided.refused_by("a"), decided.refused_by("c")) == ("", "OnlyFast")
    assert (decided.total("a"), decided.total("b")) == (100, 0)


REPORT = """\
default/web -> a
  a: total 100 (OnlyFast 100)
  b: total 0 (OnlyFast 0)
  c: refused by OnlyFast: node(s) were slow"""


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda d: d.assert_chosen("b"), "expected b to be chosen, but it goes to a"),
        (lambda d: d.assert_chosen("x"), "there is no node x"),
        (lambda d: d.assert_refused("a"), "expected a to be refused, but it fits"),
        (lambda d: d.assert_refused("c", by="Other"), "expected Other to refuse c, but OnlyFast did"),
        (
            lambda d: d.assert_refused("c", because="full"),
            'expected a reason with "full" against c, but got: node(s) were slow',
        ),
        (lambda d: d.assert_unschedulable(), "expected no node to fit, but a, b do"),
        (lambda d: d.assert_prefers("b", over="a"), "expected b to be preferred over a"),
        (lambda d: d.reasons("x"), "there is no node x"),
        (
            lambda d: d.score("a", "Other"),
            "Other gave a no score (it is not enabled at score, or skipped itself)",
        ),
        (lambda d: d.score("c", "OnlyFast"), "c has no score: it was refused"),
        (lambda d: d.total("c"), "c has no score: it was refused"),
    ],
)
def test_what_does_not_hold_is_explained(decided: Any, call: Any, problem: str) -> None:
    with pytest.raises(AssertionError) as failed:
        call(decided)
    assert str(failed.value) == f"{problem}\n{REPORT}"


def test_a_tie_is_no_choice() -> None:
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod())
    with pytest.raises(AssertionError, match="expected a to be chosen, but a, b tie"):
        decided.assert_chosen("a")


def test_the_report_where_nothing_fits() -> None:
    cluster = Cluster(a_node("n").allocatable(pods=1), a_pod("old").on("n"))
    decided = cluster.decide(a_pod("new").priority(5))
    assert str(decided) == (
        "default/new -> nowhere: 0/1 nodes are available: 1 Too many pods.\n"
        "  n: refused by NodeResourcesFit: Too many pods\n"
        "  preemption: evict default/old from n"
    )
    assert repr(decided) == "Decided(default/new -> nowhere)"
    decided.assert_unschedulable("Too many pods")
    with pytest.raises(AssertionError, match='expected a message with "no gpus"'):
        decided.assert_unschedulable("no gpus")
    with pytest.raises(AssertionError, match="expected n to be chosen, but it goes to no node"):
        decided.assert_chosen("n")


def test_nodes_that_pre_filter_left_out() -> None:
    decided = Cluster(a_node("a"), a_node("b")).decide(a_pod().requires_nodes("metadata.name", "In", "a"))
    assert decided.reasons("b") == ("left out at PreFilter",)

    class Refusing(OnlyFast):
        def pre_filter(self, *_: Any) -> Any:
            return unresolvable("not today")

    refused = Cluster(a_node("a")).decide(a_pod(), plugins=[Refusing])
    assert (refused.reasons("a"), refused.refused_by("a")) == (("not today",), "Refusing")


class NoPatience:
    """Wants every pod held, for no time at all."""

    def permit(self, _state: Any, _pod: Any, _node_name: str) -> PermitAnswer:
        return PermitAnswer(wait("for nothing"), 0)


def test_a_pod_that_wakes_itself_by_failing_is_not_tried_for_ever_while_time_stands_still() -> None:
    """It is promised its node while it is held, and the promise is taken back: an event, as for kube-scheduler."""
    run = Cluster(a_node("n")).run(plugins=[NoPatience])
    run.add(a_pod("hasty"))
    run.advance(5)
    attempts = len([one for one in run.asked(PatchStatus) if one.status.get("nominatedNodeName")])
    assert 2 <= attempts <= 12
    assert run.place("hasty") == "backoff"
    assert "rejected due to timeout after waiting 0s at plugin NoPatience" in run.condition("hasty")[1]
    run.add(a_pod("other"))
    assert run.now == START + 5


class Telling:
    """Tells people of pods and of nodes."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def post_bind(self, _state: Any, pod: PodInfo, node_name: str) -> None:
        node = self.handle.snapshot.nodes.get(node_name)
        assert node is not None
        self.handle.host.event(pod, "Moored", f"lies at {node_name}")
        self.handle.host.event(node.node, "Taken", f"has {pod.key}", warning=True)
        if pod.name == "junk":
            self.handle.host.event(pod, "not a word", "this")


def test_plugins_tell_people(caplog: pytest.LogCaptureFixture) -> None:
    run = Cluster(a_node("n")).run(plugins=[Telling])
    run.add(a_pod("web"))
    assert run.notes("web", "Moored") == ["lies at n"]
    assert run.notes("n") == ["has default/web"]
    assert [one.kind for one in run.world.events if one.reason in ("Moored", "Taken")] == ["Normal", "Warning"]
    run.add(a_pod("junk"))
    assert "the reason of an event is 'not a word': expected a word in CamelCase (at testing/test_" in caplog.text
    assert run.node_of("junk") == "n"
