"""The GPU sharing example as its users run it: a process of its own, beside an API server, spoken to over HTTP."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from moorage_gpushare.__main__ import main
from tests.cluster.conftest import start_embedded
from tools.control_plane.processes import free_ports
from tools.control_plane.running import Access

from moorage.errors import ApiError
from moorage.kube.access import load_access
from moorage.kube.transport import MERGE_PATCH, Client

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpushare"
PATIENCE = 20.0

Tree = dict[str, Any]


@pytest.fixture(scope="module")
def access() -> Iterator[Access]:
    with start_embedded() as one:
        yield one


class Webhook:
    """The process, which one test after the other speaks to."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def start(self) -> None:
        (self.port,) = free_ports(1)
        command = [sys.executable, "-m", "moorage_gpushare", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, "--kubeconfig", str(self._access.kubeconfig)],
            env={**os.environ, "PYTHONPATH": str(EXAMPLE)},
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="module")
def webhook(access: Access) -> Iterator[Webhook]:
    made = Webhook(access)
    made.start()
    try:
        yield made
    finally:
        made.kill()


class Gpus:
    """A cluster with cards, and the webhook beside it."""

    def __init__(self, access: Access, webhook: Webhook, client: Client, session: aiohttp.ClientSession) -> None:
        self.access = access
        self.webhook = webhook
        self.client = client
        self._session = session
        self._made: list[str] = []

    async def post(self, path: str, body: Any) -> Any:
        """The answer, as soon as there is somebody to answer."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    async with self._session.post(f"{self.url}/{path}", json=body) as answer:
                        assert answer.status == 200
                        return await answer.json()
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)

    async def get(self, path: str) -> Any:
        async with self._session.get(f"{self.url}/{path}") as answer:
            assert answer.status == 200
            return await answer.json()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.webhook.port}/gpushare-scheduler"

    async def node(self, name: str, memory: str = "30", count: str = "2", **more: str) -> None:
        amounts = {
            "cpu": "16",
            "memory": "64Gi",
            "pods": "50",
            "aliyun.com/gpu-mem": memory,
            "aliyun.com/gpu-count": count,
        }
        amounts = {key: value for key, value in amounts.items() if value}
        status = {"capacity": amounts, "allocatable": amounts}
        await self.create("nodes", {"kind": "Node", "metadata": {"name": name}, "status": status})
        await self.settled(lambda inspect: any(node["name"] == name for node in inspect["nodes"]) or not memory)

    async def pod(self, name: str, need: str = "10", **metadata: Any) -> Tree:
        limits = {"aliyun.com/gpu-mem": need}
        container = {"name": "main", "image": "cuda", "resources": {"limits": limits, "requests": limits}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
        tree = {"kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}
        return await self.create("namespaces/default/pods", tree)

    async def create(self, path: str, tree: Tree) -> Tree:
        made: Tree = json.loads(
            await self.client.post(f"/api/v1/{path}", json.dumps({"apiVersion": "v1", **tree}).encode())
        )
        self._made.append(f"/api/v1/{path}/{tree['metadata']['name']}")
        return made

    async def read(self, name: str) -> Tree:
        tree: Tree = json.loads(await self.client.get(f"/api/v1/namespaces/default/pods/{name}"))
        return tree

    async def delete(self, path: str) -> None:
        await self.client.delete(f"/api/v1/{path}", query={"gracePeriodSeconds": 0})

    async def bind(self, pod: Tree, node: str) -> str:
        """What Error the answer has."""
        meta = pod["metadata"]
        body = {"PodName": meta["name"], "PodNamespace": "default", "PodUID": meta["uid"], "Node": node}
        error: str = (await self.post("bind", body))["Error"]
        return error

    async def filter(self, pod: Tree, *names: str) -> Any:
        return await self.post("filter", {"Pod": pod, "Nodes": None, "NodeNames": list(names)})

    async def settled(self, condition: Any) -> Any:
        """What inspect answers once it fulfils the condition."""
        async with asyncio.timeout(PATIENCE):
            while True:
                with contextlib.suppress(aiohttp.ClientConnectionError):
                    inspect = await self.get("inspect")
                    if condition(inspect):
                        return inspect
                await asyncio.sleep(0.02)

    async def used(self, node: str) -> list[int]:
        (shown,) = (await self.get(f"inspect/{node}"))["nodes"]
        return [dev["usedGPU"] for dev in shown["devs"]]

    async def clean(self) -> None:
        for path in reversed(self._made):
            with contextlib.suppress(ApiError):
                await self.client.delete(path, query={"gracePeriodSeconds": 0})
        await self.settled(lambda inspect: inspect["nodes"] == [])


@pytest.fixture
async def gpus(access: Access, webhook: Webhook) -> AsyncIterator[Gpus]:
    async with Client(load_access(access.kubeconfig)) as client, aiohttp.ClientSession() as session:
        made = Gpus(access, webhook, client, session)
        try:
            yield made
        finally:
            await made.clean()


def annotations_of(pod: Tree) -> dict[str, str]:
    return {
        name.removeprefix("ALIYUN_COM_GPU_MEM_"): value
        for name, value in pod["metadata"].get("annotations", {}).items()
    }


async def test_a_pod_gets_the_fullest_card_that_has_room(gpus: Gpus) -> None:
    await gpus.node("n1")
    pods = [await gpus.pod(f"p{index}", need) for index, need in enumerate(("10", "4", "8", "5"))]
    assert [await gpus.bind(pod, "n1") for pod in pods] == [""] * 4
    bound = [await gpus.read(f"p{index}") for index in range(4)]
    assert [pod["spec"]["nodeName"] for pod in bound] == ["n1"] * 4
    assert [annotations_of(pod)["IDX"] for pod in bound] == ["0", "0", "1", "1"]
    first = annotations_of(bound[0])
    assert (first["DEV"], first["POD"], first["ASSIGNED"]) == ("15", "10", "false")
    assert first["ASSUME_TIME"].isdigit()
    on_cards = [
        [{"name": name, "namespace": "default", "usedGPU": used} for name, used in holders]
        for holders in ([("p0", 10), ("p1", 4)], [("p2", 8), ("p3", 5)])
    ]
    devs = [
        {"id": card, "totalGPU": 15, "usedGPU": used, "pods": pods}
        for card, used, pods in zip((0, 1), (14, 13), on_cards, strict=True)
    ]
    assert await gpus.get("inspect/n1") == {"nodes": [{"name": "n1", "totalGPU": 30, "usedGPU": 27, "devs": devs}]}


async def test_filter_says_why_in_the_originals_words(gpus: Gpus) -> None:
    await gpus.node("n1")
    await gpus.node("plain", memory="", count="")
    await gpus.node("uncounted", count="")
    pod = await gpus.pod("p", "16")
    assert await gpus.filter(pod, "n1", "plain", "uncounted", "gone") == {
        "Nodes": None,
        "NodeNames": [],
        "FailedNodes": {
            "n1": "Insufficient GPU Memory in one device",
            "plain": "The node plain is not for GPU share, need skip",
            "uncounted": "Insufficient GPU Memory in one device",
            "gone": 'node "gone" not found',
        },
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    assert await gpus.filter(pod) == {
        "Nodes": None,
        "NodeNames": [],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    small = await gpus.pod("small", "15")
    item = {"metadata": {"name": "n1"}, "status": {"capacity": {}}}
    answer = await gpus.post("filter", {"pod": small, "nodes": {"items": [item]}})
    assert (answer["NodeNames"], answer["Nodes"]["items"]) == (["n1"], [item]), "the card is its own informer's"
    assert (await gpus.post("filter", {"NodeNames": ["n1"]}))["Error"] == "Pod is missing"


async def test_a_binding_asked_for_again_moves_nothing(gpus: Gpus) -> None:
    await gpus.node("n1")
    await gpus.node("n2")
    pod = await gpus.pod("p")
    assert await asyncio.gather(*(gpus.bind(pod, "n1") for _ in range(8))) == [""] * 8
    before = await gpus.read("p")
    assert await gpus.bind(pod, "n1") == ""
    assert "already bound to node n1" in await gpus.bind(pod, "n2")
    assert await gpus.read("p") == before
    assert await gpus.used("n1") == [10, 0]
    stranger = {**pod, "metadata": {**pod["metadata"], "uid": "somebody-else"}}
    assert "is another one now" in await gpus.bind(stranger, "n1")
    assert "not found" in await gpus.bind({"metadata": {"name": "nobody", "uid": "u"}}, "n1")


async def test_a_name_that_would_lead_elsewhere_is_refused(gpus: Gpus) -> None:
    await gpus.node("n1")
    body = {"PodName": "../../kube-system/pods/x", "PodNamespace": "default", "PodUID": "", "Node": "n1"}
    assert "is no name of a Pod" in (await gpus.post("bind", body))["Error"]


async def test_never_over_a_cards_memory_however_bindings_race(gpus: Gpus) -> None:
    await gpus.node("n1")
    pods = [await gpus.pod(f"p{index}", "5") for index in range(12)]
    errors = await asyncio.gather(*(gpus.bind(pod, "n1") for pod in pods))
    assert sorted(map(bool, errors)) == [False] * 6 + [True] * 6
    assert all("Insufficient GPU Memory in one device" in error for error in errors if error)
    assert await gpus.used("n1") == [15, 15]


async def test_right_again_after_a_kill(gpus: Gpus) -> None:
    await gpus.node("n1")
    pods = [await gpus.pod(f"p{index}", "5") for index in range(10)]
    racing = [asyncio.create_task(gpus.bind(pod, "n1")) for pod in pods[:5]]
    await asyncio.sleep(0.01)
    gpus.webhook.kill()
    for task in racing:
        task.cancel()
    await asyncio.gather(*racing, return_exceptions=True)
    gpus.webhook.start()
    errors = [await gpus.bind(pod, "n1") for pod in pods]
    assert sum(not error for error in errors) == 6
    held = [0, 0]
    for pod in pods:
        now = await gpus.read(pod["metadata"]["name"])
        if now["spec"].get("nodeName"):
            held[int(annotations_of(now)["IDX"])] += 5
    assert held == [15, 15] == await gpus.used("n1")


async def test_a_card_is_free_when_its_pod_is_gone_and_not_before(gpus: Gpus) -> None:
    await gpus.node("n1", memory="10", count="1")
    first = await gpus.pod("first", finalizers=["example.com/hold"])
    assert await gpus.bind(first, "n1") == ""
    await gpus.delete("namespaces/default/pods/first")
    second = await gpus.pod("second")
    assert (await gpus.filter(second, "n1"))["NodeNames"] == []
    freed = json.dumps({"metadata": {"finalizers": None}}).encode()
    await gpus.client.patch("/api/v1/namespaces/default/pods/first", freed, content_type=MERGE_PATCH)
    await gpus.settled(lambda inspect: inspect["nodes"][0]["usedGPU"] == 0)
    assert await gpus.bind(second, "n1") == ""
    done = json.dumps({"status": {"phase": "Succeeded"}}).encode()
    await gpus.client.patch("/api/v1/namespaces/default/pods/second/status", done, content_type=MERGE_PATCH)
    await gpus.settled(lambda inspect: inspect["nodes"][0]["usedGPU"] == 0)


async def test_nodes_that_grow_and_cards_out_of_order_are_seen(gpus: Gpus) -> None:
    await gpus.node("n1", memory="10", count="1")
    grown = {"aliyun.com/gpu-mem": "60", "aliyun.com/gpu-count": "3"}
    body = json.dumps({"status": {"capacity": grown, "allocatable": grown}}).encode()
    await gpus.client.patch("/api/v1/nodes/n1/status", body, content_type=MERGE_PATCH)
    await gpus.settled(lambda inspect: inspect["nodes"][0]["totalGPU"] == 60)
    broken = {"kind": "ConfigMap", "metadata": {"name": "unhealthy-gpu-n1"}, "data": {"gpus": "0, junk,,2"}}
    await gpus.create("namespaces/kube-system/configmaps", broken)
    pod = await gpus.pod("p", "20")
    async with asyncio.timeout(PATIENCE):
        while (await gpus.bind(pod, "n1")) or annotations_of(await gpus.read("p"))["IDX"] != "1":
            await gpus.delete("namespaces/default/pods/p")
            pod = await gpus.pod("p", "20")
    assert len((await gpus.get("inspect/n1"))["nodes"][0]["devs"]) == 3


async def test_inspect_of_what_has_no_cards(gpus: Gpus) -> None:
    await gpus.node("plain", memory="", count="")
    empty = {"nodes": [{"name": "plain", "totalGPU": 0, "usedGPU": 0, "devs": []}]}
    async with asyncio.timeout(PATIENCE):
        while await gpus.get("inspect/plain") != empty:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.02)
    assert await gpus.get("inspect/nobody") == {"nodes": [], "error": 'node "nobody" not found'}
    assert await gpus.get("inspect") == {"nodes": []}
    async with (
        aiohttp.ClientSession() as session,
        session.get(gpus.url.removesuffix("/gpushare-scheduler") + "/version") as answer,
    ):
        assert await answer.text() == "0.1.0"


async def test_the_table_in_the_terminal(
    gpus: Gpus, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await gpus.node("n1")
    await gpus.node("n2", memory="8", count="1")
    assert await gpus.bind(await gpus.pod("p", "6"), "n1") == ""
    command = ["inspect", "--kubeconfig", str(gpus.access.kubeconfig)]
    program = [sys.executable, "-m", "moorage_gpushare"]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE)}
    done = await asyncio.to_thread(subprocess.check_output, [*program, *command], env=environment, text=True)
    assert done == (
        "NAME  IPADDRESS  GPU0(Allocated/Total)  GPU1(Allocated/Total)  GPU Memory(GiB)\n"
        "n1    unknown    6/15                   0/15                   6/30\n"
        "n2    unknown    0/8                                           0/8\n"
        "------------------------------------------------------------\n"
        "Allocated/Total GPU Memory In Cluster:\n"
        "6/38 (15%)\n"
    )

    async def shown(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["moorage_gpushare", *command, *arguments])
        status = await asyncio.to_thread(main)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    status, printed, _ = await shown("-d", "n1")
    assert (status, "p     default    6                0" in printed) == (0, True)
    assert await shown("nowhere") == (2, "", "node nowhere: has no shared cards, or is not there\n")
