"""Leadership by Lease: of several processes with one lease name, at most one acts.

    waiting ──claim──> leading ──work ends or is cancelled──> released
                          └────── not renewed in time ──────> LeadershipLost

Why two leaders never act at once, as long as clocks run at the same speed:
- a leader counts its time from *before* it sent the renewal that succeeded, and stops `renew_deadline` after that;
- a candidate counts from when it *saw* the lease change, and takes over `lease_duration` after that, which is longer;
- only differences of a local clock that never goes back are compared, so the hosts' wall clocks do not matter;
- `is_leader` reads that clock at the moment of the question: a process that was frozen past its lease and thawed is
  no longer leader before it has run one line of work. Ask it before each act.
"""

import asyncio
import logging
import random
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import msgspec

from moorage.errors import ApiError, InputError
from moorage.kube.errors import BadAnswer, Conflict, NotFound
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.values.time import format_micro_time

logger = logging.getLogger(__name__)

_LEASES = resource_of("Lease")
_MOST_TRANSITIONS = 2**31 - 1
"""What the API server takes for leaseTransitions, an int32; the change of leader after that one is counted as 0."""

_RELEASING = 1.5
"""Seconds that giving the lease back may take: it runs out anyway, and a process that stops has not long."""

_TRIES = 2
"""How many renewals must fit into the time a leader has: one that hangs (its connection carries nothing any more)
leaves time for another on a new connection."""

_JITTER = 1.2
"""Candidates wait up to this much longer than the retry period, so that they do not ask in step."""

# Where there is one, a clock that also counts the time a machine was suspended.
_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady_clock() -> float:
    """Seconds that only ever grow, and grow while the process is stopped."""
    return time.clock_gettime(_CLOCK_ID)


def default_identity() -> str:
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeadershipLost(ApiError):
    """The lease could not be renewed in time, or somebody else holds it. Stop acting."""


@dataclass(frozen=True)
class ElectionSettings:
    """Which lease, as whom, and with what patience (seconds)."""

    name: str = "kube-scheduler"
    namespace: str = "kube-system"
    identity: str = field(default_factory=default_identity)
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline:
            raise InputError(
                f"{self.lease_duration:g} s must be longer than renewDeadline ({self.renew_deadline:g} s)",
                where="leaderElection.leaseDuration",
            )
        if not self.renew_deadline > self.retry_period * _JITTER:
            raise InputError(
                f"{self.renew_deadline:g} s must be longer than {_JITTER} times retryPeriod ({self.retry_period:g} s)",
                where="leaderElection.renewDeadline",
            )
        if self.retry_period <= 0 or self.lease_duration < 1:
            raise InputError("leaseDuration must be at least 1 s and retryPeriod more than 0", where="leaderElection")


