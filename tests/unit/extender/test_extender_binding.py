"""One binding for each pod, however often it is asked for."""

import asyncio
import json
import threading
from typing import Any

import pytest

from moorage.cluster import ClusterState
from moorage.columns import PodInfo, Snapshot
from moorage.engine import make_engine
from moorage.engine.engine import default_registry
from moorage.extender.binding import Binder, NotBound
from moorage.extender.configuring import plugins_config, register
from moorage.extender.deciding import Decider
from moorage.extender.wire import BindingArgs
from moorage.framework import CycleState, NodeInfo, Status, unschedulable
from moorage.kube.errors import NotFound
from moorage.testing import a_node, a_pod


class OneEach:
    """A pod a node, bound by a plugin that tells what happened and waits where it is told to."""

    told: list[str] = []
    gate: asyncio.Event | None = None
    refuses_at = ""

    def __init__(self, args: Any, handle: Any) -> None: ...

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return unschedulable("taken") if node.pods else None

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self.tell("reserve", pod)

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.told.append(f"unreserve {pod.name}")

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if self.gate is not None:
            await self.gate.wait()
        return self.tell("pre_bind", pod)

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self.tell("bind", pod)

    def tell(self, point: str, pod: PodInfo) -> Status | None:
        self.told.append(f"{point} {pod.name}")
        return unschedulable("not here") if point == self.refuses_at else None


class Api:
    """Knows pods by path."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}

    async def get(self, path: str) -> bytes:
        if path not in self.pods:
            raise NotFound(f"{path} not found", code=404)
        return json.dumps(self.pods[path]).encode()


class World:
    def __init__(self, plugin: type = OneEach) -> None:
        OneEach.told, OneEach.gate, OneEach.refuses_at = [], None, ""
        registry = default_registry()
        names = register(registry, [plugin])
        self.cluster = ClusterState(Snapshot.of([a_node("n1").build(), a_node("n2").build()]))
        engine = make_engine(self.cluster.snapshot, plugins_config(registry, names, None), registry=registry)
        (runner,) = engine.runners.values()
        self.api = Api()
        self.binder = Binder(runner, Decider(runner), self.cluster, self.api)  # type: ignore[arg-type]

    def pending(self, name: str) -> PodInfo:
        pod = self.cluster.snapshot.info(a_pod(name).build())
        self.cluster.set_pending(pod)
        return pod

    async def bind(self, name: str, node: str = "n1", uid: str = "") -> None:
        uid = uid or f"default-{name}-uid"
        await self.binder.bind(BindingArgs(name, "default", uid, node))


@pytest.fixture
def world() -> World:
    return World()


async def test_a_pod_is_bound_through_the_plugins(world: World) -> None:
    pod = world.pending("p")
    await world.bind("p")
    assert OneEach.told == ["reserve p", "pre_bind p", "bind p"]
    counted = world.cluster.counted(pod.uid)
    assert counted is not None
    assert counted.spec.node_name == "n1"


async def test_asked_again_moves_nothing(world: World) -> None:
    world.pending("p")
    await world.bind("p")
    await world.bind("p")
    assert OneEach.told == ["reserve p", "pre_bind p", "bind p"]
    with pytest.raises(NotBound, match="already bound to node n1"):
        await world.bind("p", "n2")


async def test_asked_again_at_the_same_moment_waits_for_the_same_binding(world: World) -> None:
    world.pending("p")
    OneEach.gate = asyncio.Event()
    first, second = (asyncio.create_task(world.bind("p")) for _ in range(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(NotBound, match="is being bound to node n1"):
        await world.bind("p", "n2")
    first.cancel()
    OneEach.gate.set()
    await second
    assert OneEach.told == ["reserve p", "pre_bind p", "bind p"]


async def test_the_second_for_the_same_room_is_refused_even_while_the_first_is_on_its_way(world: World) -> None:
    world.pending("p")
    world.pending("q")
    OneEach.gate = asyncio.Event()
    first = asyncio.create_task(world.bind("p"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(NotBound, match="node n1 does not take pod default/q: taken"):
        await world.bind("q")
    OneEach.gate.set()
    await first
    assert "reserve q" not in OneEach.told


@pytest.mark.parametrize("point", ["reserve", "pre_bind", "bind"])
async def test_what_fails_is_undone_and_may_be_tried_again(world: World, point: str) -> None:
    pod = world.pending("p")
    OneEach.refuses_at = point
    with pytest.raises(NotBound, match="OneEach: not here"):
        await world.bind("p")
    assert OneEach.told[-1] == "unreserve p"
    assert world.cluster.counted(pod.uid) is None
    OneEach.refuses_at = ""
    await world.bind("p", "n2")


async def test_a_pod_not_seen_yet_is_read(world: World) -> None:
    path = "/api/v1/namespaces/default/pods/p"
    world.api.pods[path] = {"metadata": {"name": "p", "namespace": "default", "uid": "u1"}, "spec": {}}
    await world.bind("p", uid="u1")
    assert OneEach.told[-1] == "bind p"
    world.api.pods[path] = {"metadata": {"name": "p", "namespace": "default", "uid": "u2"}, "spec": {}}
    with pytest.raises(NotBound, match="another one now: its UID is u2, not u9"):
        await world.bind("p", uid="u9")
    with pytest.raises(NotBound, match="pod default/nobody does not exist"):
        await world.bind("nobody")


async def test_a_pod_that_turns_out_bound(world: World) -> None:
    path = "/api/v1/namespaces/default/pods/p"
    metadata = {"name": "p", "namespace": "default", "uid": "u1"}
    world.api.pods[path] = {"metadata": metadata, "spec": {"nodeName": "n1"}}
    await world.bind("p", uid="u1")
    with pytest.raises(NotBound, match="already bound to node n1"):
        await world.bind("p", "n2", uid="u1")
    assert OneEach.told == []


async def test_incomplete_requests(world: World) -> None:
    with pytest.raises(NotBound, match="expected PodName"):
        await world.binder.bind(BindingArgs())


async def test_what_blocks_in_a_worker_thread_holds_up_nobody() -> None:
    """The thread that binds waits for the loop, which has to turn meanwhile."""
    loop, turned = asyncio.get_running_loop(), threading.Event()

    class Blocking(OneEach):
        worker_thread = ("pre_bind",)

        def pre_bind(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | None:  # type: ignore[override]
            loop.call_soon_threadsafe(turned.set)
            assert turned.wait(10.0), "the loop stands still"
            return self.tell("pre_bind", pod)

    world = World(Blocking)
    world.pending("p")
    await world.bind("p")
    assert OneEach.told == ["reserve p", "pre_bind p", "bind p"]
