"""The binding cycle: wait at Permit, PreBind, Bind, PostBind, each pod in a task of its own; and undoing all of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from moorage.cluster import ClusterState
from moorage.cluster.pods import ASSIGNED_POD_DELETE
from moorage.columns import PodInfo
from moorage.engine import Engine, Placement
from moorage.engine.runner import Runner
from moorage.errors import ApiError, MoorageError, PluginError
from moorage.framework.points import PreBindPreFlight
from moorage.framework.profile import Named, Profile
from moorage.framework.status import Code, Status, error
from moorage.live.failing import FailureHandler, broken, refused
from moorage.live.permits import HeldPod, HeldPods
from moorage.live.reporting import Reporter
from moorage.live.statuses import StatusWriter
from moorage.observe.logs import POD_LOGGER
from moorage.observe.metrics import SchedulerMetrics
from moorage.queue import QueuedPod, SchedulingQueue

logger = logging.getLogger(__name__)
pod_logger = logging.getLogger(POD_LOGGER)


class Stage(Enum):
    """How far a binding has come."""

    PERMIT = "held at Permit"
    PRE_BIND = "being prepared"
    BIND = "being bound"


@dataclass(slots=True, eq=False)
class Binding:
    """A decided pod on its way to its node."""

    queued: QueuedPod
    placement: Placement
    #: The pod as it will be once bound: what counts on the node meanwhile.
    assumed: PodInfo
    runner: Runner
    #: When the attempt began.
    started: float
    held: HeldPod | None = None
    stage: Stage = Stage.PERMIT
    task: asyncio.Task[None] | None = None
    #: Why it was stopped from outside, "" if it was not.
    cancelled_by: str = ""

    @property
    def pod(self) -> PodInfo:
        """The pod."""
        return self.placement.pod


class BindingPoints:
    """The plugins of a profile that a pod meets on its way from decision to node."""

    def __init__(self, profile: Profile) -> None:
        self.pre_binds = profile.at("preBind")
        #: Those that say beforehand whether they have work to do.
        self.announcing = [one.plugin for one in self.pre_binds if isinstance(one.plugin, PreBindPreFlight)]
        self.binds = profile.at("bind")
        self.post_binds = profile.at("postBind")


class Bindings:
    """Runs binding cycles. `on_room` is called when one ends, since the loop holds back while too many are on."""

    def __init__(
        self,
        cluster: ClusterState,
        queue: SchedulingQueue,
        engine: Engine,
        held: HeldPods,
        statuses: StatusWriter,
        reporter: Reporter,
        failures: FailureHandler,
        metrics: SchedulerMetrics,
        now: Callable[[], float],
        *,
        on_room: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._held = held
        self._statuses = statuses
        self._reporter = reporter
        self._failures = failures
        self._metrics = metrics
        self._now = now
        self._on_room = on_room
        self._points = {name: BindingPoints(runner.profile) for name, runner in engine.runners.items()}
        self._under_way: dict[str, Binding] = {}
        #: Bindings whose request is waiting or on the wire.
        self.writing = 0

    def start(self, binding: Binding, waits: dict[str, float]) -> None:
        """Bind a pod that was assumed and reserved; `waits` are the plugins that want it held at Permit."""
        pod = binding.pod
        if waits:
            binding.held = self._held.hold(pod, binding.placement.node_name, waits)
        self._under_way[pod.uid] = binding
        binding.task = asyncio.get_running_loop().create_task(self._run(binding))

    def cancel(self, uid: str, plugin: str) -> bool:
        """Stop a pod that has to make room while it is being prepared. False where it is not, or no longer."""
        binding = self._under_way.get(uid)
        if binding is None or binding.stage is not Stage.PRE_BIND or binding.task is None:
            return False
        binding.cancelled_by = f"preempted by {plugin}"
        return binding.task.cancel()

    def __len__(self) -> int:
        """How many are under way, in whatever stage."""
        return len(self._under_way)

    async def wind_up(self, seconds: float) -> None:
        """Let those that are being bound finish, and undo the others; undo all that is left when time is up."""
        for binding in list(self._under_way.values()):
            if binding.stage is not Stage.BIND and binding.task is not None:
                binding.task.cancel()
        for patience in (seconds, 1.0):
            tasks = [binding.task for binding in self._under_way.values() if binding.task is not None]
            if tasks:
                _, late = await asyncio.wait(tasks, timeout=patience)
                for task in late:
                    task.cancel()

    async def _run(self, binding: Binding) -> None:
        pod = binding.pod
        try:
            status = await self._bind(binding)
        except asyncio.CancelledError:
            if not binding.cancelled_by:
                self._undo(binding)
                raise
            status = error(binding.cancelled_by)
        except MoorageError as problem:
            status = error(str(problem))
        except Exception as problem:
            logger.exception("binding pod %s broke", pod.key)
            status = error(f"{type(problem).__name__}: {problem}")
        finally:
            del self._under_way[pod.uid]
        if status is None:
            await self._bound(binding)
        else:
            self._failed(binding, status)

    async def _bind(self, binding: Binding) -> Status | None:
        """Everything up to Bind. None on success; a rejection has the plugin's name on it."""
        pod, node_name = binding.pod, binding.placement.node_name
        points = self._points[pod.spec.scheduler_name]
        if binding.held is not None or _announces(points, binding):
            # Others see where the pod is expected while it cannot be bound yet.
            self._statuses.nominate(pod, node_name)
        if binding.held is not None:
            refusal = await self._wait_on_permit(binding.held)
            if refusal is not None:
                return refusal
        self._queue.done(pod.uid)
        binding.stage = Stage.PRE_BIND
        refusal = await self._timed("PreBind", _run_pre_bind_plugins(points, binding), binding)
        if refusal is not None:
            return refusal
        binding.stage = Stage.BIND
        self.writing += 1
        try:
            await self._statuses.settle(pod.uid)
            return await self._timed("Bind", _run_bind_plugins(points, binding), binding)
        finally:
            self.writing -= 1
            self._on_room()

    async def _timed(self, point: str, plugins: Awaitable[Status | None], binding: Binding) -> Status | None:
        """The answer of a point's plugins; how long they took is counted."""
        started = self._now()
        label = "Error"
        try:
            status = await plugins
            label = "Success" if status is None else status.code.label
        finally:
            profile = binding.pod.spec.scheduler_name
            self._metrics.point_duration.observe(self._now() - started, point, label, profile)
        return status

    async def _wait_on_permit(self, held: HeldPod) -> Status | None:
        started = self._now()
        try:
            outcome = await held.outcome
        finally:
            self._held.release(held.pod.uid)
        self._metrics.permit_wait.observe(self._now() - started, outcome.code.label if outcome else "Success")
        if outcome is None or outcome.is_rejection:
            return outcome
        return error(f"waiting on permit for pod: {outcome.message}")

    async def _bound(self, binding: Binding) -> None:
        pod, queued = binding.pod, binding.queued
        if pod_logger.isEnabledFor(logging.INFO):
            pod_logger.info("pod %s was bound to %s", pod.key, binding.placement.node_name)
        self._reporter.scheduled(pod, binding.placement.node_name)
        now = self._now()
        first = queued.initial_attempt_timestamp
        self._metrics.scheduled(
            pod.spec.scheduler_name,
            queued.attempts,
            attempt=now - binding.started,
            since_ready=None if first is None else now - first,
        )
        for one in self._points[pod.spec.scheduler_name].post_binds:
            try:
                await _answer(one, "PostBind", one.plugin.post_bind, binding)
            except MoorageError as problem:
                logger.warning("pod %s is bound, but %s", pod.key, problem)

    def _failed(self, binding: Binding, status: Status) -> None:
        """Give back what was taken, wake whom that helps, and bring the pod back into the queue."""
        pod = binding.pod
        self._undo(binding)
        if status.is_rejection:
            self._failures.handle(binding.queued, refused(pod, status), binding.started)
            self._queue.move_on_event(ASSIGNED_POD_DELETE, binding.assumed.pod, only=lambda other: other.uid != pod.uid)
        else:
            self._queue.move_on_event(ASSIGNED_POD_DELETE, binding.assumed.pod)
            self._failures.handle(binding.queued, broken(pod, status.message), binding.started)
        self._on_room()

    def _undo(self, binding: Binding) -> None:
        self._held.release(binding.pod.uid)
        try:
            binding.runner.unreserve(binding.placement.state, binding.pod, binding.placement.node_name)
        except PluginError:
            logger.exception("giving back what pod %s had reserved broke", binding.pod.key)
        self._cluster.forget(binding.pod.uid)


