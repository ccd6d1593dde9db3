"""Watching over the process itself: what blocks it, and what it holds when somebody asks (SIGUSR2)."""

import asyncio
import faulthandler
import io
import logging
import sys
from typing import IO, Final

from moorage.cluster import find_faults
from moorage.live.scheduler import Scheduler

logger = logging.getLogger(__name__)

BLOCKED_AFTER: Final = 10.0
"""Seconds without a turn of the loop after which the stacks of all threads are printed."""
_BEAT: Final = 1.0


async def report_blocks() -> None:
    """Print where the process hangs, should a plugin block it, until cancelled. While it hangs, /livez is silent."""
    try:
        while True:
            if _is_file(sys.stderr):
                faulthandler.dump_traceback_later(BLOCKED_AFTER)
            await asyncio.sleep(_BEAT)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _is_file(stream: IO[str]) -> bool:
    """Whether there is a file descriptor behind it, which is all that can be written to while Python hangs."""
    try:
        return stream.fileno() >= 0
    except (io.UnsupportedOperation, ValueError):
        return False


def log_state(scheduler: Scheduler) -> None:
    """Log what is held, where pods wait, and where that differs from what the informers have."""
    sizes = ", ".join(f"{count} {kind}" for kind, count in scheduler.cluster.sizes.items())
    pending = ", ".join(f"{count} {place}" for place, count in scheduler.queue.pending().items())
    logger.info("cache: %s; queue: %s; %d bindings under way", sizes, pending, len(scheduler.bindings))
    for place, queued in scheduler.queue.pods():
        plugins = ", ".join(sorted(queued.rejecting_plugins)) or "nobody"
        logger.info("queue %s: %s, %d attempts, rejected by %s", place, queued.key, queued.attempts, plugins)
    faults = find_faults(scheduler.cluster, scheduler.informers.nodes, scheduler.informers.pods)
    for fault in faults:
        logger.error("the cache is wrong: %s", fault)
    if not faults:
        logger.info("the cache agrees with the informers")
