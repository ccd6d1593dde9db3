"""Plugins that throw, in each point: the pod's attempt fails with their name, nothing else does."""

import json
from typing import Any

import pytest
from tests.cluster.scheduler_world import World

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.measuring import PluginCounter
from moorage.framework.status import Status
from moorage.kube.paths import resource_of
from moorage.live.measuring import add_gauges
from moorage.observe.exposition import Exposition


class Saboteur:
    """Throws at the point a pod names in its annotation `throws`, and only there."""

    def __init__(self, _args: Any, _handle: Handle) -> None: ...

    def _meet(self, point: str, pod: PodInfo) -> None:
        if pod.annotations.get("throws") == point:
            raise RuntimeError("boom")

    def pre_filter(self, _state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        self._meet("PreFilter", pod)
        return None

    def filter(self, _state: CycleState, pod: PodInfo, _node: NodeInfo) -> Status | None:
        self._meet("Filter", pod)
        return None

    def pre_score(self, _state: CycleState, pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        self._meet("PreScore", pod)
        return None

    def score(self, _state: CycleState, pod: PodInfo, _node: NodeInfo) -> int:
        self._meet("Score", pod)
        return 0

    def reserve(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | None:
        self._meet("Reserve", pod)
        return None

    def unreserve(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        self._meet("Unreserve", pod)

    def permit(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | None:
        self._meet("Permit", pod)
        return None

    async def pre_bind(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | None:
        self._meet("PreBind", pod)
        # Only something that fails later makes Unreserve run.
        if pod.annotations.get("throws") == "Unreserve":
            raise RuntimeError("boom")
        return None

    def post_bind(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        self._meet("PostBind", pod)


def profile(world: World) -> list[dict[str, Any]]:
    return [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": [{"name": "Saboteur"}]}}}]


def throwing(point: str) -> dict[str, Any]:
    return {"annotations": {"throws": point}}


@pytest.mark.parametrize("point", ["PreFilter", "Filter", "PreScore", "Score", "Reserve", "Permit", "PreBind"])
async def test_a_plugin_that_throws_fails_that_pod_alone(world: World, point: str) -> None:
    await world.node("a", cpu="1")
    await world.node("b", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Saboteur]):
        await world.pod("bad", metadata=throwing(point))
        refusal = await world.refused("bad")
        for name in ("good", "good-too"):
            await world.pod(name)
            await world.bound(name)
    assert refusal["reason"] == "SchedulerError"
    assert "Saboteur" in refusal["message"]
    assert "boom" in refusal["message"]


async def test_a_plugin_that_throws_in_unreserve_keeps_nothing_reserved(world: World) -> None:
    await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Saboteur]):
        await world.pod("bad", metadata=throwing("Unreserve"))
        await world.refused("bad")
        await world.delete("Pod", "bad")
        await world.pod("good")
        await world.bound("good")


async def test_a_plugin_that_throws_after_the_bind_changes_nothing(world: World) -> None:
    node = await world.node("a")
    async with world.scheduling(profiles=profile(world), plugins=[Saboteur]):
        await world.pod("web", metadata=throwing("PostBind"))
        assert await world.bound("web") == node
        await world.event("web", "Scheduled")


async def test_a_pod_whose_plugin_threw_is_tried_again(world: World) -> None:
    node = await world.node("a", cpu="1")
    async with world.scheduling(profiles=profile(world), plugins=[Saboteur]):
        await world.pod("mended", metadata=throwing("Filter"))
        await world.refused("mended")
        await world.client.patch(
            f"/api/v1/namespaces/{world.name}/pods/mended", b'{"metadata": {"annotations": {"throws": null}}}'
        )
        assert await world.bound("mended") == node


class Telling:
    """Tells people of pods and of nodes."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def post_bind(self, _state: Any, pod: PodInfo, node_name: str) -> None:
        node = self.handle.snapshot.nodes.get(node_name)
        assert node is not None
        self.handle.host.event(pod, "Moored", f"lies at {node_name}", action="Mooring")
        self.handle.host.event(node.node, "Taken", f"has {pod.key}", warning=True)


async def test_plugins_tell_people(world: World) -> None:
    node = await world.node("a")
    profiles = [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": [{"name": "Telling"}]}}}]
    async with world.scheduling(profiles=profiles, plugins=[Telling]):
        await world.pod("web")
        told = await world.event("web", "Moored")
        assert (told["note"], told["type"], told["action"]) == (f"lies at {node}", "Normal", "Mooring")
        assert told["reportingController"] == world.name

        async def of_node() -> list[Any]:
            events = json.loads(await world.client.get(resource_of("Event").path("default")))["items"]
            return [one for one in events if one["regarding"]["name"] == node and one["reason"] == "Taken"]

        (other,) = await world.eventually(of_node)
        assert (other["note"], other["type"]) == (f"has {world.name}/web", "Warning")


class Counting:
    """Counts what cannot be shown."""

    def filter(self, _state: Any, _pod: Any, _node: Any) -> None: ...

    def counters(self) -> list[PluginCounter]:
        return [
            PluginCounter("moored_total", "Moored.", ("harbor",), {("Kiel",): 1}),
            PluginCounter("torn_total", "Torn.", ("harbor",), {"Kiel": 1}),  # type: ignore[dict-item]
        ]


async def test_a_counter_that_cannot_be_read_is_left_out_of_the_metrics(world: World) -> None:
    await world.node("a")
    profiles = [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": [{"name": "Counting"}]}}}]
    async with world.scheduling(profiles=profiles, plugins=[Counting]) as scheduler:
        add_gauges(scheduler, None)
        shown = Exposition(scheduler.metrics).render().decode()
    assert f'moored_total{{harbor="Kiel",profile="{world.name}"}} 1.0' in shown
    assert "torn_total{" not in shown
    assert scheduler.core.faults.by_point() == {("Counting", "counters"): 1.0}