class LeaderElector:
    """One candidate. Give it a `Client` of its own: a renewal must not queue behind the work it protects."""

    def __init__(
        self,
        client: Client,
        settings: ElectionSettings,
        *,
        clock: Callable[[], float] = steady_clock,
        on_new_leader: Callable[[str], None] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.settings = settings
        self.holder = ""
        """Who holds the lease, as far as we have seen."""
        self._client = client
        self._clock = clock
        self._on_new_leader = on_new_leader
        self._rng = rng or random.Random()
        self._valid_until = float("-inf")
        self._lease: dict[str, Any] | None = None
        self._seen_spec: dict[str, Any] = {}
        self._seen_at = clock()

    def is_leader(self) -> bool:
        """Whether we may act, right now."""
        return self._clock() < self._valid_until

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then do `work` while it is held, and give it back.

        `work` is cancelled, and LeadershipLost raised, when the lease cannot be renewed in time. When this coroutine is
        cancelled, the lease is kept until `work` has wound up, and then released.
        """
        await self._acquire()
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._keep_renewing())
                await work()
                renewing.cancel()
        except BaseExceptionGroup as failures:
            if len(failures.exceptions) == 1:
                raise failures.exceptions[0] from None
            raise
        finally:
            await self._release()

    async def _acquire(self) -> None:
        logger.info("waiting for lease %s/%s", self.settings.namespace, self.settings.name)
        while True:
            try:
                async with asyncio.timeout(self.settings.renew_deadline):
                    if await self._claim():
                        logger.info("leading as %s", self.settings.identity)
                        return
            except (ApiError, TimeoutError) as error:
                logger.warning("cannot claim the lease: %s", str(error) or "no answer in time")
            await asyncio.sleep(self.settings.retry_period * (1 + self._rng.uniform(0, _JITTER)))

    async def _keep_renewing(self) -> None:
        """Renew every retry period; end with LeadershipLost when none has succeeded by the deadline."""
        problem = "this process did not run for too long"
        pause = self.settings.retry_period
        while True:
            left = self._valid_until - self._clock()
            # Never less than a moment: two clocks may differ about the last nanosecond.
            await asyncio.sleep(max(min(pause, left), 0.01))
            remaining = self._valid_until - self._clock()
            if remaining <= 0:
                raise LeadershipLost(f"the lease was not renewed in time: {problem}")
            pause = self.settings.retry_period
            try:
                async with asyncio.timeout(min(remaining, self.settings.renew_deadline / _TRIES)):
                    if not await self._claim() and self.holder != self.settings.identity:
                        raise LeadershipLost(f"the lease is held by {self.holder}")
            except LeadershipLost:
                self._valid_until = float("-inf")
                raise
            except ApiError as error:
                problem = str(error)
                logger.warning("cannot renew the lease: %s", problem)
            except TimeoutError:
                problem, pause = "no answer from the server", 0.0
                logger.warning("cannot renew the lease: %s", problem)

    async def _claim(self) -> bool:
        """Take the lease or renew it. False when somebody else holds it or was faster."""
        started = self._clock()
        lease = self._lease
        if lease is not None:
            # The usual renewal: nobody touched the lease since our last one.
            try:
                return await self._write(lease, started)
            except (Conflict, NotFound):
                self._lease = None
        try:
            lease = _decode(await self._client.get(self._path(self.settings.name)))
        except NotFound:
            return await self._create(started)
        self._observe(lease)
        if self.holder not in ("", self.settings.identity) and not self._expired():
            return False
        try:
            return await self._write(lease, started)
        except Conflict:
            return False

    async def _create(self, started: float) -> bool:
        lease = {
            "apiVersion": _LEASES.api_version,
            "kind": _LEASES.kind,
            "metadata": {"name": self.settings.name, "namespace": self.settings.namespace},
            "spec": self._spec(acquired=format_micro_time(time.time()), transitions=0),
        }
        try:
            answer = await self._client.post(self._path(), msgspec.json.encode(lease))
        except Conflict:
            return False
        self._won(_decode(answer), started)
        return True

    async def _write(self, lease: dict[str, Any], started: float) -> bool:
        """Put our name and the time on the lease, if it is still the one we read. What else is on it stays."""
        old = _spec_of(lease)
        transitions = old.get("leaseTransitions") or 0
        if old.get("holderIdentity") == self.settings.identity:
            acquired = old.get("acquireTime") or format_micro_time(time.time())
        else:
            acquired = format_micro_time(time.time())
            transitions = transitions + 1 if transitions < _MOST_TRANSITIONS else 0
        new = {**lease, "spec": {**old, **self._spec(acquired=acquired, transitions=transitions)}}
        answer = await self._client.put(self._path(self.settings.name), msgspec.json.encode(new))
        self._won(_decode(answer), started)
        return True

    def _won(self, lease: dict[str, Any], started: float) -> None:
        self._lease = lease
        self._observe(lease)
        self._valid_until = started + self.settings.renew_deadline

    async def _release(self) -> None:
        """Let the next one start at once. Only what is surely ours is released."""
        remaining, self._valid_until = self._valid_until - self._clock(), float("-inf")
        lease, self._lease = self._lease, None
        if lease is None or remaining <= 0:
            return
        old = _spec_of(lease)
        now = format_micro_time(time.time())
        spec = {**old, "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now, "acquireTime": now}
        try:
            async with asyncio.timeout(min(remaining, _RELEASING)):
                await self._client.put(self._path(self.settings.name), msgspec.json.encode({**lease, "spec": spec}))
            logger.info("lease %s/%s released", self.settings.namespace, self.settings.name)
        except (ApiError, TimeoutError) as error:
            logger.warning("the lease could not be released and will expire: %s", str(error) or "no answer in time")

    def _spec(self, *, acquired: str, transitions: int) -> dict[str, Any]:
        return {
            "holderIdentity": self.settings.identity,
            "leaseDurationSeconds": ceil(self.settings.lease_duration),
            "acquireTime": acquired,
            "renewTime": format_micro_time(time.time()),
            "leaseTransitions": transitions,
        }

    def _observe(self, lease: dict[str, Any]) -> None:
        """Note a change of the lease by our own clock: the times written in it are other hosts'."""
        spec = _spec_of(lease)
        if spec == self._seen_spec:
            return
        self._seen_spec, self._seen_at = spec, self._clock()
        holder = spec.get("holderIdentity") or ""
        if holder != self.holder:
            self.holder = holder
            if holder and self._on_new_leader is not None:
                self._on_new_leader(holder)

    def _expired(self) -> bool:
        duration = self._seen_spec.get("leaseDurationSeconds") or self.settings.lease_duration
        return self._clock() >= self._seen_at + duration

    def _path(self, name: str = "") -> str:
        return _LEASES.path(self.settings.namespace, name)


def _decode(answer: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadAnswer(f"a lease that is none: {error}") from error


def _spec_of(lease: dict[str, Any]) -> dict[str, Any]:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}
