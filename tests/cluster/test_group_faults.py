"""Every point of placing groups times every kind of misbehaviour: the group fails, and nobody else does."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest
from tests.cluster import faultpage
from tests.cluster.blocking import told_who_blocks
from tests.cluster.conftest import EMBEDDED, REAL, choice, start_embedded
from tests.cluster.saboteurs import BLOCKS, GROUP_POINTS, KINDS, OfGroups
from tests.cluster.scheduler_world import World, condition, make_world
from tools.control_plane.running import Access, run

from moorage.config import features_of
from moorage.config.gates import DEFAULT_VERSION
from moorage.kube.paths import resource_of
from moorage.live.scheduler import LiveScheduler
from moorage.objects import PodGroup
from moorage.queue import QueuedEntity

MOST_ATTEMPTS = 12
WATCHED = 5.0
WHERE = re.compile(r"\(at cluster/saboteurs\.py:\d+\)")
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
MEMBERS = ("one", "two")
FAILS, BOUND, ALL_WAIT = "fails", "bound", "all wait"


def misbehaviours() -> list[tuple[str, str, str]]:
    """Point, kind, and the name of the group that asks for it."""
    pairs = [(point, kind) for point, but in GROUP_POINTS.items() for kind in KINDS if kind not in but]
    return [(point, kind, re.sub("[^a-z0-9]+", "-", f"{point}-{kind}".lower())) for point, kind in pairs]


@pytest.fixture(scope="module")
def gated() -> Iterator[Access]:
    """An API server that has groups and the points of placing them in domains."""
    if choice() == REAL:
        with run(gates=GATES, apis=[PodGroup.API_VERSION]) as plane:
            yield plane.access
    elif choice() == EMBEDDED:
        with start_embedded(f"--feature-gates={','.join(f'{gate}=true' for gate in GATES)}") as access:
            yield access
    else:
        pytest.skip("needs an API server of its own")


@pytest.fixture
async def world(gated: Access) -> AsyncIterator[World]:
    async with make_world(gated, "group-faults") as made:
        yield made


async def group(world: World, name: str, *, does: str = "", cpu: str = "1") -> None:
    """A gang of two pods; what it wants done stands on the group."""
    metadata = {"name": name, "annotations": {"does": does}}
    tree = {"metadata": metadata, "spec": {"schedulingPolicy": {"gang": {"minCount": len(MEMBERS)}}}}
    await world.client.post(resource_of(PodGroup).path(world.name), json.dumps(tree).encode())
    for member in MEMBERS:
        await world.pod(f"{name}-{member}", cpu=cpu, schedulingGroup={"podGroupName": name})


async def ask_for(world: World, point: str, kind: str, name: str) -> None:
    await group(world, name, does=f"{point}: {kind}", cpu="9999" if point == "PodGroupPostFilter" else "1")


async def good(world: World, name: str) -> None:
    await group(world, name)
    await asyncio.gather(*(world.bound(f"{name}-{member}") for member in MEMBERS))


async def outcome(world: World, scheduler: LiveScheduler, name: str) -> str:
    """What became of the group's members: both share it. It was not tried too often, and they are told who and why."""
    keys = {f"{world.name}/{name}-{member}" for member in MEMBERS}

    async def at_rest() -> QueuedEntity | bool:
        queued = [one for _, one in scheduler.queue.pods() if {member.key for member in one.members} & keys]
        pods = [await world.get("Pod", f"{name}-{member}") for member in MEMBERS]
        return queued[0] if queued else all(pod["spec"].get("nodeName") for pod in pods)

    found = await world.eventually(at_rest)
    if not isinstance(found, QueuedEntity):
        return BOUND
    assert found.attempts <= MOST_ATTEMPTS, f"{name} was tried {found.attempts} times in {WATCHED} s"
    for member in MEMBERS:
        refusal = condition(await world.get("Pod", f"{name}-{member}"), "PodScheduled", "False")
        assert refusal is not None, f"{name} waits without a word"
        assert refusal["reason"] == "SchedulerError", f"{name}: {refusal}"
        assert 'plugin "OfGroups"' in refusal["message"], refusal["message"]
        assert WHERE.search(refusal["message"]), refusal["message"]
    return FAILS


async def forget(world: World) -> None:
    for pod in await world.pods():
        await world.delete("Pod", pod["metadata"]["name"])


async def test_whatever_a_plugin_of_groups_does(world: World, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a", "b", "c", "d"):
        await world.node(name, cpu="100", pods="100")
    plugins = {
        "multiPoint": {
            "enabled": [{"name": "OfGroups"}],
            # It would say that nobody can make room, and nobody else would be asked.
            "disabled": [{"name": "DefaultPreemption"}],
        },
        "placementGenerate": {"enabled": [{"name": "OfGroups"}], "disabled": [{"name": "*"}]},
    }
    found: dict[tuple[str, str], str] = {}
    profiles = [{"schedulerName": world.name, "plugins": plugins}]
    features = features_of(DEFAULT_VERSION, GATES)
    async with world.scheduling(profiles=profiles, plugins=[OfGroups], features=features) as scheduler:
        for point, kind, name in misbehaviours():
            if kind != BLOCKS:
                await ask_for(world, point, kind, name)
        await good(world, "good")
        await asyncio.sleep(WATCHED)
        await good(world, "last")
        for point, kind, name in misbehaviours():
            if kind != BLOCKS:
                found[point, kind] = await outcome(world, scheduler, name)
        await forget(world)
        for point, kind, name in misbehaviours():
            if kind == BLOCKS:
                provoke = partial(ask_for, world, point, kind, name)
                await told_who_blocks(scheduler, caplog, provoke, "saboteurs.py")
                found[point, kind] = ALL_WAIT
        await forget(world)
        await good(world, "end")
        await forget(world)
    assert {fault.point for fault in scheduler.core.faults.counts if fault.plugin == "OfGroups"} == set(GROUP_POINTS)
    assert len([one for one in caplog.records if one.exc_info]) < 40, "tracebacks are told once"
    faultpage.compare(faultpage.OF_GROUPS, GROUP_POINTS, KINDS, found)
