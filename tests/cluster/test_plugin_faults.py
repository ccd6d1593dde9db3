"""Every extension point times every kind of misbehaviour: the process lives, others are bound, nothing spins.

docs/plugins/faults.md is what this test finds: MOORAGE_WRITE_DOCS=1 writes it anew.
"""

import asyncio
import logging
import re
import time
from typing import Any, Final

import pytest
from tests.cluster import faultpage
from tests.cluster.blocking import told_who_blocks
from tests.cluster.saboteurs import BLOCKS, KINDS, POINTS, ByLess, OfGroups, Saboteur, Wide
from tests.cluster.scheduler_world import World, condition

from moorage.framework import Status, unschedulable
from moorage.framework.methods import point_methods
from moorage.live.scheduler import LiveScheduler

MOST_ATTEMPTS: Final = 12
"""Of one pod within WATCHED seconds."""
WATCHED: Final = 5.0

FAILS, KEPT_OUT, BOUND, UNDONE, ALL_WAIT = "fails", "kept out", "bound", "undone", "all wait"
NO_HELP = "no help"
LESS = "less"
WHERE: Final = re.compile(r"\(at cluster/saboteurs\.py:\d+\)")


def misbehaviours() -> list[tuple[str, str, str]]:
    """Point, kind, and the name of the pod that asks for it."""
    pairs = [(point, kind) for point, but in POINTS.items() for kind in KINDS if kind not in but]
    return [(point, kind, re.sub("[^a-z0-9]+", "-", f"{point}-{kind}".lower())) for point, kind in pairs]


@pytest.fixture
def profiles(world: World) -> list[dict[str, Any]]:
    both = [{"name": "Saboteur"}, {"name": "Wide"}]
    return [
        {
            "schedulerName": world.name,
            "plugins": {
                "multiPoint": {"enabled": both},
                "queueSort": {"enabled": [{"name": "Saboteur"}], "disabled": [{"name": "*"}]},
                "bind": {"enabled": [*both, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]},
            },
        }
    ]


