"""Watching over the process itself: what holds up its event loop, and what it has in hand when asked (SIGUSR2)."""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from types import FrameType
from typing import Any, Final

from moorage.cluster import find_faults
from moorage.columns import PodInfo
from moorage.live.scheduler import LiveScheduler

logger = logging.getLogger(__name__)

BLOCKED_AFTER: Final = 5.0
"""Seconds without a turn of the loop after which it is told what holds it: well before a lease runs out."""
_BEAT: Final = 0.5


@dataclass(frozen=True)
class Holder:
    """What a thread is doing: the plugin whose method it is in, the pod it is about, and the line."""

    plugin: str
    method: str
    pod: str
    place: str

    def __str__(self) -> str:
        about = f" for pod {self.pod}" if self.pod else ""
        if not self.plugin:
            return f"no plugin, but {self.method}{about} at {self.place}"
        return f'plugin "{self.plugin}" in {self.method}{about} at {self.place}'


class Watchdog:
    """Looks from a thread of its own, which takes its turn like any other, so it never reads memory that runs.

    `plugins` are the instances with their names; `count` is told of each block: the name of the plugin, "" for none.
    What never lets go of the interpreter (a C function that holds its lock) is told only when it is over.
    """

    def __init__(
        self, plugins: Iterable[tuple[str, Any]], *, count: Callable[[str], None], patience: float = BLOCKED_AFTER
    ) -> None:
        self._names = {id(plugin): name for name, plugin in plugins}
        self._count = count
        self._patience = patience
        self._turned = monotonic()
        self._done = threading.Event()

    async def run(self) -> None:
        """Watch over the loop this runs on, until cancelled."""
        beat = min(_BEAT, self._patience / 4)
        self._done.clear()
        self._turned = monotonic()
        watcher = threading.Thread(target=self._watch, args=(threading.get_ident(), beat), name="watchdog", daemon=True)
        watcher.start()
        try:
            while True:
                self._turned = monotonic()
                await asyncio.sleep(beat)
        finally:
            self._done.set()

    def _watch(self, thread: int, beat: float) -> None:
        blocked_since: float | None = None
        looked = monotonic()
        while not self._done.wait(beat):
            previous, looked = looked, monotonic()
            turned = self._turned
            if blocked_since is not None:
                if turned > blocked_since:
                    logger.warning("the event loop turns again, after %.1f s", turned - blocked_since)
                    blocked_since = None
            elif looked - previous > self._patience:
                # This thread had no turn either: the process was stopped, or something held the interpreter itself.
                logger.warning("the process did not run for %.1f s", looked - previous)
                self._turned = looked
            elif looked - turned > self._patience:
                blocked_since = turned
                self._tell(thread, looked - turned)

    def _tell(self, thread: int, seconds: float) -> None:
        frame = sys._current_frames().get(thread)
        if frame is None:
            return
        holder = find_holder(frame, self._names)
        self._count(holder.plugin)
        logger.error(
            "the event loop has not turned for %.1f s, and nothing else can happen meanwhile: it is held by %s\n%s",
            seconds,
            holder,
            "".join(traceback.format_stack(frame)).rstrip(),
        )


def find_holder(frame: FrameType, names: dict[int, str]) -> Holder:
    """Who holds the thread that has come to `frame`; `names` are those of plugins, by the id of the instance."""
    plugin = method = pod = ""
    place = _place(frame)
    for one in _callers(frame):
        local = one.f_locals
        if not plugin and (name := names.get(id(_method_of(one, local)))) is not None:
            plugin, method, place = name, one.f_code.co_name, _place(one)
        if not pod:
            pod = next((value.key for value in local.values() if isinstance(value, PodInfo)), "")
    return Holder(plugin, method or frame.f_code.co_name, pod, place)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _method_of(frame: FrameType, local: dict[str, Any]) -> Any:
    """What the frame's function is a method of, None where it is none."""
    code = frame.f_code
    owner = local.get(code.co_varnames[0]) if code.co_argcount else None
    return owner if hasattr(type(owner), code.co_name) else None


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def log_state(scheduler: LiveScheduler) -> None:
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
