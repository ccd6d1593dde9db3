"""WarmSeats: pods come back softly to where their like ran lately."""

from random import Random
from typing import Any

import msgspec
import pytest

from moorage.cluster import ClusterState
from moorage.columns import PodInfo, Snapshot
from moorage.config import parse_config
from moorage.engine import Placement
from moorage.engine.engine import Engine, default_registry, make_engine
from moorage.errors import InputError
from moorage.framework.handle import Handle
from moorage.kube.errors import Forbidden
from moorage.objects import OwnerReference
from moorage.plugins import WarmSeats
from moorage.plugins.warm_seats.identities import identity_of
from moorage.plugins.warm_seats.plugin import WarmSeatsArgs
from moorage.testing import a_node, a_pod
from moorage.testing.pods import PodBuilder
from moorage.values.time import format_time

START = 4_000_000_000.0
NAMES = ("a", "b", "c")


class Town:
    """Three nodes, a clock, and an engine with WarmSeats."""

    def __init__(self, **args: Any) -> None:
        self.now = START
        self.snapshot = Snapshot.of(a_node(name).build() for name in NAMES)
        registry = default_registry()
        profile = {
            "plugins": {"multiPoint": {"enabled": [{"name": "WarmSeats"}]}},
            "pluginConfig": [{"name": "WarmSeats", "args": args}],
        }
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
        config = parse_config(document, known=registry.known)
        self.engine: Engine = make_engine(self.snapshot, config, registry=registry, now=lambda: self.now)
        self.plugin: WarmSeats = self.engine.runners["default-scheduler"].profile.plugins["WarmSeats"]

    def came(self, pod: PodBuilder, node: str) -> PodInfo:
        """A pod that runs on a node."""
        info = self.snapshot.pods.info(pod.on(node).started(format_time(self.now)).build(), on_node=True)
        self.snapshot.nodes.add_pod(info, node)
        return info

    def went(self, pod: PodInfo) -> None:
        """The pod is gone."""
        self.snapshot.nodes.remove_pod(pod, pod.spec.node_name)

    def best(self, pod: PodBuilder) -> tuple[str, ...]:
        """The nodes that are best for the pod."""
        return tuple(sorted(self.engine.explain(self.snapshot.info(pod.build())).best))

    def ran(self, pod: PodBuilder, node: str) -> None:
        """The pod ran on a node and is gone; somebody asked in between, as happens all the time."""
        info = self.came(pod, node)
        self.best(a_pod("anybody"))
        self.went(info)


def warm(name: str, way: str = "member") -> PodBuilder:
    return a_pod(name).annotations({"moorage.dev/warm-seat": way}).metadata(uid=f"{name}-{way}")


def test_a_member_comes_back_to_its_node_and_nobody_else_does() -> None:
    town = Town()
    assert town.best(warm("db-0")) == NAMES
    town.ran(warm("db-0"), "b")
    assert town.best(warm("db-0")) == ("b",)
    assert town.best(warm("db-1")) == NAMES
    assert town.best(a_pod("db-0")) == NAMES


def test_a_node_is_warm_for_a_while_after_the_pod_has_gone() -> None:
    town = Town(ttlSeconds=60)
    pod = town.came(warm("db-0"), "b")
    town.best(warm("db-0"))
    town.now += 10_000
    assert town.best(warm("db-0").metadata(uid="next")) == ("b",)
    town.went(pod)
    assert town.best(warm("db-0")) == ("b",)
    town.now += 59
    assert town.best(warm("db-0")) == ("b",)
    town.now += 1
    assert town.best(warm("db-0")) == NAMES


def test_several_nodes_are_remembered_and_the_latest_is_the_warmest() -> None:
    town = Town()
    for node in ("a", "b", "c"):
        town.ran(warm("db-0"), node)
        town.now += 1
    scores = town.engine.explain(town.snapshot.info(warm("db-0").requests(cpu="1").build())).scores
    assert {node: given["WarmSeats"] for node, given in scores.items()} == {"c": 75, "b": 56, "a": 37}


def test_no_more_nodes_and_identities_are_kept_than_allowed() -> None:
    town = Town(maxNodes=2, maxIdentities=10)
    for node in NAMES:
        town.ran(warm("db-0"), node)
        town.now += 1
    town.best(a_pod())
    assert town.plugin._memory.warm_nodes(("member", "default", "db-0")) == ["c", "b"]
    for number in range(100):
        town.ran(warm(f"web-{number}"), "a")
    assert len(town.plugin._memory) == 10


def test_the_fuller_the_node_the_smaller_the_bonus() -> None:
    town = Town()
    town.ran(warm("db-0"), "b")
    town.came(a_pod("crowd").requests(cpu="3"), "b")
    decision = town.engine.explain(town.snapshot.info(warm("db-0").requests(cpu="500m").build()))
    assert decision.scores["b"]["WarmSeats"] == 12
    assert decision.best != ("b",)


def test_a_warm_node_that_does_not_fit_is_no_obstacle() -> None:
    town = Town()
    town.ran(warm("db-0"), "b")
    town.came(a_pod("crowd").requests(cpu="4"), "b")
    assert town.best(warm("db-0").requests(cpu="1")) == ("a", "c")


