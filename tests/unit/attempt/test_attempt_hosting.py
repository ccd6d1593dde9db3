"""What plugins may ask of the process, and when."""

import asyncio
from typing import Any

import pytest
from tests.unit.attempt.conftest import Rig, plugin, rig_with

from moorage.attempt.hosting import NotRunning
from moorage.attempt.scripted import Create, Delete, Patch, Read
from moorage.framework import PermitAnswer, unschedulable, wait
from moorage.framework.writes import Conflict, Done, Gone, NotWritten, Refused, Unknown
from moorage.objects import Node
from moorage.testing import a_node, a_pod

FAILURES = [Gone("gone", 404, "NotFound"), Conflict("changed", 409, "Conflict"), Refused("no"), Unknown("?")]


def host_of(rig: Rig) -> Any:
    return rig.core.profiles["default-scheduler"].plugins["Mine"].handle.host


async def nothing() -> None: ...


@pytest.fixture
def rig() -> Rig:
    return rig_with(plugin(permit=lambda *_: None))


@pytest.mark.parametrize(
    "use",
    [
        lambda host: host.activate([]),
        lambda host: host.activate_after(1.0, []),
        lambda host: host.is_preempting(None),
        lambda host: host.is_leaving(None),
        lambda host: host.pending_pods(),
        lambda host: host.activate_where(lambda _pod: True),
        lambda host: host.spawn(nothing()),
        lambda host: host.bind(None, "a").send(None),
    ],
)
def test_nothing_runs_while_plugins_are_made(use: Any) -> None:
    seen: list[str] = []

    def init(_self: Any, _args: Any, handle: Any) -> None:
        with pytest.raises(NotRunning, match="nothing runs yet"):
            use(handle.host)
        seen.append("refused")

    rig_with(plugin(permit=lambda *_: None, __init__=init))
    assert seen == ["refused"]


def test_who_is_held_can_be_seen(rig: Rig) -> None:
    assert list(host_of(rig).waiting_pods()) == []


def test_objects_are_read_and_written_as_types(rig: Rig) -> None:
    node = a_node("a")
    made = node.labels(kept="by the server").metadata(uid="made").build()
    rig.world.answer = lambda request: Done() if isinstance(request, Delete) else made
    host, finish = host_of(rig), rig.world.time.finish
    assert finish(host.read(Node, "a")) is made
    assert finish(host.create(node.build())) is made
    assert finish(host.patch(made, {"metadata": {"labels": {"x": "y"}}}, subresource="status")) is made
    assert finish(host.delete(made)) is None
    assert rig.world.requests == [
        Read(Node, "a"),
        Create(node.build()),
        Patch(Node, "a", "", {"metadata": {"uid": "made", "labels": {"x": "y"}}}, "status"),
        Delete(made),
    ]


@pytest.mark.parametrize("failure", FAILURES)
def test_what_was_not_done_is_raised_with_its_type(rig: Rig, failure: Any) -> None:
    rig.world.answer = lambda _request: failure
    node, host = a_node("a").build(), host_of(rig)
    for asked in (host.read(Node, "a"), host.create(node), host.patch(node, {}), host.delete(node)):
        with pytest.raises(NotWritten) as raised:
            rig.world.time.finish(asked)
        assert raised.value.answer is failure
        assert (str(raised.value), raised.value.code) == (failure.message, failure.code)


def test_a_pod_that_is_not_under_way_can_be_bound_too(rig: Rig) -> None:
    rig.pod(a_pod("web").scheduler("somebody-else"))
    pod = rig.core.cluster.snapshot.info(rig.pods["web"])
    rig.world.time.finish(host_of(rig).bind(pod, "a"))
    assert rig.bindings == [("web", "a")]


def test_there_is_no_client_where_there_is_no_api_server(rig: Rig) -> None:
    with pytest.raises(RuntimeError, match="no API server"):
        _ = host_of(rig).client


def test_pods_can_be_activated_after_a_while() -> None:
    rig = rig_with(plugin(permit=lambda *_: unschedulable("no")))
    rig.node(a_node("a"))
    uid = rig.pod(a_pod("web"))
    rig.settle()
    pending = rig.core.cluster.pending(uid)
    cycles = rig.core.queue.scheduling_cycle
    host_of(rig).activate_after(5.0, [pending])
    rig.advance(4.9)
    assert rig.core.queue.scheduling_cycle == cycles
    rig.advance(0.2)
    assert rig.core.queue.scheduling_cycle == cycles + 1


@pytest.mark.parametrize("problem", [NotWritten(Refused("no")), ZeroDivisionError("by zero")])
def test_what_is_done_later_breaks_nothing(rig: Rig, caplog: pytest.LogCaptureFixture, problem: Exception) -> None:
    async def work() -> None:
        await host_of(rig).sleep(1.0)
        raise problem

    host_of(rig).later(work())
    rig.advance(2.0)
    assert "what a plugin wanted done later" in caplog.text


