"""What plugins have running beside scheduling: begun, watched, and ended with the process."""

import logging
from collections.abc import Collection, Coroutine, Iterable
from itertools import count
from typing import Any, Final

from moorage.attempt.world import Beside, Job
from moorage.errors import ApiError
from moorage.framework.answers import broken, wrong_await
from moorage.framework.faults import Faults
from moorage.framework.points import Starting, Stopping

logger = logging.getLogger(__name__)

LONGEST_STOP: Final = 1.5
"""Seconds that all `stop` together may take."""

_POINT: Final = "background"


class Background:
    """The coroutines of plugins that belong to no attempt. One that breaks is told, and stays in `dead`."""

    def __init__(self, *, world: Beside, faults: Faults) -> None:
        self._world = world
        self._faults = faults
        self._jobs: list[Job] = []
        self._started: list[tuple[str, Any]] = []
        #: What has broken -> how: what health shows.
        self.dead: dict[str, str] = {}

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have it run for as long as the process goes on."""
        _check(work)
        self._begin(work, getattr(work, "__qualname__", repr(work)))

    def later(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have it done, once. A refusal of the API server is no fault."""
        _check(work)
        self._world.spawn(self._once(work))

    def start(self, plugins: Iterable[tuple[str, Any]]) -> None:
        """Call `start` of those that have one, each by itself."""
        for name, plugin in plugins:
            self._started.append((name, plugin))
            if isinstance(plugin, Starting):
                self._begin(self._call(plugin.start), f"{name}.start")

    async def stop(self) -> None:
        """Cancel what runs, and call `stop` of the plugins that were started. Ends in time whatever they do."""
        for job in self._jobs:
            job.cancel()
        self._jobs.clear()
        stopping = [
            self._world.spawn(self._watched(self._call(plugin.stop), f"{name}.stop"))
            for name, plugin in reversed(self._started)
            if isinstance(plugin, Stopping)
        ]
        self._started.clear()
        if not await self._world.ended(stopping, at_most=LONGEST_STOP):
            logger.warning("plugins were not stopped within %g s", LONGEST_STOP)
            for job in stopping:
                job.cancel()

    def _begin(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        self._jobs.append(self._world.spawn(self._watched(work, name)))

    async def _call(self, method: Any) -> None:
        answer = method()
        if not hasattr(answer, "__await__"):
            raise wrong_await(method)
        await answer

    async def _watched(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        try:
            await self._world.run(work)
        except self._world.cancellation:
            raise
        except BaseException as problem:
            error = broken(name, _POINT, problem)
            self.dead[_free(name, self.dead)] = str(error)
            self._faults.see(error, "it has ended, and is not begun again")

    async def _once(self, work: Coroutine[Any, Any, Any]) -> None:
        name = getattr(work, "__qualname__", repr(work))
        try:
            await self._world.run(work)
        except self._world.cancellation:
            raise
        except ApiError as refusal:
            logger.warning("what a plugin wanted done later was refused: %s", refusal)
        except BaseException as problem:
            self._faults.see(broken(name, _POINT, problem), "what a plugin wanted done later was not done")


def _check(work: Any) -> None:
    """Raises TypeError at the line of whoever gives what cannot be awaited: a method, say, that was not called."""
    if not hasattr(work, "__await__"):
        raise TypeError(f"{work!r} cannot be awaited: expected a coroutine, such as self.work()")


def _free(name: str, taken: Collection[str]) -> str:
    """The name, with a number behind it where it is taken: of several profiles each has its own instance."""
    names = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(one for one in names if one not in taken)
