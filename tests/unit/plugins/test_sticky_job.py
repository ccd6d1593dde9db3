"""StickyJob, decided in the real engine: which node a pod goes back to, when it waits, whom it keeps out."""

from collections.abc import Mapping
from typing import Any

import pytest

from moorage.columns import PodInfo, Snapshot
from moorage.engine import make_engine
from moorage.framework.events import Hint
from moorage.framework.handle import Handle
from moorage.objects import KubeObject, Node, OwnerReference, PriorityClass, StickyJob, convert
from moorage.plugins import StickyJobPlugin
from moorage.testing import Cluster, a_node, a_pod
from moorage.testing.cluster import NOW
from moorage.testing.decided import Decided
from moorage.testing.nodes import NodeBuilder
from moorage.testing.pods import PodBuilder
from moorage.values.time import format_time

ENABLED = {"StickyJob": 0}
NODES = ("a", "b", "c")


def a_job(last: str = "b", *, uid: str = "", status: Mapping[str, Any] | None = None, **spec: Any) -> StickyJob:
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    tree = {
        "metadata": {"name": "db", "namespace": "default", "uid": "job", "resourceVersion": "10"},
        "spec": {"template": {"spec": {"containers": [container]}}, **spec},
        "status": {"lastNode": last, "lastNodeUID": uid, **(status or {})},
    }
    return convert(tree, StickyJob)


def its_pod(*, age: float = 0, **annotations: str) -> PodBuilder:
    owner = OwnerReference("example.com/v1", "StickyJob", "db", "job", controller=True)
    marks = {f"example.com/{name.replace('_', '-')}": value for name, value in annotations.items()}
    pod = a_pod("db").requests(cpu="2").annotations(marks)
    return pod.metadata(owner_references=(owner,), creation_timestamp=format_time(NOW - age))


def nodes(*others: NodeBuilder) -> list[NodeBuilder]:
    known = {node.build().metadata.name: node for node in others}
    return [known.get(name, a_node(name)) for name in NODES]


def full(node: str, *, priority: int = 0) -> PodBuilder:
    return a_pod(f"filler-{node}").requests(cpu="3").on(node).priority(priority)


def not_ready(name: str, *, seconds: int) -> NodeBuilder:
    ready = {"type": "Ready", "status": "Unknown", "lastTransitionTime": format_time(NOW - seconds)}
    return a_node(name).status(conditions=convert({"status": {"conditions": [ready]}}, Node).status.conditions)


def decide(*items: NodeBuilder | PodBuilder | KubeObject, pod: PodBuilder | None = None) -> Decided:
    return Cluster(*items).decide(pod or its_pod(), weights=ENABLED)


@pytest.mark.parametrize("stickiness", ["Preferred", "Required"])
def test_it_goes_back_to_where_it_ran(stickiness: str) -> None:
    # The others are empty, which all default plugins prefer.
    for last in NODES:
        busy = a_pod("busy").requests(cpu="1500m").on(last)
        decide(*nodes(), busy, a_job(last, stickiness=stickiness)).assert_chosen(last)


def test_a_pod_of_nobody_and_one_that_never_ran_go_anywhere() -> None:
    assert decide(*nodes(), a_job(), pod=a_pod()).best == NODES
    assert decide(*nodes(), a_job("")).best == NODES
    assert decide(*nodes()).best == NODES


def test_a_job_of_the_same_name_that_did_not_make_it_is_not_its_job() -> None:
    owner = OwnerReference("example.com/v1", "StickyJob", "db", "another", controller=True)
    assert decide(*nodes(), a_job(), pod=its_pod().metadata(owner_references=(owner,))).best == NODES


TROUBLES = [
    (a_node("b").spec(unschedulable=True), "cordoned"),
    (not_ready("b", seconds=40), "NotReady for 40 s"),
    (a_node("b").taint("gpu", "yes"), "tainted gpu=yes:NoSchedule"),
    (a_node("b").taint("dying", effect="NoExecute"), "tainted dying:NoExecute"),
    (a_node("b").allocatable(cpu="1"), "insufficient cpu"),
    (a_node("b").allocatable(cpu="1", memory="1"), "insufficient cpu"),
    (a_node("b").allocatable(pods="0"), "insufficient pods"),
]


@pytest.mark.parametrize(("trouble", "reason"), TROUBLES)
def test_required_waits_and_says_what_is_wrong_with_the_node(trouble: NodeBuilder, reason: str) -> None:
    decided = decide(*nodes(trouble), a_job(stickiness="Required"))
    assert decided.message.startswith(f"0/3 nodes are available: waiting for sticky node b: {reason}.")


@pytest.mark.parametrize(("trouble", "_reason"), TROUBLES)
def test_preferred_goes_elsewhere(trouble: NodeBuilder, _reason: str) -> None:
    assert decide(*nodes(trouble), a_job()).chosen in ("a", "c")


