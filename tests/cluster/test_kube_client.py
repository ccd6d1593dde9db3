"""The client package against an API server: embedded, real, or the one a kubeconfig names."""

import asyncio
import dataclasses
import json
import signal
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tools.control_plane.running import Access

from moorage.kube.access import load_access
from moorage.kube.credentials import Credential, StaticSource
from moorage.kube.decoding import Decoder, Unreadable
from moorage.kube.election import ElectionSettings, LeaderElector
from moorage.kube.errors import AnswerLost, Conflict, NotFound, Unauthorized
from moorage.kube.informer import Informer
from moorage.kube.lanes import Lanes
from moorage.kube.paths import resource_of
from moorage.kube.recorder import FIRST_REFRESH, WARNING, EventRecorder
from moorage.kube.reviews import Reviewer
from moorage.kube.transport import JSON, Client, Query
from moorage.kube.watching import Cursor, Step, Target, list_and_watch
from moorage.objects import ObjectReference, Pod

PATIENCE = 30.0
PODS, NODES, LEASES, EVENTS = (resource_of(kind) for kind in ("Pod", "Node", "Lease", "Event"))


@pytest.fixture
async def client(cluster: Access) -> AsyncIterator[Client]:
    async with Client(load_access(cluster.kubeconfig), user_agent="moorage/cluster-test") as connected:
        yield connected


@pytest.fixture
async def mark(client: Client) -> AsyncIterator[str]:
    """A name and label of this test's own; pods and leases that carry it are gone after the test."""
    name = f"kube-client-{uuid.uuid4().hex[:8]}"
    yield name
    options = json.dumps({"gracePeriodSeconds": 0}).encode()
    await client.delete(PODS.path("default"), options, {"labelSelector": f"mark={name}"})
    with suppress(NotFound):
        await client.delete(LEASES.path("default", name))
    with suppress(NotFound):
        await client.delete(NODES.path(name=name))


def pod(name: str, mark: str) -> bytes:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "100m"}}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"mark": mark}},
            "spec": {"containers": [container], "schedulerName": mark},
        }
    ).encode()


async def create_pod(client: Client, mark: str, suffix: str = "") -> Pod:
    made = await client.post(PODS.path("default"), pod(mark + suffix, mark))
    return json_pod(made)


def json_pod(raw: bytes) -> Pod:
    page = b'{"metadata": {}, "items": [' + raw + b"]}"
    [item] = Decoder(Pod).page(page).items
    assert isinstance(item, Pod)
    return item


async def read_pod(client: Client, name: str) -> Pod:
    return json_pod(await client.get(PODS.path("default", name)))


async def create_node(client: Client, name: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await client.post(NODES.path(), json.dumps(node).encode())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.02)


@asynccontextmanager
async def in_background(work: Any) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_informer_follows_pods(client: Client, mark: str) -> None:
    await create_pod(client, mark, "-before")
    informer = Informer(client, Pod, namespace="default", label_selector=f"mark={mark}")
    async with in_background(informer.run()):
        async with asyncio.timeout(PATIENCE):
            await informer.synced.wait()
        assert [item.metadata.name for item in informer] == [mark + "-before"]
        await create_pod(client, mark, "-after")
        await until(lambda: len(informer) == 2)
        patch = json.dumps({"metadata": {"labels": {"more": "x"}}}).encode()
        await client.patch(PODS.path("default", mark + "-after"), patch)
        await until(lambda: "more" in labels(informer.get(mark + "-after", "default")))
        await client.delete(PODS.path("default", mark + "-before"), b'{"gracePeriodSeconds": 0}')
        await until(lambda: len(informer) == 1)


def labels(item: Pod | None) -> dict[str, str]:
    return item.metadata.labels if item else {}


@pytest.mark.parametrize("streaming", [True, False])
async def test_whole_collections_come_as_a_stream_or_in_pages(client: Client, mark: str, streaming: bool) -> None:
    expected = {f"{mark}-{number}" for number in range(5)}
    for number in range(5):
        await create_pod(client, mark, f"-{number}")
    target = Target(PODS.path("default"), Decoder(Pod), {"labelSelector": f"mark={mark}"}, page_size=2)
    cursor, names = Cursor(streaming=streaming), set()
    async with asyncio.timeout(PATIENCE), aclosing(list_and_watch(client, target, cursor)) as steps:
        async for step in steps:
            if step is Step.LISTED:
                break
            if not isinstance(step, Step):
                names |= {item.name if isinstance(item, Unreadable) else item.object.metadata.name for item in step}
    assert names == expected
    assert cursor.streaming == streaming
    assert cursor.resource_version


async def test_a_wrong_token_is_unauthorized(cluster: Access) -> None:
    access = dataclasses.replace(load_access(cluster.kubeconfig), source=StaticSource(Credential("Bearer wrong")))
    async with Client(access) as stranger:
        with pytest.raises(Unauthorized):
            await stranger.get(PODS.path("default"))


class LosingAnswers(Client):
    """Carries requests out, and loses the answer of the first binding."""

    lost = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        query: Query | None = None,
        content_type: str = JSON,
        deadline: float | None = None,
    ) -> bytes:
        answer = await super().request(
            method, path, body=body, query=query, content_type=content_type, deadline=deadline
        )
        if path.endswith("/binding") and not self.lost:
            self.lost = True
            raise AnswerLost("cut")
        return answer