async def test_whatever_a_plugin_does(
    world: World, profiles: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b"):
        await world.node(name, cpu="500", pods="500")
    found: dict[tuple[str, str], str] = {}
    wrong = [one for one in misbehaviours() if one[1] != BLOCKS and one[0] != LESS]
    async with world.scheduling(profiles=profiles, plugins=[Saboteur, Wide]) as scheduler:
        # Dry runs by themselves: their pods are of those that any pod which goes may help.
        for is_dry_run in (False, True):
            some = [one for one in wrong if (one[0] == "RemovePod") is is_dry_run]
            for point, kind, name in some:
                await _ask_for(world, point, kind, name)
            await asyncio.gather(*(_good(world, f"{is_dry_run}-{number}".lower()) for number in range(10)))
            if not is_dry_run:
                await _nudge(world)
            await asyncio.sleep(WATCHED)
            await _good(world, f"{is_dry_run}-last".lower())
            for point, kind, name in some:
                found[point, kind] = await _outcome(world, scheduler, point, name)
            for pod in await world.pods():
                await world.delete("Pod", pod["metadata"]["name"])
        for point, kind, name in misbehaviours():
            if kind == BLOCKS and point != LESS:
                found[point, kind] = await _blocked(world, scheduler, caplog, point, name)
        await _good(world, "end")
        for pod in await world.pods():
            await world.delete("Pod", pod["metadata"]["name"])
    await _by_less(world, found, caplog)
    told = {(fault.plugin, fault.point) for fault in scheduler.core.faults.counts}
    assert {
        ("Saboteur", point) for point in ("QueueSort", "PreEnqueue", "QueueingHint", "Unreserve", "PostBind")
    } <= told
    assert len([one for one in caplog.records if one.exc_info]) < 150, "tracebacks are told once"
    faultpage.compare(faultpage.OF_PODS, POINTS, KINDS, found)


async def _by_less(world: World, found: dict[tuple[str, str], str], caplog: pytest.LogCaptureFixture) -> None:
    """The same for a queue that is ordered the other way."""
    sort = {"queueSort": {"enabled": [{"name": "ByLess"}], "disabled": [{"name": "*"}]}}
    wrong = [one for one in misbehaviours() if one[0] == LESS]
    async with world.scheduling(
        profiles=[{"schedulerName": world.name, "plugins": sort}], plugins=[ByLess]
    ) as scheduler:
        for point, kind, name in wrong:
            if kind != BLOCKS:
                await _ask_for(world, point, kind, name)
        await _good(world, "less")
        for point, kind, name in wrong:
            outcome = _blocked(world, scheduler, caplog, point, name) if kind == BLOCKS else None
            found[point, kind] = await (outcome or _outcome(world, scheduler, point, name))
        for pod in await world.pods():
            await world.delete("Pod", pod["metadata"]["name"])
    faults = [fault for fault in scheduler.core.faults.counts if fault.plugin == "ByLess"]
    assert {fault.point for fault in faults} == {"QueueSort"}
    assert all(fault.where.startswith("cluster/saboteurs.py:") for fault in faults)


async def _ask_for(world: World, point: str, kind: str, name: str) -> None:
    metadata: dict[str, Any] = {"annotations": {"does": f"{point}: {kind}"}}
    if point == "RemovePod":
        # Somebody would have to go from a node of its own, which nobody else looks at.
        node = await world.node(name, cpu="1", labels={"for": name, "world": "apart"})
        await world.pod(f"{name}-victim", nodeSelector={"for": name})
        assert await world.bound(f"{name}-victim") == node
        high = "system-cluster-critical"
        await world.pod(name, metadata=metadata, nodeSelector={"for": name}, priorityClassName=high)
    else:
        await world.pod(name, metadata=metadata, cpu="9999" if point == "PostFilter" else "1")


async def _good(world: World, number: str) -> None:
    await world.pod(f"good-{number}")
    await world.bound(f"good-{number}")


async def _nudge(world: World) -> None:
    """The event about which hints are asked."""
    names = [name for point, _, name in misbehaviours() if point == "QueueingHint"]
    for name in names:
        if not name.endswith("blocks"):
            await _tried(world, name)
    await world.patch("Node", f"{world.name}-a", {"metadata": {"labels": {"nudged": "yes"}}})


async def _tried(world: World, name: str) -> None:
    async def look() -> bool:
        pod = await world.get("Pod", name)
        return bool(pod["spec"].get("nodeName") or condition(pod, "PodScheduled", "False"))

    await world.eventually(look)


async def _outcome(world: World, scheduler: LiveScheduler, point: str, name: str) -> str:
    """What became of the pod. It was not tried too often, and what is said of it says who, where and why."""

    async def at_rest() -> tuple[dict[str, Any], Any] | None:
        """It is bound, or waits in the queue: between two attempts, not within one. Seen together, before it is tried
        again."""
        pod = await world.get("Pod", name)
        waiting = {entity.key: entity for _, entity in scheduler.queue.pods()}.get(f"{world.name}/{name}")
        return (pod, waiting) if waiting or pod["spec"].get("nodeName") else None

    pod, found = await world.eventually(at_rest)
    if pod["spec"].get("nodeName"):
        return BOUND
    assert found.attempts <= MOST_ATTEMPTS, f"{name} was tried {found.attempts} times in {WATCHED} s"
    if found.is_gated:
        note = (await world.event(name, "SchedulingGated"))["note"]
        assert 'PreEnqueue plugin "Saboteur"' in note
        assert WHERE.search(note), note
        return KEPT_OUT
    refusal = condition(pod, "PodScheduled", "False")
    assert refusal is not None, f"{name} waits without a word"
    if point == "RemovePod":
        assert refusal["reason"] == "Unschedulable"
        assert WHERE.search(refusal["message"]), refusal["message"]
        return NO_HELP
    if point == "Unreserve":
        assert refusal["message"] == "so that it is undone"
        return UNDONE
    assert refusal["reason"] == "SchedulerError", f"{name}: {refusal}"
    assert re.search('plugin "(Saboteur|Wide)"|"(Saboteur|Wide)" filter plugin', refusal["message"]), refusal["message"]
    in_their_words = "returns an invalid score" in refusal["message"]
    assert in_their_words or WHERE.search(refusal["message"]), f"{name}: {refusal['message']}"
    event = await world.event(name, "FailedScheduling")
    assert event["note"] == refusal["message"]
    return FAILS


async def _blocked(
    world: World, scheduler: LiveScheduler, caplog: pytest.LogCaptureFixture, point: str, name: str
) -> str:
    """Have one pod block at a point."""

    async def provoke() -> None:
        await _ask_for(world, point, BLOCKS, name)
        if point == "QueueingHint":
            await _tried(world, name)
            await world.patch("Node", f"{world.name}-a", {"metadata": {"labels": {"nudged": "again"}}})

    await told_who_blocks(scheduler, caplog, provoke, "saboteurs.py")
    await world.delete("Pod", name)
    return ALL_WAIT


class Slow:
    """Blocks where it may."""

    worker_thread = ("pre_bind", "post_bind")

    def pre_bind(self, _state: Any, pod: Any, _node_name: str) -> Status | None:
        if pod.name.startswith("slow"):
            time.sleep(1.0)
        return unschedulable("not today") if pod.name == "slow-no" else None

    def post_bind(self, _state: Any, pod: Any, _node_name: str) -> None:
        if pod.name == "slow":
            raise KeyError("tide")


async def test_what_blocks_in_a_worker_thread_holds_up_nobody(world: World) -> None:
    await world.node("a", cpu="50")
    profiles = [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": [{"name": "Slow"}]}}}]
    async with world.scheduling(profiles=profiles, plugins=[Slow]) as scheduler:
        for name in ("slow", "slow-no", "slow-too"):
            await world.pod(name)
        await _good(world, "0")
        assert [(await world.get("Pod", name))["spec"].get("nodeName") for name in ("slow", "slow-too")] == [None, None]
        await asyncio.gather(world.bound("slow"), world.bound("slow-too"))
        assert (await world.refused("slow-no"))["message"] == "not today"
        assert ("Slow", "PostBind") in scheduler.core.faults.by_point()
        await world.delete("Pod", "slow-no")


def test_the_page_begins_as_it_is_written_here() -> None:
    assert faultpage.PAGE.read_text().startswith(faultpage.HEAD)


def test_nothing_is_left_out() -> None:
    """Whatever methods the contracts name, the saboteurs have."""
    from moorage.framework.answers import CONTRACTS

    methods = {contract.method for contract in CONTRACTS.values()} | point_methods()
    had = set(dir(Saboteur)) | set(dir(Wide)) | set(dir(ByLess)) | set(dir(OfGroups))
    assert methods <= had, methods - had
    assert logging.getLogger("moorage").isEnabledFor(logging.ERROR)
