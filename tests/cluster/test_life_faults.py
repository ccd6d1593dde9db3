"""What plugins do wrong while they are made, beside scheduling, and at the end: the process does not start, with a line
that says why, or it lives, binds and ends."""

import asyncio
import re
import signal
from pathlib import Path

import pytest
from tests.cluster import faultpage, lifesaboteurs
from tests.cluster.blocking import told_who_blocks
from tests.cluster.lifesaboteurs import EVENTS, INIT, MOMENTS, PLUGINS, SPAWNED, START, STOP
from tests.cluster.saboteurs import BLOCKS, KINDS
from tests.cluster.scheduler_process import scheduler_process
from tests.cluster.scheduler_world import World

REFUSED, TOLD, LATE, ALL_WAIT = "refused", "told", "late", "all wait"
FILE = Path(lifesaboteurs.__file__)

AT_ONCE = 2


async def test_whatever_a_plugin_does_beside(world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await world.node("a", cpu="50", pods="50")
    found = dict(zip(EARLY, await _gathered(world, tmp_path), strict=True))
    found |= await _beside(world, caplog)
    for moment in (START, SPAWNED, STOP):
        found[moment, BLOCKS] = await _blocks(world, caplog, moment)
    faultpage.compare(faultpage.OF_LIFE, MOMENTS, KINDS, found)


EARLY = [pair for pair in PLUGINS if pair[0] in (INIT, EVENTS)]


async def _gathered(world: World, folder: Path) -> list[str]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def tried(number: int, plugin: type) -> str:
        async with turns:
            own = folder / str(number)
            own.mkdir()
            return await _started(world, own, plugin)

    return await asyncio.gather(*(tried(number, PLUGINS[pair]) for number, pair in enumerate(EARLY)))


async def _started(world: World, folder: Path, plugin: type) -> str:
    """What becomes of a process with this plugin, which is wrong before anything runs."""
    name = plugin.__name__
    config = {"profiles": [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": [{"name": name}]}}}]}
    async with scheduler_process(world, folder, f"--plugin={FILE}:{name}", config=config) as process:
        if plugin.__name__.endswith(BLOCKS.capitalize()):
            await process.ready()
            await world.pod(f"pod-{name.lower()}")
            await world.bound(f"pod-{name.lower()}")
            process.send(signal.SIGTERM)
            assert await process.end() == 0
            return LATE
        assert await process.end() == 2
        (line,) = process.log.read_text().splitlines()
    assert re.search(rf'plugin "?{name}"?: ', line), line
    assert re.search(r"\(at \S*(lifesaboteurs|saboteurs)\.py:\d+\)", line), line
    return REFUSED


async def _beside(world: World, caplog: pytest.LogCaptureFixture) -> dict[tuple[str, str], str]:
    """All that break at once, in one process: it binds all the same."""
    some = {pair: one for pair, one in PLUGINS.items() if pair not in EARLY and pair[1] != BLOCKS}
    async with world.scheduling(profiles=_profiles(world, *some.values()), plugins=[*some.values()]) as scheduler:
        await world.pod("good")
        await world.bound("good")
        dead = list(scheduler.core.background.dead.values())
    begun = [pair for pair in some if pair[0] != STOP]
    assert len(dead) == len(begun), "readiness shows those that broke, each of them"
    assert all(re.search(r"\(at cluster/lifesaboteurs\.py:\d+\)", text) for text in dead), dead
    for pair, plugin in some.items():
        if pair[0] != SPAWNED:  # what is spawned bears the name of the coroutine
            method = f'"{plugin.__name__}.{pair[0]}"'
            assert [line for line in caplog.messages if method in line and "lifesaboteurs.py:" in line], method
    return dict.fromkeys(some, TOLD)


async def _blocks(world: World, caplog: pytest.LogCaptureFixture, moment: str) -> str:
    plugin = PLUGINS[moment, BLOCKS]
    caplog.clear()
    running = world.scheduling(profiles=_profiles(world, plugin), plugins=[plugin])
    async with running as scheduler:
        if moment == STOP:
            provoke = scheduler.core.background.stop
        else:

            async def provoke() -> None:
                """It does by itself, in a while."""

        await told_who_blocks(scheduler, caplog, provoke, FILE.name)
        await world.pod(f"after-{moment}")
        await world.bound(f"after-{moment}")
    return ALL_WAIT


def _profiles(world: World, *plugins: type) -> list[dict[str, object]]:
    enabled = [{"name": plugin.__name__} for plugin in plugins]
    return [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": enabled}}}]
