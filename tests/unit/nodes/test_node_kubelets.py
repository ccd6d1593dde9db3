"""The kubelets, with nodes and pods told to them as an informer would, on the loop's own time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from moorage.kube.errors import Conflict, NotFound, ServerError
from moorage.nodes.kubelets import Kubelets
from moorage.nodes.objects import HollowNode, HostedPod
from moorage.nodes.stages import Pace

pytestmark = pytest.mark.looptime

MakeNode = Callable[..., HollowNode]
MakePod = Callable[..., HostedPod]


@pytest.fixture
async def kubelets(noting: Any, wall_clock: Callable[[], float]) -> AsyncIterator[Kubelets]:
    working = Kubelets(noting, pace=Pace(start_seconds=1.0, termination_seconds=2.0), clock=wall_clock)
    task = asyncio.create_task(working.run(writers=4))
    yield working
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def phases(written: list[tuple[str, str, Any]]) -> list[tuple[str, str]]:
    """Which pod was said to be in which phase, or deleted."""
    return [
        (path.split("/")[6], body["status"]["phase"] if method == "PATCH" else "deleted")
        for method, path, body in written
    ]


def going(pod: HostedPod, **metadata: Any) -> HostedPod:
    meta = msgspec.structs.replace(
        pod.metadata, deletion_timestamp="2001-09-09T01:46:40Z", deletion_grace_period_seconds=30, **metadata
    )
    return msgspec.structs.replace(pod, metadata=meta)


async def test_a_bound_pod_runs(kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod())
    await asyncio.sleep(0.5)
    assert phases(noting.take()) == [("p", "Pending")]
    await asyncio.sleep(1)
    ((method, path, body),) = noting.take()
    assert (method, path) == ("PATCH", "/api/v1/namespaces/default/pods/p/status")
    assert body["metadata"] == {"uid": "uid-of-p"}
    status = body["status"]
    assert (status["phase"], status["podIP"], status["hostIP"]) == ("Running", "10.64.0.1", "172.16.0.1")
    assert status["startTime"] == "2001-09-09T01:46:40Z"
    (container,) = status["containerStatuses"]
    assert (container["name"], container["ready"]) == ("main", True)
    assert container["state"] == {"running": {"startedAt": "2001-09-09T01:46:41Z"}}
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == dict.fromkeys(
        ("PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"), "True"
    )


async def test_a_pod_that_does_not_fit_has_failed(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node(cpu="1500m"))
    kubelets.open_doors()
    kubelets.observe(make_pod("first"))
    kubelets.observe(make_pod("second"))
    await asyncio.sleep(0.5)
    refused = next(body["status"] for _, path, body in noting.take() if "second" in path)
    assert (refused["phase"], refused["reason"]) == ("Failed", "OutOfcpu")
    assert refused["message"].startswith("Pod was rejected: Node didn't have enough resource: cpu, requested: 1000")
    assert "containerStatuses" not in refused


async def test_room_is_free_again_once_a_pod_is_gone(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node(cpu="1"))
    kubelets.open_doors()
    kubelets.observe(make_pod("first"))
    kubelets.forget(make_pod("first"))
    kubelets.observe(make_pod("second"))
    await asyncio.sleep(2)
    assert ("second", "Running") in phases(noting.take())


async def test_a_deleted_pod_ends_and_is_removed(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod(phase="Running"))
    kubelets.observe(going(make_pod(phase="Running")))
    await asyncio.sleep(1.9)
    assert noting.take() == []
    await asyncio.sleep(0.2)
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": "uid-of-p"}}
    assert noting.take() == [
        ("DELETE", "/api/v1/namespaces/default/pods/p", {"apiVersion": "v1", "kind": "DeleteOptions", **options})
    ]


async def test_whoever_holds_a_pod_back_learns_how_it_ended(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod(phase="Running"))
    kubelets.observe(going(make_pod(phase="Running"), finalizers=("example.com/wait",)))
    await asyncio.sleep(3)
    assert phases(noting.take()) == [("p", "Failed"), ("p", "deleted")]


async def test_nobody_is_let_in_before_all_are_known(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    """Otherwise a new pod could take the room of one that has been running."""
    kubelets.serve(make_node(cpu="1"))
    kubelets.observe(make_pod("new", metadata={"creationTimestamp": "2001-01-01T00:00:00Z"}))
    kubelets.observe(make_pod("old", phase="Running", metadata={"creationTimestamp": "2001-09-01T00:00:00Z"}))
    await asyncio.sleep(1)
    assert noting.take() == []
    kubelets.open_doors()
    await asyncio.sleep(2)
    assert phases(noting.take()) == [("new", "Failed")]


async def test_pods_wait_for_their_node(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.open_doors()
    kubelets.observe(make_pod())
    await asyncio.sleep(2)
    assert noting.take() == []
    kubelets.serve(make_node())
    await asyncio.sleep(2)
    assert phases(noting.take())[-1] == ("p", "Running")


async def test_a_stopped_node_does_nothing_until_it_goes_on(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod("old", metadata={"annotations": {"moorage.dev/run-seconds": "5"}}, restartPolicy="Never"))
    await asyncio.sleep(2)
    noting.take()
    kubelets.serve(make_node(stopped=True))
    kubelets.observe(make_pod("new", cpu="1"))
    await asyncio.sleep(60)
    assert noting.take() == []
    kubelets.serve(make_node())
    await asyncio.sleep(2)
    assert set(phases(noting.take())) == {("old", "Succeeded"), ("new", "Pending"), ("new", "Running")}


async def test_a_removed_node_leaves_its_pods_alone(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod())
    kubelets.leave("n")
    await asyncio.sleep(5)
    assert noting.take() == []


async def test_new_instructions_end_a_running_pod(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod(restartPolicy="Never"))
    await asyncio.sleep(5)
    noting.take()
    kubelets.observe(make_pod(restartPolicy="Never", metadata={"annotations": {"moorage.dev/exit-code": "3"}}))
    await asyncio.sleep(0.5)
    ((_, _, body),) = noting.take()
    assert body["status"]["phase"] == "Failed"
    assert body["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


@pytest.mark.parametrize(("name", "value"), [("run-seconds", "soon"), ("exit-code", "256"), ("start-seconds", "-1")])
async def test_instructions_nobody_can_read_fail_the_pod_and_name_the_annotation(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod, name: str, value: str
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod(metadata={"annotations": {f"moorage.dev/{name}": value}}))
    await asyncio.sleep(0.5)
    ((_, _, body),) = noting.take()
    assert (body["status"]["phase"], body["status"]["reason"]) == ("Failed", "InvalidAnnotation")
    assert f"moorage.dev/{name}: '{value}' is not" in body["status"]["message"]


async def test_instructions_that_become_unreadable_change_nothing(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod())
    await asyncio.sleep(2)
    noting.take()
    kubelets.observe(make_pod(metadata={"annotations": {"moorage.dev/run-seconds": "soon"}}))
    await asyncio.sleep(60)
    assert noting.take() == []


async def test_readiness_gates_have_their_say(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    def ready(written: list[tuple[str, str, Any]]) -> str:
        conditions = written[-1][2]["status"]["conditions"]
        return str({each["type"]: each["status"] for each in conditions}["Ready"])

    gates = [{"conditionType": "example.com/served"}]
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod(readinessGates=gates))
    await asyncio.sleep(2)
    assert ready(noting.take()) == "False"
    opened = {"conditions": [{"type": "example.com/served", "status": "True"}]}
    kubelets.observe(make_pod(readinessGates=gates, status=opened))
    await asyncio.sleep(0.5)
    assert ready(noting.take()) == "True"


async def test_a_write_that_failed_is_repeated(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    noting.failures = [ServerError("down", code=503), ServerError("down", code=503)]
    kubelets.observe(make_pod(metadata={"annotations": {"moorage.dev/start-seconds": "0"}}))
    await asyncio.sleep(5)
    assert phases(noting.take()) == [("p", "Running")]


@pytest.mark.parametrize("failure", [NotFound("gone", code=404), Conflict("another uid", code=409)])
async def test_a_write_to_a_pod_that_is_another_now_is_given_up(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod, failure: Any
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    noting.failures = [failure]
    kubelets.observe(make_pod(metadata={"annotations": {"moorage.dev/start-seconds": "0"}}))
    await asyncio.sleep(60)
    assert noting.take() == []


async def test_pods_on_the_host_network_share_its_address(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.open_doors()
    kubelets.observe(make_pod(hostNetwork=True))
    await asyncio.sleep(2)
    assert noting.take()[-1][2]["status"]["podIP"] == "172.16.0.1"


async def test_addresses_of_pods_that_run_already_are_not_given_out(
    kubelets: Kubelets, noting: Any, make_node: MakeNode, make_pod: MakePod
) -> None:
    kubelets.serve(make_node())
    kubelets.observe(make_pod("old", phase="Running", status={"podIP": "10.64.0.1"}))
    kubelets.open_doors()
    kubelets.observe(make_pod("new"))
    await asyncio.sleep(2)
    assert noting.take()[-1][2]["status"]["podIP"] == "10.64.0.2"
