"""Threads for what plugins want to wait for outside the event loop. They never keep the process from ending."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

MOST_THREADS: Final = 16
"""More calls than these wait for each other: they are there to wait, not to compute."""


class _Call:
    """A call under way; its answer goes back to the loop that asked."""

    __slots__ = ("_call", "_loop", "future")

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop
        self.future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def run(self) -> None:
        """In the thread. Whatever is raised is an answer, too."""
        try:
            answer: tuple[Any, BaseException | None] = self._call(), None
        except BaseException as problem:
            answer = None, problem
        # Where the loop has been closed nobody waits any more.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._give, answer)

    def _give(self, answer: tuple[Any, BaseException | None]) -> None:
        if not self.future.done():
            self.future.set_result(answer)


class Workers:
    """Daemon threads, made as they are needed."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._threads = 0
        self._under_way = 0

    async def run(self, call: Callable[[], Any]) -> Any:
        """What the call answers or raises. Cancelled, this lets go of it; the thread goes on to its end."""
        made = _Call(call, asyncio.get_running_loop())
        self._under_way += 1
        if self._under_way > self._threads and self._threads < MOST_THREADS:
            self._threads += 1
            threading.Thread(target=self._work, name=f"worker-{self._threads}", daemon=True).start()
        self._calls.put(made)
        try:
            answer, problem = await made.future
        finally:
            self._under_way -= 1
        if problem is not None:
            raise problem
        return answer

    def _work(self) -> None:
        while True:
            self._calls.get().run()
