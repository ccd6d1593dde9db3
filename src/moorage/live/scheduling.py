"""The scheduling loop: one pod after the other, decided, assumed, reserved, permitted, and handed on to be bound.

Nothing in here waits in the middle of a pod, so a decision sees one state of the cluster. Between pods the loop lets
others run: what informers bring, answers to requests, health checks.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from time import perf_counter
from typing import Final

from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine import Engine, Failure, Placement
from moorage.errors import PluginError
from moorage.live.binding import Binding, Bindings
from moorage.live.failing import FailureHandler, broken, refused
from moorage.live.reporting import Reporter
from moorage.observe.metrics import SchedulerMetrics
from moorage.queue import QueuedPod, SchedulingQueue

logger = logging.getLogger(__name__)

SLICE: Final = 0.002
"""Seconds the loop keeps deciding before it lets others run."""

MOST_WRITING: Final = 256
"""Bindings whose request is not answered yet, beyond which no pod is decided: what comes later may be more urgent, and
a decision taken late is taken on what is then known."""


class SchedulingLoop:
    """Takes pods from the queue and decides. `wake` it whenever the queue may have something to give."""

    def __init__(
        self,
        cluster: ClusterState,
        queue: SchedulingQueue,
        engine: Engine,
        failures: FailureHandler,
        reporter: Reporter,
        metrics: SchedulerMetrics,
        now: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._engine = engine
        self._failures = failures
        self._reporter = reporter
        self._metrics = metrics
        self._now = now
        self._awake = asyncio.Event()
        self.bindings: Bindings | None = None

    def wake(self) -> None:
        """There may be something to do."""
        self._awake.set()

    async def run(self, bindings: Bindings) -> None:
        """Schedule until cancelled. A cancellation falls between two pods, never into one."""
        while True:
            self._awake.clear()
            if bindings.writing < MOST_WRITING and self._queue.has_ready:
                self._run_slice(bindings)
                await asyncio.sleep(0)
            else:
                await self._awake.wait()

    async def keep_time(self) -> None:
        """At every full second, let back into the queue whose back-off is over or who has waited too long."""
        while True:
            now = self._now()
            await asyncio.sleep(math.floor(now) + 1 - now)
            self._queue.flush_backoff()
            self._queue.flush_unschedulable()
            self.wake()

    def _run_slice(self, bindings: Bindings) -> None:
        end = perf_counter() + SLICE
        while (queued := self._queue.pop()) is not None:
            self.schedule_one(queued, bindings)
            if perf_counter() >= end:
                return

    def schedule_one(self, queued: QueuedPod, bindings: Bindings) -> None:
        """One scheduling cycle, from the queue to the beginning of the binding."""
        pod = queued.pod
        if pod.pod.is_terminating:
            self._queue.done(pod.uid)
            self._reporter.failed(pod, f"skip schedule deleting pod: {pod.key}")
            return
        if self._cluster.is_assumed(pod.uid):
            self._queue.done(pod.uid)
            return
        started = self._now()
        outcome = self._decide(pod)
        self._metrics.algorithm_duration.observe(self._now() - started)
        if isinstance(outcome, Failure):
            self._failures.handle(queued, outcome, started)
        else:
            self._place(queued, outcome, started, bindings)

    def _decide(self, pod: PodInfo) -> Placement | Failure:
        """The engine's answer. What it does not foresee is a bug of ours and fails this pod's attempt alone."""
        try:
            return self._engine.schedule(pod)
        except Exception as problem:
            logger.exception("deciding pod %s broke", pod.key)
            return broken(pod, f"{type(problem).__name__}: {problem}")

    def _place(self, queued: QueuedPod, placement: Placement, started: float, bindings: Bindings) -> None:
        pod, node_name = placement.pod, placement.node_name
        runner = self._engine.runner_of(pod)
        assumed = self._cluster.assume(pod, node_name)
        reserved = False
        try:
            refusal = runner.reserve(placement.state, pod, node_name)
            reserved = refusal is None
            if refusal is None:
                refusal, waits = runner.permit(placement)
        except PluginError as problem:
            failure = broken(pod, str(problem))
        else:
            if refusal is None:
                bindings.start(Binding(queued, placement, assumed, runner, started), waits)
                return
            failure = refused(pod, refusal) if refusal.is_rejection else broken(pod, refusal.message)
        if reserved:
            runner.unreserve(placement.state, pod, node_name)
        self._cluster.forget(pod.uid)
        self._failures.handle(queued, failure, started)