def test_pending_pods_are_seen_wherever_they_are() -> None:
    def closed(_self: Any, pod: Any) -> Any:
        return unschedulable("closed") if "closed" in pod.labels else None

    rig = rig_with(plugin(pre_enqueue=closed, permit=lambda *_: wait("2 of 3")))
    rig.node(a_node("a").allocatable(cpu="1"))
    rig.pod(a_pod("gated").labels(closed="yes"))
    rig.pod(a_pod("held").requests(cpu="1"))
    rig.settle()
    rig.pod(a_pod("big").requests(cpu="9"))
    rig.settle()
    seen = {one.pod.name: one for one in host_of(rig).pending_pods()}
    assert {name: one.place for name, one in seen.items()} == {
        "gated": "gated",
        "held": "in flight",
        "big": "unschedulable",
    }
    assert seen["gated"].is_gated
    assert seen["big"].plugins == {"NodeResourcesFit"}
    assert seen["big"].attempts == 1


def test_pods_are_activated_by_what_they_are() -> None:
    rig = rig_with(plugin(filter=lambda *_: unschedulable("no")))
    rig.node(a_node("a"))
    for name in ("web", "db"):
        rig.pod(a_pod(name))
    rig.settle()
    cycles = rig.core.queue.scheduling_cycle
    host_of(rig).activate_where(lambda pod: pod.name == "db")
    rig.settle()
    assert rig.core.queue.scheduling_cycle == cycles + 1


def notes(rig: Rig, reason: str) -> list[str]:
    return [event.note for event in rig.world.events if event.reason == reason]


def test_why_a_pod_is_held_is_told_once_for_each_change() -> None:
    rig = rig_with(plugin(permit=lambda *_: PermitAnswer(wait("1 of 3"), 5.0)))
    rig.node(a_node("a"))
    rig.pod(a_pod("web"))
    rig.settle()
    (held,) = host_of(rig).waiting_pods()
    for reason in ("1 of 3", "2 of 3", "2 of 3"):
        held.tell("Mine", reason)
    held.tell("Nobody", "is not waited for")
    expected = [f'plugin "Mine" holds it for node a: {reason}' for reason in ("1 of 3", "2 of 3")]
    assert notes(rig, "WaitingOnPermit") == expected
    assert rig.condition("web") == ("", "")


def test_why_a_pod_is_gated_is_told_once_for_each_change() -> None:
    reasons = iter(["closed till noon", "closed till noon", "closed for good"])
    rig = rig_with(plugin(pre_enqueue=lambda *_: unschedulable(next(reasons))))
    rig.node(a_node("a"))
    uid = rig.pod(a_pod("web"))
    rig.settle()
    for _ in range(2):
        host_of(rig).activate([rig.core.cluster.pending(uid)])
    told = [f'plugin "Mine" keeps it out of the queue: {reason}' for reason in ("closed till noon", "closed for good")]
    assert notes(rig, "SchedulingGated") == told
    assert rig.condition("web") == ("", "")


def test_gates_of_kube_scheduler_are_not_told() -> None:
    rig = rig_with(plugin(permit=lambda *_: None))
    rig.pod(a_pod("web").gated("later"))
    rig.settle()
    assert rig.place("web") == "gated"
    assert rig.world.events == []


class Worker:
    """Counts in the background, until it is stopped."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.count = 0
        self.said: list[str] = []

    def permit(self, *_: Any) -> None: ...

    async def _run(self) -> None:
        while True:
            await self.handle.host.sleep(10.0)
            self.count += 1
            if self.count == 3:
                raise ZeroDivisionError("by zero")

    async def start(self) -> None:
        self.said.append("started")
        self.handle.spawn(self._run())

    async def stop(self) -> None:
        self.said.append("stopped")


def worker() -> tuple[Rig, Worker]:
    rig = rig_with(Worker)
    made: Worker = rig.core.profiles["default-scheduler"].plugins["Worker"]
    rig.settle()
    return rig, made


def test_what_runs_in_the_background_ends_with_the_process() -> None:
    rig, made = worker()
    rig.advance(15.0)
    assert (made.count, made.said) == (1, ["started"])
    rig.world.time.finish(rig.core.background.stop())
    rig.advance(60.0)
    assert (made.count, made.said) == (1, ["started", "stopped"])
    assert rig.core.background.dead == {}


def test_what_dies_in_the_background_is_told_and_kept(caplog: pytest.LogCaptureFixture) -> None:
    rig, made = worker()
    rig.advance(60.0)
    assert made.count == 3
    ((name, problem),) = rig.core.background.dead.items()
    assert name == "Worker._run"
    line = Worker._run.__code__.co_firstlineno + 5
    where = f"attempt/test_attempt_hosting.py:{line}"
    assert problem == f'running background plugin "Worker._run": ZeroDivisionError: by zero (at {where})'
    assert "it has ended, and is not begun again" in caplog.text
    assert rig.core.faults.by_point() == {("Worker._run", "background"): 1.0}


@pytest.mark.parametrize("problem", [SystemExit(3), RecursionError("too deep"), asyncio.CancelledError()])
def test_a_start_that_breaks_keeps_nobody_from_it(problem: BaseException) -> None:
    async def start(_self: Any) -> None:
        raise problem

    rig = rig_with(plugin("Bad", permit=lambda *_: None, start=start), plugin("Odd", permit=lambda *_: None, start=id))
    rig.settle()
    assert set(rig.core.background.dead) == {"Bad.start", "Odd.start"}


def test_a_stop_that_does_not_end_holds_nobody_up() -> None:
    async def stop(self: Any) -> None:
        await self.handle.host.sleep(600.0)

    rig = rig_with(plugin(permit=lambda *_: None, stop=stop))
    before = rig.world.time.now
    rig.world.time.finish(rig.core.background.stop())
    assert rig.world.time.now - before < 2.0
