"""What runs beside tests that wait: nodes, controllers, schedulers in a thread with a loop of its own."""

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Self

START_SECONDS: Final = 60


class Workshop(ABC):
    """All of it from the beginning of the block to its end, since tests wait for kubectl."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="workshop")

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(START_SECONDS) or self._failure is not None:
            self._end()
            raise RuntimeError("the workshop did not start") from self._failure
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        if self._failure is not None:
            raise RuntimeError("the workshop ended by itself") from self._failure

    def _end(self) -> None:
        # Where it has ended by itself there is nobody left to stop.
        with contextlib.suppress(RuntimeError):
            self._stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._begin())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _begin(self) -> None:
        loop, stopping = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stopping.set)
        await self.work(self._ready.set, stopping)

    @abstractmethod
    async def work(self, ready: Callable[[], None], stopping: asyncio.Event) -> None:
        """Begin everything, say that it is ready, and end it once `stopping` is set."""
