"""Somebody holds up the event loop, and it is told who."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.cluster.scheduler_world import WAIT_SECONDS

from moorage.live.scheduler import LiveScheduler
from moorage.live.watchdog import Watchdog

PATIENCE = 0.2


async def told_who_blocks(
    scheduler: LiveScheduler, caplog: pytest.LogCaptureFixture, provoke: Callable[[], Awaitable[object]], file: str
) -> None:
    """Have a plugin that is written in `file` block, and nothing else; its line is told."""
    told, loop = asyncio.Event(), asyncio.get_running_loop()

    def count(plugin: str) -> None:
        """Called by the thread that watches."""
        if plugin:
            loop.call_soon_threadsafe(told.set)

    watching = asyncio.create_task(Watchdog(scheduler.plugins, count=count, patience=PATIENCE).run())
    try:
        await asyncio.sleep(PATIENCE / 2)
        await provoke()
        async with asyncio.timeout(WAIT_SECONDS):
            await told.wait()
    finally:
        watching.cancel()
        await asyncio.wait([watching])
    assert [one for one in caplog.messages if "it is held by plugin" in one and f"{file}:" in one], "the line is told"
