"""What plugins may ask of the process, and when."""

from typing import Any

import pytest
from tests.unit.attempt.conftest import Rig, plugin, rig_with

from moorage.attempt.hosting import NotRunning
from moorage.attempt.scripted import Create, Delete, Patch, Read
from moorage.framework import unschedulable
from moorage.framework.writes import Conflict, Done, Gone, NotWritten, Refused, Unknown
from moorage.objects import Node
from moorage.testing import a_node, a_pod

FAILURES = [Gone("gone", 404, "NotFound"), Conflict("changed", 409, "Conflict"), Refused("no"), Unknown("?")]


def host_of(rig: Rig) -> Any:
    return rig.core.profiles["default-scheduler"].plugins["Mine"].handle.host


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
