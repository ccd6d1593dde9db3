"""Work beside what goes on, in tasks of asyncio: what `attempt.world.Beside` promises."""

import asyncio
import logging
from collections.abc import Collection, Coroutine
from typing import Any

from moorage.attempt.world import Job, SelfCancelled

logger = logging.getLogger(__name__)


class TaskJob:
    """A coroutine in a task of its own. It begins before it is told that it is cancelled."""

    __slots__ = ("_began", "_is_cancelled", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
        self._began = False
        self._is_cancelled = False
        self.task = loop.create_task(self._run(work))

    def cancel(self) -> None:
        """End it: what it awaits raises CancelledError."""
        if self._is_cancelled:
            return
        self._is_cancelled = True
        if self._began:
            self.task.cancel()

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._began = True
        if self._is_cancelled:
            self.task.cancel()
        try:
            await work
        except Exception:
            logger.exception("work beside the event loop broke")


class Tasks:
    """Begins work and awaits what plugins give, on the loop that runs."""

    @property
    def cancellation(self) -> type[BaseException]:
        """What a cancelled job is told by."""
        return asyncio.CancelledError

    def spawn(self, work: Coroutine[Any, Any, None]) -> TaskJob:
        """Begin work beside this."""
        return TaskJob(asyncio.get_running_loop(), work)

    async def ended(self, jobs: Collection[Job], *, at_most: float | None = None) -> bool:
        """Wait until all of them have ended, or for so many seconds."""
        tasks = [job.task for job in jobs if isinstance(job, TaskJob)]
        if not tasks:
            return True
        _, late = await asyncio.wait(tasks, timeout=at_most)
        return not late

    async def run(self, awaitable: Any) -> Any:
        """Await what a plugin gave. Only this task's own cancellation is ours."""
        try:
            return await awaitable
        except asyncio.CancelledError as problem:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise SelfCancelled("cancelled what it awaited itself") from problem