def test_what_was_decided_and_never_ran_leaves_nothing_warm() -> None:
    town = Town()
    info = town.snapshot.info(warm("db-0").build())
    cluster = ClusterState(town.snapshot)
    assumed = cluster.assume(info, "b")
    town.best(a_pod("anybody"))
    cluster.forget(assumed.uid)
    assert town.best(warm("db-0")) == NAMES


def owned(kind: str, name: str, **labels: str) -> PodBuilder:
    owner = OwnerReference("v1", kind, name, f"{name}-uid", controller=True)
    marks = {key.replace("_", "-"): value for key, value in labels.items()}
    return a_pod("p").labels(marks).metadata(owner_references=(owner,))


@pytest.mark.parametrize(
    ("pod", "rules", "identity"),
    [
        (warm("db-0"), {}, ("member", "default", "db-0")),
        (warm("x", "key:cache"), {}, ("key:", "default", "cache")),
        (warm("x", "image").image("app:1"), {}, ("image", "app:1")),
        (warm("x", "workload"), {}, None),
        (warm("x", "nonsense"), {}, None),
        (a_pod(), {"StatefulSet": "member"}, None),
        (owned("StatefulSet", "db"), {"StatefulSet": "member"}, ("member", "default", "p")),
        (owned("StatefulSet", "db"), {"Job": "index"}, None),
        (owned("Job", "sum"), {"Job": "index"}, None),
        (
            owned("Job", "sum").annotations({"batch.kubernetes.io/job-completion-index": "3"}),
            {"Job": "index"},
            ("index", "default", "sum", "3"),
        ),
        (
            owned("ReplicaSet", "web-5d4f", pod_template_hash="5d4f"),
            {"ReplicaSet": "workload"},
            ("workload", "default", "ReplicaSet", "web"),
        ),
    ],
)
def test_identities(pod: PodBuilder, rules: dict[str, str], identity: tuple[str, ...] | None) -> None:
    assert identity_of(Snapshot().info(pod.build()), rules) == identity


def test_rules_go_by_the_kind_of_the_owner() -> None:
    town = Town(owners=[{"kind": "ReplicaSet", "identity": "workload"}])
    town.ran(owned("ReplicaSet", "web-1", pod_template_hash="1"), "c")
    assert town.best(owned("ReplicaSet", "web-2", pod_template_hash="2")) == ("c",)


def test_a_burst_longer_than_the_log_loses_nobody() -> None:
    town = Town()
    pod = town.came(warm("db-0"), "b")
    town.best(warm("db-0"))
    town.went(pod)
    crowd = [town.came(a_pod(f"crowd-{number}"), "a") for number in range(3000)]
    for each in crowd:
        town.went(each)
    assert town.best(warm("db-0")) == ("b",)


def test_a_new_process_knows_the_pods_there_are() -> None:
    town = Town()
    town.came(warm("db-0"), "b")
    again = WarmSeats(WarmSeatsArgs(), Handle(town.snapshot, now=lambda: town.now, random=Random(1)))
    again._memory.catch_up()
    assert again._memory.warm_nodes(("member", "default", "db-0")) == ["b"]


class _Host:
    """A host whose client answers with events, page by page."""

    def __init__(self, *pages: Any) -> None:
        self.client = self
        self._pages = list(pages)

    async def get(self, _path: str, _query: Any) -> bytes:
        page = self._pages.pop(0)
        if isinstance(page, Exception):
            raise page
        return msgspec.json.encode(page)


def scheduled(pod: str, node: str, at: float) -> dict[str, Any]:
    return {
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod},
        "message": f"Successfully assigned default/{pod} to {node}",
        "eventTime": None,
        "lastTimestamp": format_time(at),
    }


async def test_a_new_process_learns_from_events_where_pods_were() -> None:
    pages = (
        {"metadata": {"continue": "more"}, "items": [scheduled("db-0", "b", START - 10)]},
        {"items": [scheduled("db-1", "c", START - 5000), {"message": "nothing", "involvedObject": {}}]},
    )
    town = Town()
    host: Any = _Host(*pages)
    plugin = WarmSeats(WarmSeatsArgs(), Handle(town.snapshot, now=lambda: START, random=Random(1), host=host))
    await plugin.start()
    assert plugin._memory.warm_nodes(("member", "default", "db-0")) == ["b"]
    assert plugin._memory.warm_nodes(("member", "default", "db-1")) == []


async def test_events_that_cannot_be_read_are_no_obstacle() -> None:
    host: Any = _Host(Forbidden("no", code=403))
    plugin = WarmSeats(WarmSeatsArgs(), Handle(Snapshot(), now=lambda: START, random=Random(1), host=host))
    await plugin.start()
    assert len(plugin._memory) == 0


def test_hits_and_misses_are_counted() -> None:
    town = Town()
    town.ran(warm("db-0"), "b")
    for name, node in (("db-0", "b"), ("db-0", "a"), ("db-9", "a")):
        pod = town.snapshot.info(warm(name).build())
        placement = town.engine.schedule(pod)
        assert isinstance(placement, Placement)
        town.plugin.post_bind(placement.state, pod, node)
    (counter,) = town.plugin.counters()
    assert dict(counter.values) == {("hit",): 1, ("miss",): 1, ("cold",): 1}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"ttlSeconds": 0}, "ttl_seconds: expected 1 or more"),
        ({"owners": [{"kind": "Job", "identity": "?"}]}, "expected one of member, index, workload, image or key:NAME"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(args: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Town(**args)
