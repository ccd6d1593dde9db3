"""The life of the process: follow the cluster, lead or wait for the lease, serve, stop."""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine
from functools import partial
from random import SystemRandom
from typing import Any

from moorage import __version__
from moorage.kube import process
from moorage.kube.election import LeaderElector
from moorage.kube.process import together
from moorage.kube.reviews import Reviewer
from moorage.kube.transport import Client
from moorage.live.endpoint import Endpoint
from moorage.live.health import Health
from moorage.live.measuring import add_gauges
from moorage.live.options import Options
from moorage.live.scheduler import LiveScheduler
from moorage.live.watchdog import Watchdog, log_state
from moorage.observe.exposition import Exposition

logger = logging.getLogger(__name__)

USER_AGENT = f"moorage-scheduler/{__version__}"


def run(options: Options) -> int:
    """Run until told to stop (0) or until leadership is lost (1). Returns the exit status."""
    return process.run(partial(run_until, options))


async def run_until(options: Options, stopping: asyncio.Event) -> None:
    """Run the scheduler until `stopping` is set. Raises LeadershipLost when somebody else may be leading."""
    for warning in options.config.warnings:
        logger.warning("configuration: %s", warning)
    # Renewing the lease must not queue behind the work it protects: it has a client of its own.
    async with (
        Client(options.access, user_agent=USER_AGENT) as client,
        Client(options.access, user_agent=f"{USER_AGENT} leader-election", connections=2) as lease_client,
    ):
        settings = options.election
        elector = LeaderElector(lease_client, settings, on_new_leader=_log_leader) if settings else None
        scheduler = LiveScheduler(
            client=client,
            config=options.config,
            registry=options.registry,
            now=SteadyClock(),
            seed=SystemRandom().getrandbits(64),
            may_act=elector.is_leader if elector else lambda: True,
            asking=options.asking,
        )
        add_gauges(scheduler, elector)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, log_state, scheduler)
        health = _health(scheduler, elector, stopping)
        exposition = Exposition(scheduler.metrics)
        async with Endpoint(
            serving=options.serving,
            reviewer=Reviewer(client),
            health=health,
            exposition=exposition,
            document=options.document,
        ):
            living = _live(scheduler, elector, stopping, delay=options.config.delay_cache_until_active)
            watchdog = Watchdog(scheduler.plugins, count=scheduler.metrics.loop_blocks.inc)
            await together(living, watchdog.run())


async def _live(
    scheduler: LiveScheduler, elector: LeaderElector | None, stopping: asyncio.Event, *, delay: bool
) -> None:
    async def lead() -> None:
        await together(scheduler.lead(stopping), scheduler.follow() if delay and elector else None)

    leading = _lead_when_elected(elector, lead, stopping) if elector else lead()
    await together(leading, None if delay and elector else scheduler.follow())


async def _lead_when_elected(
    elector: LeaderElector, lead: Callable[[], Coroutine[Any, Any, None]], stopping: asyncio.Event
) -> None:
    """Lead once elected. Told to stop before that, stop waiting; after that, `lead` ends by itself."""
    began = False

    async def work() -> None:
        nonlocal began
        began = True
        await lead()

    running = asyncio.create_task(elector.run(work))
    told = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait([running, told], return_when=asyncio.FIRST_COMPLETED)
        if not began and not running.done():
            running.cancel()
            await asyncio.wait([running])
            return
        await running
    finally:
        told.cancel()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _health(scheduler: LiveScheduler, elector: LeaderElector | None, stopping: asyncio.Event) -> Health:
    health = Health()
    if elector is not None:
        # A process that lost its lease ends: as long as it answers at all, this holds.
        health.add("leaderElection", lambda: "", "healthz", "readyz")
    health.add("shutdown", lambda: "the process is stopping" if stopping.is_set() else "", "readyz")
    health.add(
        "sched-handler-sync",
        lambda: "" if scheduler.synced.is_set() else "the cluster has not been read yet",
        "readyz",
    )
    # Readiness alone: to end a process that schedules would help nobody.
    health.add("plugins", lambda: "; ".join(scheduler.core.background.dead.values()), "readyz")
    return health


def _log_leader(identity: str) -> None:
    logger.info("the leader is %s", identity)


class SteadyClock:
    """Starts at wall time and advances steadily, whatever happens to the machine's wall clock afterwards."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        """Seconds of the epoch."""
        return self._offset + time.monotonic()
