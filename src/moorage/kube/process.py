"""The life of a process that works on a cluster: its event loop, being told to stop, and losing its lease."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from moorage.kube.election import LeadershipLost

logger = logging.getLogger(__name__)

STOP_LIMIT: Final = 9.5
"""Seconds after which a process that was told to stop ends, whatever is still going on in it."""


def run(work: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> int:
    """Run until told to stop, by the event that `work` is given (0), or until leadership is lost (1)."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_run(work))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: half the CPU a request."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _run(work: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> int:
    try:
        with stopping_on_signals() as stopping:
            await work(stopping)
    except LeadershipLost as lost:
        logger.error("leader election lost: %s", lost)
        return 1
    logger.info("stopped")
    return 0


@contextmanager
def stopping_on_signals() -> Iterator[asyncio.Event]:
    """An event that is set when the process is told to stop; it is ended where that does not end it in time.

    The handlers are Python's own: they run between two lines of a plugin that holds up the loop, the loop's do not.
    """
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not stopping.is_set():
            last = threading.Timer(STOP_LIMIT, _end)
            last.daemon = True
            last.start()
        loop.call_soon_threadsafe(stopping.set)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end() -> None:
    logger.error("not stopped %g s after being told to: ending as things are", STOP_LIMIT)
    logging.shutdown()
    os._exit(1)


async def together(main: Awaitable[object], beside: Awaitable[object] | None) -> None:
    """Run `main` with `beside` until `main` ends; `beside` ends first only by breaking, and that is passed on."""
    tasks = [asyncio.ensure_future(one) for one in (main, beside) if one is not None]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()
