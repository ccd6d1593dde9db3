"""Heartbeats: who is renewed when, and what they say."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from moorage.kube.errors import AlreadyExists, NotFound, ServerError
from moorage.nodes.heartbeats import Heartbeats
from moorage.nodes.objects import HollowNode

pytestmark = pytest.mark.looptime

MakeNode = Callable[..., HollowNode]
Start = Callable[[float], Heartbeats]


@pytest.fixture
async def start(noting: Any, wall_clock: Callable[[], float]) -> AsyncIterator[Start]:
    tasks = []

    def begin(rate: float = 100.0) -> Heartbeats:
        beating = Heartbeats(noting, clock=wall_clock, rate=rate)
        tasks.append(asyncio.create_task(beating.run()))
        return beating

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_lease_is_created_and_then_renewed(start: Start, noting: Any, make_node: MakeNode) -> None:
    start(100).begin(make_node())
    await asyncio.sleep(1)
    ((method, path, lease),) = noting.take()
    assert (method, path) == ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
    assert lease["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-of-n"}
    ]
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("n", 40)
    await asyncio.sleep(30)
    renewals = noting.take()
    assert [(method, path.rsplit("/", 1)[1]) for method, path, _ in renewals] == [("PATCH", "n")] * 3
    assert all(set(body["spec"]) == {"renewTime", "leaseDurationSeconds"} for _, _, body in renewals)


async def test_many_nodes_beat_within_the_rate_and_say_so(start: Start, noting: Any, make_node: MakeNode) -> None:
    beating = start(5)
    for number in range(100):
        beating.begin(make_node(f"n{number}"))
    await asyncio.sleep(61)
    written = noting.take()
    assert len(written) <= 5 * 62
    per_node = Counter(
        body["metadata"]["name"] if method == "POST" else path.rsplit("/", 1)[1] for method, path, body in written
    )
    assert set(per_node.values()) == {3, 4} or set(per_node.values()) == {3}
    assert len(per_node) == 100
    assert written[-1][2]["spec"]["leaseDurationSeconds"] == 80


async def test_a_paused_node_is_silent(start: Start, noting: Any, make_node: MakeNode) -> None:
    beating = start(100)
    beating.begin(make_node())
    await asyncio.sleep(1)
    beating.pause("n")
    noting.take()
    await asyncio.sleep(100)
    assert noting.take() == []


async def test_a_node_that_is_gone_takes_its_lease_along(start: Start, noting: Any, make_node: MakeNode) -> None:
    beating = start(100)
    beating.begin(make_node())
    await asyncio.sleep(1)
    noting.take()
    beating.end("n")
    await asyncio.sleep(20)
    assert [(method, path.rsplit("/", 1)[1]) for method, path, _ in noting.take()] == [("DELETE", "n")]


async def test_a_node_that_is_said_to_be_unwell_says_otherwise(start: Start, noting: Any, make_node: MakeNode) -> None:
    start(100).begin(make_node(ready=False))
    await asyncio.sleep(1)
    method, path, body = noting.take()[0]
    assert (method, path) == ("PATCH", "/api/v1/nodes/n/status")
    ready = {each["type"]: each["status"] for each in body["status"]["conditions"]}["Ready"]
    assert ready == "True"
    assert body["status"]["addresses"][0]["address"] == "172.16.0.1"


async def test_a_lease_from_before_is_taken_over(start: Start, noting: Any, make_node: MakeNode) -> None:
    noting.failures = [AlreadyExists("there", code=409)]
    start(100).begin(make_node())
    await asyncio.sleep(1)
    assert [method for method, _, _ in noting.take()] == ["PATCH"]


async def test_a_lease_that_somebody_deleted_is_made_again(start: Start, noting: Any, make_node: MakeNode) -> None:
    start(100).begin(make_node())
    await asyncio.sleep(1)
    noting.take()
    noting.failures = [NotFound("gone", code=404)]
    await asyncio.sleep(12)
    assert [method for method, _, _ in noting.take()] == ["POST"]


async def test_a_failed_renewal_does_not_stop_the_others(start: Start, noting: Any, make_node: MakeNode) -> None:
    beating = start(100)
    for name in ("a", "b"):
        beating.begin(make_node(name))
    noting.failures = [ServerError("down", code=503)]
    await asyncio.sleep(12)
    assert {body["metadata"]["name"] for method, _, body in noting.take() if method == "POST"} == {"a", "b"}