async def test_binding_once_twice_and_with_a_lost_answer(cluster: Access, client: Client, mark: str) -> None:
    await create_node(client, mark)
    one, two = await create_pod(client, mark, "-1"), await create_pod(client, mark, "-2")
    lanes = Lanes(client)

    async def bind(pod: Pod, through: Lanes, uid: str = "") -> None:
        meta = pod.metadata
        await through.bind(namespace="default", name=meta.name, uid=uid or meta.uid, node_name=mark)

    with pytest.raises(Conflict):
        await bind(one, lanes, uid=str(uuid.uuid4()))
    await bind(one, lanes)
    with pytest.raises(Conflict):
        await bind(one, lanes)
    async with LosingAnswers(load_access(cluster.kubeconfig)) as losing:
        await bind(two, Lanes(losing))
        assert losing.lost
    for made in (one, two):
        assert (await read_pod(client, made.metadata.name)).spec.node_name == mark


async def test_status_patches_and_deletes_of_that_very_pod(client: Client, mark: str) -> None:
    made = await create_pod(client, mark)
    lanes = Lanes(client)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    patch = json.dumps({"status": {"conditions": [condition], "nominatedNodeName": "n1"}}).encode()
    await lanes.patch(PODS, patch, namespace="default", name=mark)
    now = await read_pod(client, mark)
    assert now.status.nominated_node_name == "n1"
    assert [each.reason for each in now.status.conditions] == ["Unschedulable"]
    with pytest.raises(Conflict):
        await lanes.delete(PODS, namespace="default", name=mark, uid=str(uuid.uuid4()))
    await lanes.delete(PODS, namespace="default", name=mark, uid=made.metadata.uid, grace_period_seconds=0)
    with pytest.raises(NotFound):
        await read_pod(client, mark)


async def test_events_and_their_series_are_taken(client: Client, mark: str) -> None:
    made = await create_pod(client, mark)
    about = ObjectReference(api_version="v1", kind="Pod", namespace="default", name=mark, uid=made.metadata.uid)
    recorder = EventRecorder(Lanes(client), controller="default-scheduler")
    query = {"fieldSelector": f"regarding.name={mark}"}

    async def events() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(await client.get(EVENTS.path("default"), query))["items"]
        return listed

    async with in_background(recorder.run()):
        for _ in range(3):
            recorder.record(about, type=WARNING, reason="FailedScheduling", action="Scheduling", note="0/0 nodes")
        async with asyncio.timeout(PATIENCE):
            await recorder.drain()
            assert [event["note"] for event in await events()] == ["0/0 nodes"]
            while not (await events())[0].get("series"):  # noqa: ASYNC110 - it happens in another process
                await asyncio.sleep(FIRST_REFRESH / 5)
    [event] = await events()
    assert event["series"]["count"] == 3
    assert event["reportingController"] == "default-scheduler"


async def test_token_and_access_reviews(cluster: Access, client: Client) -> None:
    if not cluster.token:
        pytest.skip("the kubeconfig has no token to review")
    reviewer = Reviewer(client)
    user = await reviewer.authenticate(cluster.token)
    assert user is not None
    assert user.username
    assert await reviewer.authorize(user, verb="get", path="/metrics")
    assert await reviewer.authenticate("nonsense") is None


async def test_leadership_passes_on_when_it_is_released(client: Client, mark: str) -> None:
    turns: list[str] = []

    async def lead(name: str) -> None:
        settings = ElectionSettings(mark, "default", name, lease_duration=3, renew_deadline=2, retry_period=0.2)
        elector = LeaderElector(client, settings)

        async def work() -> None:
            assert elector.is_leader()
            turns.append(name)
            await asyncio.sleep(1)
            assert elector.is_leader()
            turns.append(name)

        await elector.run(work)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(lead(name) for name in ("a", "b", "c")))
    assert sorted(turns) == ["a", "a", "b", "b", "c", "c"]
    assert all(turns[place] == turns[place + 1] for place in (0, 2, 4))
    spec = json.loads(await client.get(LEASES.path("default", mark)))["spec"]
    assert spec["leaseTransitions"] == 2
    assert not spec.get("holderIdentity")


LEADER = """
import asyncio, sys
from moorage.kube.access import load_access
from moorage.kube.election import ElectionSettings, LeaderElector, LeadershipLost
from moorage.kube.transport import Client

kubeconfig, lease, name = sys.argv[1:]

async def main():
    settings = ElectionSettings(lease, "default", name, lease_duration=3, renew_deadline=2, retry_period=0.2)
    async with Client(load_access(kubeconfig)) as client:
        elector = LeaderElector(client, settings)

        async def work():
            while True:
                if elector.is_leader():
                    print("acted", flush=True)
                await asyncio.sleep(0.01)

        try:
            await elector.run(work)
        except LeadershipLost:
            print("lost", flush=True)

asyncio.run(main())
"""


async def test_a_leader_frozen_past_its_lease_never_acts_again(
    cluster: Access, client: Client, mark: str, tmp_path: Path
) -> None:
    script = tmp_path / "leader.py"
    script.write_text(textwrap.dedent(LEADER))

    async def start(name: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, str(script), str(cluster.kubeconfig), mark, name), stdout=asyncio.subprocess.PIPE
        )

    one = await start("one")
    processes = [one]
    try:
        assert await heard(one) == b"acted\n"
        two = await start("two")
        processes.append(two)
        one.send_signal(signal.SIGSTOP)
        assert await heard(two) == b"acted\n"
        await empty(one)  # of what it said before it was frozen
        one.send_signal(signal.SIGCONT)
        assert await rest(one) == b"lost\n"
        spec = json.loads(await client.get(LEASES.path("default", mark)))["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def heard(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return await process.stdout.readline()


async def empty(process: asyncio.subprocess.Process) -> None:
    """Read what a stopped process has left in its pipe: nothing more comes after a moment of silence."""
    assert process.stdout is not None
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(0.5):
                await process.stdout.read(65536)


async def rest(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return await process.stdout.read()