@pytest.mark.parametrize(("trouble", "reason"), TROUBLES)
def test_preferred_waits_where_it_is_told_to(trouble: NodeBuilder, reason: str) -> None:
    job = a_job(waitSeconds=60)
    assert reason in decide(*nodes(trouble), job, pod=its_pod(age=59)).message
    assert decide(*nodes(trouble), job, pod=its_pod(age=60)).chosen in ("a", "c")


def test_required_waits_no_longer_than_it_is_told_to() -> None:
    job, cordoned = a_job(stickiness="Required", waitSeconds=60), a_node("b").spec(unschedulable=True)
    assert not decide(*nodes(cordoned), job, pod=its_pod(age=59)).chosen
    assert decide(*nodes(cordoned), job, pod=its_pod(age=60)).chosen in ("a", "c")


@pytest.mark.parametrize("stickiness", ["Preferred", "Required"])
def test_it_lets_go_of_a_node_that_is_gone(stickiness: str) -> None:
    job = a_job(stickiness=stickiness, uid="first")
    assert decide(a_node("a"), a_node("c"), job).chosen in ("a", "c")


def test_another_node_of_the_same_name_is_not_the_node() -> None:
    job = a_job(stickiness="Required", uid="first")
    returned = a_node("b").metadata(name="b", uid="second").spec(unschedulable=True)
    assert decide(*nodes(returned), job).chosen in ("a", "c")
    same = a_node("b").metadata(name="b", uid="first").spec(unschedulable=True)
    assert not decide(*nodes(same), job).chosen


def test_what_it_tolerates_is_no_trouble() -> None:
    pod = its_pod().tolerates("node.kubernetes.io/unschedulable", effect="NoSchedule")
    cordoned = a_node("b").spec(unschedulable=True)
    decide(*nodes(cordoned), a_job(stickiness="Required"), pod=pod).assert_chosen("b")


def test_a_node_that_lacks_something_else_is_waited_for_too() -> None:
    pod = its_pod().host_port(80)
    other = a_pod("web").host_port(80).on("b")
    message = decide(*nodes(), other, a_job(stickiness="Required"), pod=pod).message
    assert "2 waiting for sticky node b" in message
    assert "1 node(s) didn't have free ports for the requested pod ports" in message


def test_it_takes_its_node_from_pods_of_lower_priority_and_from_nobody_elsewhere() -> None:
    job = a_job(stickiness="Required")
    fillers = [full(node) for node in NODES]
    decided = decide(*nodes(), *fillers, job, pod=its_pod().priority(10))
    assert decided.preemption is not None
    assert (decided.preemption.node, decided.preemption.victims) == ("b", ("default/filler-b",))
    assert "2 waiting for sticky node b: insufficient cpu" in decided.message


def test_a_pod_may_come_before_the_status_of_its_job() -> None:
    pod = its_pod(last_node="c", last_node_uid="", sticky_version="11")
    decide(*nodes(), a_job("b"), pod=pod).assert_chosen("c")
    older = its_pod(last_node="c", last_node_uid="", sticky_version="9")
    decide(*nodes(), a_job("b"), pod=older).assert_chosen("b")


def test_a_pod_whose_job_is_not_known_yet_goes_by_what_it_carries() -> None:
    """The definition may have been served a moment ago: the scheduler follows its kind from then on."""
    pod = its_pod(last_node="c", last_node_uid="", sticky_version="11")
    decide(*nodes(), pod=pod).assert_chosen("c")
    waiting = decide(*nodes(a_node("c").cordoned()), pod=pod)
    assert (waiting.chosen, "waiting for sticky node c: cordoned" in waiting.message) == ("", True)
    decide(*nodes(), pod=its_pod(age=40, last_node="c")).assert_chosen("c")
    assert decide(*nodes(a_node("c").cordoned()), pod=its_pod(age=40, last_node="c")).chosen in ("a", "b")
    assert decide(*nodes(), pod=its_pod(last_node="gone")).chosen in NODES


# ------------------------------------------------------------------------------------------------------------- seats


def away(seconds: float, **more: Any) -> StickyJob:
    """A job whose pod went so many seconds ago, with its seat kept for a minute."""
    stamp = format_time(NOW - seconds)
    told = {"type": "Running", "status": "False", "reason": "PodPending", "lastTransitionTime": stamp}
    return a_job(seatSeconds=60, status={"conditions": [told]}, **more)


def test_a_seat_keeps_its_room_for_a_while() -> None:
    one = [a_node("b")]
    guest = a_pod("guest").requests(cpu="3")
    decided = decide(*one, away(59), pod=guest)
    decided.assert_refused("b", by="StickyJob", because="node(s) had their room kept for a sticky job")
    decide(*one, away(60), pod=guest).assert_chosen("b")


def test_what_fits_beside_the_seat_may_come() -> None:
    decide(a_node("b"), away(1), pod=a_pod("guest").requests(cpu="2")).assert_chosen("b")
    assert not decide(a_node("b"), away(1), pod=a_pod("guest").requests(cpu="2001m")).chosen
    assert not decide(a_node("b").allocatable(pods="1"), away(1), pod=a_pod("guest").requests(cpu="1")).chosen


