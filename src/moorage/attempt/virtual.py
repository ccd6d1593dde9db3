"""Coroutines run over virtual time: a trampoline, one thread, no asyncio. The same calls give the same run.

Time stands still while there is anything to do, and then jumps to the next timer.
"""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Generator
from itertools import count
from typing import Any, Generic, TypeVar

from moorage.attempt.world import Promise, SelfCancelled
from moorage.errors import MoorageError

Value = TypeVar("Value")

_NOT_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit)


class Cancelled(BaseException):
    """A job is cancelled: raised at what it awaits."""


class ForeignAwait(MoorageError):
    """Something was awaited that only a running process can give: asyncio, an HTTP call."""

    def __init__(self) -> None:
        super().__init__("awaits something that only a live process can run, such as asyncio or an HTTP call")


class VirtualPromise(Generic[Value]):
    """A value that somebody gives, and that coroutines of one VirtualTime wait for."""

    __slots__ = ("_is_done", "_jobs", "_value")

    def __init__(self) -> None:
        self._is_done = False
        self._value: Any = None
        self._jobs: list[VirtualJob] = []

    def done(self) -> bool:
        """Whether it was given."""
        return self._is_done

    def set_result(self, value: Value, /) -> None:
        """Give it: who waits goes on, in the order in which they came."""
        assert not self._is_done, "a promise is kept once"
        self._is_done, self._value = True, value
        for job in self._jobs:
            job.wake()
        self._jobs.clear()

    def result(self) -> Value:
        """What was given."""
        assert self._is_done, "it was not given yet"
        value: Value = self._value
        return value

    def __await__(self) -> Generator["VirtualPromise[Value]", None, Value]:
        if not self._is_done:
            yield self
        return self.result()

    def admit(self, job: "VirtualJob") -> None:
        """The job waits for this."""
        self._jobs.append(job)

    def dismiss(self, job: "VirtualJob") -> None:
        """The job waits no longer."""
        self._jobs.remove(job)


class VirtualJob:
    """A coroutine that is driven, step by step."""

    __slots__ = ("_began", "_coroutine", "_time", "_told", "_waits_for", "ended", "is_cancelled")

    def __init__(self, time: "VirtualTime", coroutine: Coroutine[Any, Any, None]) -> None:
        self._time = time
        self._coroutine = coroutine
        self._began = False
        self._told = False
        self._waits_for: VirtualPromise[Any] | None = None
        self.is_cancelled = False
        #: Kept when the coroutine has ended, however.
        self.ended: VirtualPromise[None] = VirtualPromise()

    def cancel(self) -> None:
        """End it: what it awaits raises Cancelled. It begins before it is told."""
        if self.ended.done() or self.is_cancelled:
            return
        self.is_cancelled = True
        if self._waits_for is not None:
            self._waits_for.dismiss(self)
            self.wake()

    def wake(self) -> None:
        """It can go on."""
        self._waits_for = None
        self._time.make_ready(self)

    def step(self) -> None:
        """Drive it to its next wait. What it raises, raises here."""
        problem: BaseException | None = None
        while True:
            if self._began and self.is_cancelled and not self._told:
                self._told = True
                problem = Cancelled()
            self._began = True
            try:
                waits_for = self._coroutine.throw(problem) if problem is not None else self._coroutine.send(None)
            except (StopIteration, Cancelled):
                self.ended.set_result(None)
                return
            except BaseException:
                self.ended.set_result(None)
                raise
            problem = None
            if not isinstance(waits_for, VirtualPromise):
                problem = ForeignAwait()
            elif not waits_for.done() and not (self.is_cancelled and not self._told):
                self._waits_for = waits_for
                waits_for.admit(self)
                return


class VirtualTimer:
    """A call to come."""

    __slots__ = ("_call", "at")

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self._call: Callable[[], None] | None = call

    @property
    def is_due(self) -> bool:
        """Whether it is still to come."""
        return self._call is not None

    def cancel(self) -> None:
        """It will not come."""
        self._call = None

    def fire(self) -> None:
        """Call, unless cancelled."""
        call, self._call = self._call, None
        if call is not None:
            call()


