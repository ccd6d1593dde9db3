"""Pods that are alike share what is derived from them."""

import gc
import math
import weakref

import pytest

from moorage.columns import Snapshot
from moorage.columns.pods import PodIndex
from moorage.objects import ContainerStatus, Namespace, ObjectMeta, Pod, ResourceRequirements
from moorage.testing import PodBuilder, a_node, a_pod


@pytest.fixture
def index() -> PodIndex:
    return PodIndex()


BASE = a_pod("a").requests(cpu="1").labels(app="web")


@pytest.mark.parametrize(
    ("other", "same_class", "same_group"),
    [
        (BASE, True, True),
        (BASE.priority(9), True, True),
        (BASE.annotations(note="x"), True, True),
        (BASE.near(app="web"), True, True),
        (BASE.spread(app="web"), True, True),
        (BASE.claim("data"), True, True),
        (BASE.labels(app="db"), True, False),
        (BASE.namespace("other"), True, False),
        (BASE.terminating(), True, False),
        (BASE.requests(cpu="2"), False, True),
        (BASE.tolerates("x"), False, True),
        (BASE.node_selector(disk="ssd"), False, True),
        (BASE.requires_nodes("disk", "Exists"), False, True),
        (BASE.host_port(80), False, True),
        (BASE.image("web:1"), False, True),
        (BASE.overhead(cpu="1"), False, True),
        (BASE.init_container(requests={"cpu": "1"}), False, True),
        (BASE.spec(host_network=True), False, True),
        (BASE.on("n"), False, True),
    ],
)
def test_what_makes_pods_alike(index: PodIndex, other: PodBuilder, same_class: bool, same_group: bool) -> None:
    first, second = index.info(BASE.build()), index.info(other.metadata(name="b").build())
    assert (first.pod_class is second.pod_class) is same_class
    assert (first.label_group is second.label_group) is same_group


def test_running_pods_are_alike_wherever_they_run(index: PodIndex) -> None:
    first, second = (index.info(BASE.on(node).build(), on_node=True) for node in ("n1", "n2"))
    assert first.pod_class is second.pod_class


def test_a_pod_once_bound_shares_everything(index: PodIndex) -> None:
    info = index.info(BASE.near(app="web").build())
    bound = info.bound_to("n1")
    assert bound.spec.node_name == "n1"
    assert info.spec.node_name == ""
    assert (bound.pod_class, bound.label_group, bound.affinity_class) == (
        info.pod_class,
        info.label_group,
        info.affinity_class,
    )


def test_affinity_is_compiled_once_for_each_namespace(index: PodIndex) -> None:
    near = BASE.near(app="web")
    first, second, third = (index.info(pod.build()) for pod in (near, near.labels(app="db"), near.namespace("other")))
    assert first.affinity_class is second.affinity_class
    assert first.affinity_class is not third.affinity_class
    assert index.info(BASE.build()).affinity_class is None


def test_a_resize_counts_for_the_pod_alone(index: PodIndex) -> None:
    status = ContainerStatus("main", ResourceRequirements({"cpu": "3"}), {"cpu": "3"})
    plain, changed = BASE.build(), BASE.status(container_statuses=(status,)).build()
    plain_info, resized = index.info(plain, on_node=True), index.info(changed, on_node=True)
    assert plain_info.pod_class is resized.pod_class
    assert (plain_info.request.amounts["cpu"], resized.request.amounts["cpu"]) == (1000, 3000)
    # One that is still to be scheduled is scored by what its status says.
    assert index.info(changed).pod_class is not index.info(plain).pod_class


def test_when_a_pod_started(index: PodIndex) -> None:
    assert index.info(BASE.build()).started == math.inf
    assert index.info(BASE.started("1970-01-01T00:01:00Z").build()).started == 60
    assert index.info(BASE.started("1970-01-01T01:01:00+01:00").build()).started == 60


def test_what_is_no_longer_used_is_forgotten(index: PodIndex) -> None:
    kept = weakref.ref(index.info(BASE.build()).pod_class)
    gc.collect()
    assert kept() is None


def test_a_snapshot_of_objects() -> None:
    def pod(name: str, **status: str) -> Pod:
        return a_pod(name).status(**status).build()

    snapshot = Snapshot.of(
        [
            a_node("n").build(),
            Namespace(ObjectMeta(name="default", labels={"team": "red"})),
            a_pod("running").on("n").build(),
            a_pod("done").on("n").status(phase="Succeeded").build(),
            pod("waiting"),
            pod("promised", nominated_node_name="n"),
        ]
    )
    assert [info.name for info in snapshot.nodes[0].pods.values()] == ["running"]
    assert [info.name for info in snapshot.nominations.on("n")] == ["promised"]
    assert snapshot.namespace_labels("default") == {"team": "red"}
    assert snapshot.namespace_labels("unknown") == {}


def test_nominations_follow_the_latest_promise(index: PodIndex) -> None:
    nominations = Snapshot().nominations
    first, second = index.info(a_pod("a").build()), index.info(a_pod("b").build())
    nominations.nominate(first, "n1")
    nominations.nominate(second, "n1")
    nominations.nominate(first, "n2")
    assert (nominations.on("n1"), nominations.on("n2")) == ([second], [first])
    assert nominations.node_of(first) == "n2"
    assert sorted(nominations.nodes()) == ["n1", "n2"]
    nominations.forget(first)
    nominations.forget(first)
    assert (len(nominations), nominations.nodes(), nominations.node_of(first)) == (1, ["n1"], "")