def test_a_seat_is_kept_from_equals_and_taken_by_the_more_important() -> None:
    guest = a_pod("guest").requests(cpu="3")
    assert not decide(a_node("b"), away(1), pod=guest.priority(0)).chosen
    decide(a_node("b"), away(1), pod=guest.priority(1)).assert_chosen("b")
    important = convert({"metadata": {"name": "important"}, "value": 100}, PriorityClass)
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}], "priorityClassName": "important"}
    job = away(1, template={"spec": spec})
    assert not decide(a_node("b"), job, important, pod=guest.priority(100)).chosen
    decide(a_node("b"), job, important, pod=guest.priority(101)).assert_chosen("b")


def test_the_job_takes_its_own_seat() -> None:
    decide(a_node("b"), away(1)).assert_chosen("b")


def test_no_seat_is_kept_while_the_pod_is_there_or_when_it_is_done() -> None:
    guest = a_pod("guest").requests(cpu="2")
    decide(a_node("b"), its_pod().on("b"), away(1), pod=guest).assert_chosen("b")
    decide(a_node("b"), away(1, uid="another"), pod=a_pod("guest").requests(cpu="3")).assert_chosen("b")
    done = a_job(seatSeconds=60, status={"phase": "Complete"})
    decide(a_node("b"), done, pod=a_pod("guest").requests(cpu="3")).assert_chosen("b")


def test_a_seat_is_kept_from_the_moment_the_pod_is_missed() -> None:
    now = NOW
    job = a_job(seatSeconds=60, status={"conditions": [{"type": "Running", "status": "True"}]})
    snapshot = Snapshot.of([a_node("b").build(), job])
    config_engine = Cluster().scheduler(weights=ENABLED).engine
    plugin = StickyJobPlugin(None, Handle(snapshot, now=lambda: now, random=config_engine._random))
    guest = snapshot.info(a_pod("guest").requests(cpu="3").build())
    assert plugin._seats.kept_from(guest)["b"][0].until == NOW + 60
    now = NOW + 59
    assert plugin._seats.kept_from(guest)
    now = NOW + 60
    assert not plugin._seats.kept_from(guest)


# ------------------------------------------------------------------------------------------------------------- hints


def hints(*items: Any) -> tuple[StickyJobPlugin, PodInfo]:
    snapshot = Snapshot.of([*(node.build() for node in nodes()), *items])
    engine = make_engine(snapshot)
    return StickyJobPlugin(None, Handle(snapshot, now=lambda: NOW, random=engine._random)), snapshot.info(
        its_pod().build()
    )


def test_only_its_own_node_wakes_it() -> None:
    plugin, pod = hints(a_job("b"))
    node = a_node("b").build()
    for old, new in ((node, a_node("b").labels(x="y").build()), (None, node), (node, None)):
        assert plugin._after_node(pod, old, new) is Hint.QUEUE
    assert plugin._after_node(pod, None, a_node("a").build()) is Hint.SKIP
    assert plugin._after_pod(pod, a_pod("x").on("b").build(), None) is Hint.QUEUE
    assert plugin._after_pod(pod, a_pod("x").on("a").build(), None) is Hint.SKIP


def test_only_its_own_job_wakes_it() -> None:
    plugin, pod = hints(a_job("b"))
    assert plugin._after_job(pod, a_job("b"), a_job("b", stickiness="Required")) is Hint.QUEUE
    assert plugin._after_job(pod, a_job("b"), a_job("b")) is Hint.SKIP
    other = convert({"metadata": {"name": "x", "uid": "x"}, "status": {"lastNode": "b"}}, StickyJob)
    assert plugin._after_job(pod, None, other) is Hint.SKIP


def test_who_was_kept_out_is_woken_by_the_job_that_kept_him_out() -> None:
    plugin, _ = hints(away(1))
    guest = Snapshot().info(a_pod("guest").build())
    assert plugin._after_job(guest, away(1), None) is Hint.QUEUE
    assert plugin._after_job(guest, away(1), a_job("c", seatSeconds=60)) is Hint.QUEUE
    assert plugin._after_node(guest, None, a_node("b").build()) is Hint.QUEUE
    assert plugin._after_node(guest, None, a_node("c").build()) is Hint.SKIP


def test_both_forms_of_the_filter_agree() -> None:
    many = [a_node(f"n{number}").build() for number in range(12)]
    job = away(1, last="n3", stickiness="Required")
    for pod in (its_pod(), a_pod("guest").requests(cpu="3")):
        decided = Cluster(*many, job).decide(pod, weights=ENABLED)
        if pod is not None and decided.chosen == "n3":
            assert decided.feasible == ("n3",)
        else:
            decided.assert_refused("n3", by="StickyJob")
            assert len(decided.feasible) == 11
