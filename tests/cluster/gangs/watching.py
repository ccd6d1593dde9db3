"""Which members of which gang are bound, event by event."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import msgspec

from moorage.kube.paths import resource_of
from moorage.kube.transport import Client

PODS = resource_of("Pod")
NAMESPACE = "default"
GANG = "gang"
"""The label by which this program knows the members of a gang, whatever the scheduler goes by."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""
    resource_version: str = ""


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Event(msgspec.Struct):
    type: str
    object: _Pod


@dataclass
class Gang:
    """One gang as the watch tells of it. It is watched until it is whole for the first time, or ended on purpose."""

    needed: int
    bound: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    first_bound: float = 0.0
    whole_at: float = 0.0
    is_ended: bool = False
    #: Since when a part of it is alone, and for how long one has been, at most.
    alone_since: float = 0.0
    alone: float = 0.0

    @property
    def is_partial(self) -> bool:
        return 0 < len(self.bound) < self.needed

    def look(self, now: float) -> None:
        """Take note of what has changed."""
        if self.bound and not self.first_bound:
            self.first_bound = now
        if len(self.bound) >= self.needed and not self.whole_at:
            self.whole_at = now
        if self.is_partial and not self.is_ended:
            self.alone_since = self.alone_since or now
        elif self.alone_since:
            self.alone, self.alone_since = max(self.alone, now - self.alone_since), 0.0


class Watcher:
    """Every gang, and every pod that is in none."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._decode = msgspec.json.Decoder(_Event).decode
        self._news = asyncio.Event()
        self._version = ""
        self._following: asyncio.Task[None] | None = None
        self.gangs: dict[str, Gang] = {}
        #: When a pod was first seen bound, and what its scheduler says of one that is not.
        self.bound_at: dict[str, float] = {}
        self.refusals: dict[str, str] = {}

    def expect(self, name: str, needed: int) -> Gang:
        """A gang that is about to be made."""
        gang = self.gangs[name] = Gang(needed)
        return gang

    def begin(self) -> asyncio.Task[None]:
        """Watch until the task is cancelled."""
        self._following = asyncio.create_task(self._follow())
        return self._following

    async def _follow(self) -> None:
        listed = json.loads(await self._client.get(PODS.path(NAMESPACE), {"limit": "1"}))
        self._version = listed["metadata"]["resourceVersion"]
        while True:
            # An API server ends the streams of those who are slow: they go on where they were.
            await self._stream()

    async def _stream(self) -> None:
        query = {"watch": "true", "resourceVersion": self._version}
        rest = b""
        async with self._client.stream(PODS.path(NAMESPACE), query, inactivity=600) as chunks:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                now = time.monotonic()
                for line in lines:
                    event = self._decode(line)
                    assert event.type != "ERROR", line
                    self._version = event.object.metadata.resource_version
                    self._seen(event, now)
                self._news.set()

    def _seen(self, event: _Event, now: float) -> None:
        pod, name = event.object, event.object.metadata.name
        is_there = event.type != "DELETED" and not pod.metadata.deletion_timestamp
        is_bound = is_there and bool(pod.spec.node_name)
        if is_bound:
            self.bound_at.setdefault(name, now)
            self.refusals.pop(name, None)
        for condition in pod.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False":
                self.refusals[name] = condition.message
        gang = self.gangs.get(pod.metadata.labels.get(GANG, ""))
        if gang is not None:
            (gang.members.add if is_there else gang.members.discard)(name)
            (gang.bound.add if is_bound else gang.bound.discard)(name)
            gang.look(now)

    async def until(self, holds: Callable[[], bool], patience: float) -> float | None:
        """Wait until something holds; the seconds that took, or None where it never did."""
        started = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not holds():
                    if self._following is not None and self._following.done():
                        self._following.result()
                    self._news.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._news.wait(), 0.25)
                return time.monotonic() - started
        return None

    def longest_alone(self) -> float:
        """How long a part of any gang was alone, counting those that still are."""
        now = time.monotonic()
        return max(
            (max(gang.alone, now - gang.alone_since if gang.alone_since else 0) for gang in self.gangs.values()),
            default=0.0,
        )

    def alone_now(self) -> int:
        """Members that are bound while their gang is not whole."""
        return sum(len(gang.bound) for gang in self.gangs.values() if gang.is_partial and not gang.is_ended)


@contextlib.asynccontextmanager
async def watching(client: Client) -> AsyncIterator[Watcher]:
    """Watch until the block ends."""
    watcher = Watcher(client)
    task = watcher.begin()
    try:
        await asyncio.sleep(0.3)
        yield watcher
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
