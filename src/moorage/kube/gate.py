"""Who may send next: a limit on requests under way, a token bucket, and an order of precedence."""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from types import TracebackType


class Lane(IntEnum):
    """What a write is for; the lower goes first."""

    BIND = 0
    DELETE = 1
    STATUS = 2
    EVENT = 3


class TokenBucket:
    """`burst` tokens at most, refilled at `qps` a second. With `qps` of 0 or less there is always one."""

    def __init__(self, qps: float, burst: int, *, clock: Callable[[], float]) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._tokens = float(self._burst)
        self._filled_at = clock()

    def take(self) -> float:
        """Take a token and return 0, or take none and return the seconds until there is one."""
        if self._qps <= 0:
            return 0.0
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now
        # A timer set for the moment of the next token must find it, whatever the sum of fractions has lost.
        if self._tokens >= 1.0 - 1e-6:
            self._tokens -= 1.0
            return 0.0
        return (1.0 - self._tokens) / self._qps


class Gate:
    """Lets requests through one by one, the most urgent first, first come first served within a lane."""

    def __init__(self, bucket: TokenBucket, *, concurrency: int) -> None:
        self._bucket = bucket
        self._free = concurrency
        self._waiting: tuple[deque[asyncio.Future[None]], ...] = tuple(deque() for _ in Lane)
        #: How many stand in all queues, those that gave up included.
        self._stand_waiting = 0
        self._refill: asyncio.TimerHandle | None = None

    def waiting(self, lane: Lane) -> int:
        """How many requests of a lane stand before the gate."""
        return sum(not waiter.done() for waiter in self._waiting[lane])

    def through(self, lane: Lane) -> "_Passage":
        """`async with gate.through(lane):` waits for a turn, and gives it back at the end."""
        return _Passage(self, lane)

    def slip_in(self) -> bool:
        """Enter where nobody has to wait: most requests do, and need not be a coroutine for it."""
        if self._free > 0 and not self._stand_waiting and self._bucket.take() == 0.0:
            self._free -= 1
            return True
        return False

    async def enter(self, lane: Lane) -> None:
        """Wait for a turn; `leave` gives it back."""
        if self.slip_in():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(waiter)
        self._stand_waiting += 1
        self._admit()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the turn to whoever is next."""
        self._free += 1
        if self._stand_waiting:
            self._admit()

    def _admit(self) -> None:
        """Let in whom there is room and a token for; come back when the next token is due."""
        while self._free > 0 and (queue := self._first_queue()) is not None:
            wait = self._bucket.take()
            if wait > 0.0:
                if self._refill is None:
                    self._refill = asyncio.get_running_loop().call_later(wait, self._refilled)
                return
            self._free -= 1
            self._stand_waiting -= 1
            queue.popleft().set_result(None)

    def _first_queue(self) -> deque[asyncio.Future[None]] | None:
        """The queue whose head is next; those who gave up waiting are forgotten on the way."""
        for queue in self._waiting:
            while queue and queue[0].done():
                queue.popleft()
                self._stand_waiting -= 1
            if queue:
                return queue
        return None

    def _refilled(self) -> None:
        self._refill = None
        self._admit()


class _Passage:
    __slots__ = ("_gate", "_lane")

    def __init__(self, gate: Gate, lane: Lane) -> None:
        self._gate = gate
        self._lane = lane

    async def __aenter__(self) -> None:
        await self._gate.enter(self._lane)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gate.leave()