class VirtualTime:
    """A clock, its timers, and the jobs that run between them."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._ready: deque[VirtualJob] = deque()
        self._timers: list[tuple[float, int, VirtualTimer]] = []
        self._numbers = count()
        self._current: VirtualJob | None = None

    # What coroutines ask for.

    def spawn(self, work: Coroutine[Any, Any, None]) -> VirtualJob:
        """Have a coroutine driven from the next `run` on."""
        job = VirtualJob(self, work)
        self._ready.append(job)
        return job

    def call_later(self, seconds: float, call: Callable[[], None]) -> VirtualTimer:
        """Have something called when so much time has passed."""
        timer = VirtualTimer(self.now + max(0.0, seconds), call)
        heapq.heappush(self._timers, (timer.at, next(self._numbers), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        passed: VirtualPromise[None] = VirtualPromise()
        timer = self.call_later(seconds, lambda: passed.set_result(None))
        try:
            await passed
        finally:
            timer.cancel()

    async def ended(self, jobs: Collection[VirtualJob], at_most: float | None = None) -> bool:
        """Wait until all jobs have ended, or for so many seconds. Whether they have."""
        late: VirtualPromise[None] = VirtualPromise()
        timer = None if at_most is None else self.call_later(at_most, lambda: late.set_result(None))
        try:
            for job in jobs:
                if not await self._first_of(job.ended, late):
                    return False
        finally:
            if timer is not None:
                timer.cancel()
        return True

    async def run_plugin(self, awaitable: Any) -> Any:
        """Await what a plugin gave. A cancellation that is not ours is the plugin's own failure."""
        job = self._current
        try:
            return await awaitable
        except Cancelled as problem:
            if job is not None and job.is_cancelled:
                raise
            raise SelfCancelled("cancelled what it awaited itself") from problem
        except _NOT_OURS:
            raise
        except Exception:
            raise
        except BaseException as problem:
            raise SelfCancelled(f"cancelled what it awaited itself ({type(problem).__name__})") from problem

    async def _first_of(self, wanted: VirtualPromise[Any], late: VirtualPromise[Any]) -> bool:
        either: VirtualPromise[None] = VirtualPromise()

        async def watch(promise: VirtualPromise[Any]) -> None:
            await promise
            if not either.done():
                either.set_result(None)

        watchers = [self.spawn(watch(promise)) for promise in (wanted, late)]
        try:
            await either
        finally:
            for watcher in watchers:
                watcher.cancel()
        return wanted.done()

    # What who drives them asks for.

    def make_ready(self, job: VirtualJob) -> None:
        """The job can go on."""
        self._ready.append(job)

    @property
    def next_timer(self) -> float | None:
        """When the next timer is due; None if none is set."""
        while self._timers and not self._timers[0][2].is_due:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def run(self) -> None:
        """Drive every job as far as it gets at this moment. What a job raises, raises here."""
        while self._ready:
            self._current = self._ready.popleft()
            try:
                self._current.step()
            finally:
                self._current = None

    def advance(self, seconds: float) -> None:
        """Let so much time pass, timer by timer."""
        end = self.now + seconds
        self.run()
        while (due := self.next_timer) is not None and due <= end:
            timer = heapq.heappop(self._timers)[2]
            self.now = max(self.now, timer.at)
            timer.fire()
            self.run()
        self.now = end

    def finish(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Drive this coroutine to its end, letting time pass as it needs; its answer."""
        answers: list[Value] = []

        async def collect() -> None:
            answers.append(await work)

        job = self.spawn(collect())
        self.run()
        while not job.ended.done():
            due = self.next_timer
            if due is None:
                raise RuntimeError("this waits for something that never comes")
            self.advance(due - self.now)
        if not answers:
            raise Cancelled
        return answers[0]


def promise_of(promise: Promise[Value]) -> VirtualPromise[Value]:
    """A promise this trampoline can wait for."""
    if not isinstance(promise, VirtualPromise):
        raise TypeError(f"{promise!r} is not a promise of virtual time")
    return promise
