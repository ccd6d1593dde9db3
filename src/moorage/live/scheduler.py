"""A live scheduler put together: it follows the cluster from the start, and schedules while it leads."""

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Final

from moorage.attempt.core import SchedulerCore
from moorage.cluster import needed_kinds
from moorage.config import Config
from moorage.extender.asking import Extenders, make_clients
from moorage.extender.keeping import KeptObjects
from moorage.framework.registrations import kinds_awaited
from moorage.framework.registry import Registry
from moorage.kube.informer import run_informers
from moorage.kube.lanes import Lanes
from moorage.kube.transport import Client
from moorage.live.following import Informers, tune_collector
from moorage.live.options import ExtenderOptions
from moorage.live.reporting import Reporter
from moorage.live.scheduling import SchedulingLoop, Wakening
from moorage.live.world import LiveWorld
from moorage.observe.metrics import SchedulerMetrics

logger = logging.getLogger(__name__)

WIND_UP: Final = 3.5
"""Seconds a clean stop waits for bindings on their way, and again for what is still to be written."""


class LiveScheduler:
    """A scheduler on one cluster, complete once it is made: from the bottom up, the lanes that write, the world over
    them, the core that schedules in that world, the loop that drives it, and the informers that feed it."""

    def __init__(
        self,
        *,
        client: Client,
        config: Config,
        registry: Registry,
        now: Callable[[], float],
        seed: int,
        may_act: Callable[[], bool] = lambda: True,
        asking: ExtenderOptions | None = None,
    ) -> None:
        """`now` is wall-clock seconds that never go back. `may_act` is asked before every write: a process that lost
        its lease stays still. `asking` says how the extenders of the configuration are asked."""
        self.config = config
        self.metrics = SchedulerMetrics()
        connection = config.client_connection
        self.lanes = Lanes(client, qps=connection.qps, burst=connection.burst, may_act=may_act)
        self.reporter = Reporter(self.lanes, [profile.scheduler_name for profile in config.profiles])
        asking, kept = asking or ExtenderOptions(), None
        if config.extenders:
            names = {profile.scheduler_name for profile in config.profiles}
            with_nodes = not all(one.node_cache_capable for one in config.extenders)
            kept = KeptObjects(client, names, with_nodes=with_nodes)
        clients = make_clients(config.extenders, breaker=asking.breaker, observe=self._observe_extender)
        self.extenders = Extenders(clients, kept) if kept is not None else None
        self.world = LiveWorld(
            client=client,
            lanes=self.lanes,
            reporter=self.reporter,
            observer=self.metrics,
            now=now,
            extenders=self.extenders,
        )
        wakening = Wakening()
        core = self.core = SchedulerCore(
            world=self.world,
            config=config,
            registry=registry,
            seed=seed,
            puts_off=True,
            observe_hint=self._observe_hint,
            wake=wakening.wake,
            questions=asking.questions,
            clock=perf_counter,
        )
        self.loop = SchedulingLoop(attempts=core.attempts, under_way=core.under_way, wakening=wakening, now=now)
        #: Every instance of a plugin, with its name.
        self.plugins = core.plugins
        self.informers = Informers(
            client=client,
            objects=core.cluster.snapshot.objects,
            queue=core.queue,
            pod_events=core.pod_events,
            node_events=core.node_events,
            kinds=needed_kinds(self.plugins, core.queue.registered_actions()),
            wake=wakening.wake,
            awaited={kind for name, plugin in self.plugins for kind in kinds_awaited(name, plugin)},
            kept=kept,
        )
        self.synced = asyncio.Event()
        # What others look at.
        self.cluster, self.queue, self.engine = core.cluster, core.queue, core.engine
        self.held, self.bindings = core.held, core.under_way

    async def follow(self) -> None:
        """Follow the cluster, and write events, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(run_informers(self.informers.all, on_synced=self._on_synced))
                group.create_task(self.reporter.run())
        finally:
            await self.core.background.stop()

    async def lead(self, stopping: asyncio.Event) -> None:
        """Schedule until `stopping` is set; then finish what is on its way, undo what is not.

        When cancelled, everything is undone at once.
        """
        await _first_of(self.synced, stopping)
        if not stopping.is_set():
            logger.info("scheduling for %s", ", ".join(self.engine.runners))
        working = [asyncio.create_task(self.loop.run())]
        try:
            await _watch_over(working, stopping)
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            await self.core.wind_up(WIND_UP if stopping.is_set() else 0.0)
        await self._drain()
        if self.extenders is not None:
            await self.extenders.close()

    def _on_synced(self) -> None:
        tune_collector()
        self.synced.set()
        self.core.start_plugins()
        sizes = self.cluster.sizes
        logger.info("the cluster is read: %d nodes, %d pods on them", sizes["nodes"], sizes["pods"])

    def _observe_hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self.metrics.hint_duration.observe(seconds, plugin, event, hint)

    def _observe_extender(self, url: str, verb: str, outcome: str, seconds: float) -> None:
        self.metrics.extender_duration.observe(seconds, url, verb, outcome)

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(WIND_UP):
                await self.core.drain()
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
