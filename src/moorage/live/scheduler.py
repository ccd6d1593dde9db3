"""The parts of a scheduler put together: it follows the cluster from the start, and schedules while it leads."""

import asyncio
import logging
from collections.abc import Callable
from random import SystemRandom
from typing import Final

from moorage.cluster import ClusterState, PodEvents, needed_kinds, profile_hints
from moorage.columns import Snapshot
from moorage.config import Config
from moorage.engine import make_engine
from moorage.framework.registry import Registry
from moorage.kube.informer import run_informers
from moorage.kube.lanes import Lanes
from moorage.kube.transport import Client
from moorage.live.binding import Bindings
from moorage.live.clock import Clock
from moorage.live.failing import FailureHandler
from moorage.live.following import Informers, tune_collector
from moorage.live.hosting import LiveHost
from moorage.live.permits import HeldPods
from moorage.live.preempting import Evictions
from moorage.live.reporting import Reporter
from moorage.live.scheduling import SchedulingLoop
from moorage.live.statuses import StatusWriter
from moorage.observe.metrics import SchedulerMetrics
from moorage.queue import SchedulingQueue

logger = logging.getLogger(__name__)

WIND_UP: Final = 3.5
"""Seconds a clean stop waits for bindings on their way, and again for what is still to be written."""


class Scheduler:
    """A scheduler on one cluster. `may_act` is asked before every write: a process that lost its lease stays still."""

    def __init__(
        self, client: Client, config: Config, registry: Registry, *, may_act: Callable[[], bool] = lambda: True
    ) -> None:
        self.config = config
        now = Clock()
        connection = config.client_connection
        self.metrics = SchedulerMetrics()
        self.cluster = ClusterState(Snapshot(config.features.request_rules))
        self.lanes = Lanes(client, qps=connection.qps, burst=connection.burst, may_act=may_act)
        self.held = HeldPods()
        host = LiveHost(client, self.lanes, self.held)
        seed = SystemRandom().getrandbits(64)
        self.engine = make_engine(self.cluster.snapshot, config, registry=registry, seed=seed, now=now, host=host)
        profiles = {name: runner.profile for name, runner in self.engine.runners.items()}
        first = next(iter(profiles.values()))
        self.queue = SchedulingQueue(
            {name: profile_hints(profile) for name, profile in profiles.items()},
            first.at("queueSort")[0].plugin,
            self.cluster.snapshot.nominations,
            now,
            initial_backoff=config.pod_initial_backoff_seconds,
            max_backoff=config.pod_max_backoff_seconds,
            features=config.features,
            observe_hint=self._observe_hint,
        )
        self.reporter = Reporter(self.lanes, profiles)
        self.statuses = StatusWriter(self.lanes, self.cluster)
        self.evictions = Evictions(self.cluster, self.queue, self.lanes, self.held, self.statuses, self.reporter)
        host.attach(self.queue, self.evictions)
        failures = FailureHandler(
            self.cluster, self.queue, self.statuses, self.reporter, self.evictions, self.metrics, now
        )
        self.loop = SchedulingLoop(self.cluster, self.queue, self.engine, failures, self.reporter, self.metrics, now)
        self.bindings = Bindings(
            self.cluster,
            self.queue,
            self.engine,
            self.held,
            self.statuses,
            self.reporter,
            failures,
            self.metrics,
            now,
            on_room=self.loop.wake,
        )
        self.evictions.cancel_binding = lambda uid: self.bindings.cancel(uid, "DefaultPreemption")
        #: Every instance of a plugin, with its name.
        self.plugins = [(name, plugin) for profile in profiles.values() for name, plugin in profile.plugins.items()]
        self.informers = Informers(
            client,
            self.cluster,
            self.queue,
            PodEvents(self.cluster, self.queue, profiles, self.held.reject),
            needed_kinds(self.plugins, self.queue.registered_actions()),
            self.loop.wake,
        )
        self.synced = asyncio.Event()

    async def follow(self) -> None:
        """Follow the cluster, and write events, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(run_informers(self.informers.all, on_synced=self._on_synced))
            group.create_task(self.reporter.run())

    async def lead(self, stopping: asyncio.Event) -> None:
        """Schedule until `stopping` is set; then finish what is on its way, undo what is not.

        When cancelled, everything is undone at once.
        """
        await _first_of(self.synced, stopping)
        if not stopping.is_set():
            logger.info("scheduling for %s", ", ".join(self.engine.runners))
        working = [asyncio.create_task(self.loop.run(self.bindings)), asyncio.create_task(self.loop.keep_time())]
        try:
            await _watch_over(working, stopping)
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            await self.bindings.wind_up(WIND_UP if stopping.is_set() else 0.0)
        await self._drain()

    def _on_synced(self) -> None:
        tune_collector()
        self.synced.set()
        sizes = self.cluster.sizes
        logger.info("the cluster is read: %d nodes, %d pods on them", sizes["nodes"], sizes["pods"])

    def _observe_hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self.metrics.hint_duration.observe(seconds, plugin, event, hint)

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(WIND_UP):
                await self.evictions.drain()
                await self.statuses.drain()
                await self.reporter.drain()
        except TimeoutError:
            logger.warning("some events or statuses were not written in time")


async def _first_of(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _watch_over(working: list[asyncio.Task[None]], stopping: asyncio.Event) -> None:
    """Wait until told to stop. Work that ends by itself has broken: pass on how."""
    told = asyncio.create_task(stopping.wait())
    try:
        ended, _ = await asyncio.wait([told, *working], return_when=asyncio.FIRST_COMPLETED)
    finally:
        told.cancel()
    for task in ended - {told}:
        task.result()