def _announces(points: BindingPoints, binding: Binding) -> bool:
    """Whether a PreBind plugin says beforehand that it has work to do, which may take a while."""
    for plugin in points.announcing:
        status = plugin.pre_bind_pre_flight(binding.placement.state, binding.pod, binding.placement.node_name)
        if status is None or status.code is not Code.SKIP:
            return True
    return False


async def _run_pre_bind_plugins(points: BindingPoints, binding: Binding) -> Status | None:
    for one in points.pre_binds:
        refusal = await _answer(one, "PreBind", one.plugin.pre_bind, binding)
        if refusal is not None:
            return refusal
    return None


async def _run_bind_plugins(points: BindingPoints, binding: Binding) -> Status | None:
    for one in points.binds:
        status = await _answer(one, "Bind", one.plugin.bind, binding)
        if status is None or status.code is not Code.SKIP:
            return status
    return error("every Bind plugin skipped the pod")


async def _answer(one: Named, point: str, method: Callable[..., Any], binding: Binding) -> Status | None:
    """A plugin's answer at a point that may be asynchronous: None for yes, else a rejection or SKIP.

    Raises PluginError for everything else it may say or raise.
    """
    placement = binding.placement
    try:
        answer = method(placement.state, placement.pod, placement.node_name)
        if hasattr(answer, "__await__"):
            answer = await cast(Awaitable[Status | None], answer)
    except ApiError as problem:
        raise PluginError(one.name, point, str(problem)) from problem
    except PluginError:
        raise
    except Exception as problem:
        raise PluginError(one.name, point, f"{type(problem).__name__}: {problem}") from problem
    if answer is None or answer.is_success:
        return None
    if answer.is_rejection or answer.code is Code.SKIP:
        refusal: Status = answer.by(one.name)
        return refusal
    raise PluginError(one.name, point, answer.message or f"answered {answer.code.label}")
