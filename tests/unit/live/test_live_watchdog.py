"""The watchdog names who holds up the loop, while it lasts."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from moorage.columns import PodInfo, Snapshot
from moorage.live.watchdog import Watchdog
from moorage.testing import a_pod

PATIENCE = 0.2


class Tide:
    """A plugin that waits, for as long as it is told."""

    def __init__(self, hold: Callable[[], None]) -> None:
        self._hold = hold

    def filter(self, _state: object, pod: PodInfo, _node: object) -> None:
        """Not a word about the pod."""
        assert pod
        self._hold()


class Ear(logging.Handler):
    """Hears what is told about blocks, and lets them go on until it is."""

    def __init__(self) -> None:
        super().__init__()
        self._told = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Note what is told."""
        if "held by" in record.getMessage():
            self._told.set()

    def wait(self) -> None:
        """Hold up the thread until a block is told."""
        assert self._told.wait(60)
        self._told.clear()


@pytest.fixture
def ear() -> Iterator[Ear]:
    handler, logger = Ear(), logging.getLogger("moorage.live.watchdog")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


async def watched(plugin: Tide, *work: Callable[[], object], patience: float = PATIENCE) -> list[str]:
    """Run the work on a loop that is watched; the plugins that were counted."""
    counted: list[str] = []
    watchdog = asyncio.create_task(Watchdog([("Tide", plugin)], count=counted.append, patience=patience).run())
    for step in work:
        await asyncio.sleep(PATIENCE * 2)
        step()
    await asyncio.sleep(PATIENCE * 2)
    watchdog.cancel()
    await asyncio.gather(watchdog, return_exceptions=True)
    return counted


async def test_a_plugin_that_blocks_is_named_with_pod_and_line(ear: Ear, caplog: pytest.LogCaptureFixture) -> None:
    web = Snapshot().info(a_pod("web").build())
    tide = Tide(ear.wait)
    counted = await watched(tide, *[lambda: tide.filter(None, web, None)] * 2)
    assert counted == ["Tide", "Tide"]
    told = [text for text in caplog.messages if "held by" in text]
    line = Tide.filter.__code__.co_firstlineno + 3
    assert len(told) == 2, "each block is told once"
    assert f'plugin "Tide" in filter for pod default/web at {__file__}:{line}' in told[0]
    assert "self._told.wait(60)" in told[0]
    assert any("turns again" in text for text in caplog.messages)


async def test_what_no_plugin_holds_is_told_with_its_line(ear: Ear, caplog: pytest.LogCaptureFixture) -> None:
    assert await watched(Tide(ear.wait), ear.wait) == [""]
    (told,) = [text for text in caplog.messages if "held by" in text]
    assert "held by no plugin, but wait" in told
    assert "self._told.wait(60)" in told


async def test_a_loop_that_turns_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    assert await watched(Tide(lambda: None), *[lambda: None] * 3, patience=60) == []
    assert caplog.messages == []
