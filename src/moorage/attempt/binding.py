"""The binding cycle: wait at Permit, PreBind, Bind, PostBind, each pod in a job of its own; and undoing all of it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count

from moorage.attempt import reporting
from moorage.attempt.bindpoints import BindingPoints
from moorage.attempt.failing import FailureHandler, pod_logger
from moorage.attempt.permits import HeldPod, HeldPods
from moorage.attempt.placing import Placed, Placer, broken, refused, turned_down
from moorage.attempt.statuses import StatusWriter
from moorage.attempt.underway import Binding, Stage, UnderWay
from moorage.attempt.world import World
from moorage.columns import PodGroups
from moorage.config.points import IN_TREE_POINTS
from moorage.engine import Failure
from moorage.engine.timing import EVERY, Timing
from moorage.errors import MoorageError, PluginError
from moorage.framework.faults import Faults
from moorage.framework.points import Nomination
from moorage.framework.profile import Profile
from moorage.framework.status import Status, error
from moorage.queue import QueuedPod, SchedulingQueue
from moorage.queue.moves import ASSIGNED_POD_DELETE

logger = logging.getLogger(__name__)


class _Stopped(Exception):
    """The binding was told to end, and a plugin went on as if it had not been."""


class Bindings:
    """Runs binding cycles. `wake` is called when one ends: hosts hold back while too many are on."""

    def __init__(
        self,
        *,
        world: World,
        groups: PodGroups,
        queue: SchedulingQueue,
        profiles: Mapping[str, Profile],
        times: Mapping[str, Timing],
        placer: Placer,
        held: HeldPods,
        statuses: StatusWriter,
        failures: FailureHandler,
        faults: Faults,
        under_way: UnderWay,
        wake: Callable[[], None],
    ) -> None:
        self._world = world
        self._groups = groups
        self._queue = queue
        self._placer = placer
        self._held = held
        self._statuses = statuses
        self._failures = failures
        self._faults = faults
        self._begun = count()
        self._under_way = under_way
        self._wake = wake
        self._points = {
            name: BindingPoints(profile=profile, world=world, times=times[name], faults=faults)
            for name, profile in profiles.items()
        }

    def start(self, queued: QueuedPod, placed: Placed, started: float) -> None:
        """Bind a pod that was placed. The attempt at it began at `started`."""
        binding = Binding(queued, placed, started)
        if placed.waits:
            tell = partial(self._tell_why_held, queued, binding.node_name)
            binding.held = self._held.hold(binding.pod, binding.node_name, placed.waits, tell)
        binding.is_measured = next(self._begun) % EVERY == 0
        self._under_way.add(binding)
        binding.job = self._world.spawn(self._run(binding))

    def _tell_why_held(self, queued: QueuedPod, node_name: str, plugin: str, reason: str) -> None:
        note = f'plugin "{plugin}" holds it for node {node_name}: {reason}'
        if plugin not in IN_TREE_POINTS and queued.told != reason:
            queued.told = reason
            self._world.record(reporting.held(queued.pod, note))

    async def wind_up(self, seconds: float) -> None:
        """Let those that are being bound finish, and undo the others; undo all that is left when time is up."""
        for binding in self._under_way:
            if binding.stage is not Stage.BIND:
                binding.stop()
        for patience in (seconds, 1.0):
            jobs = [binding.job for binding in self._under_way if binding.job is not None]
            if not jobs or await self._world.ended(jobs, at_most=patience):
                return
            for binding in self._under_way:
                binding.stop()
        for binding in self._under_way:
            # A plugin that does not let go of its pod: the pod goes without it.
            logger.warning("binding pod %s does not end: it is undone where it stands", binding.pod.key)
            self._give_up(binding)

    async def _run(self, binding: Binding) -> None:
        cancellation = self._world.cancellation
        try:
            status = await self._bind(binding)
        except cancellation:
            if not binding.preempted:
                self._give_up(binding)
                raise
            status = error(binding.preempted)
        except _Stopped:
            if not binding.preempted:
                self._give_up(binding)
                return
            status = error(binding.preempted)
        except PluginError as problem:
            self._faults.see(problem, f"pod {binding.pod.key} is tried again")
            status = error(str(problem))
        except MoorageError as problem:
            status = error(str(problem))
        except Exception as problem:
            logger.exception("binding pod %s broke", binding.pod.key)
            status = error(f"{type(problem).__name__}: {problem}")
        finally:
            self._under_way.remove(binding)
        if binding.is_undone:
            return
        if binding.taken_to:
            self._lost(binding)
        elif status is None:
            await self._bound(binding)
        else:
            self._failed(binding, status)

    async def _bind(self, binding: Binding) -> Status | None:
        """Everything up to Bind. None on success; a rejection has the plugin's name on it."""
        pod, held = binding.pod, binding.held
        points = self._points[pod.spec.scheduler_name]
        steps, takes_a_while = points.with_work(binding)
        if held is not None or takes_a_while:
            # Others see where the pod is expected while it cannot be bound yet.
            self._statuses.nominate(pod, binding.node_name)
        if held is not None:
            refusal = await self._wait_on_permit(held)
            if refusal is not None:
                return refusal
        self._queue.done(pod.uid)
        binding.stage = Stage.PRE_BIND
        refusal = await points.pre_bind(steps, binding)
        if refusal is not None:
            return refusal
        if binding.is_stopped:
            raise _Stopped
        binding.stage = Stage.BIND
        self._under_way.writing += 1
        try:
            if self._statuses.is_writing(pod.uid):
                await self._statuses.settle(pod.uid)
            return await points.bind(binding)
        finally:
            self._under_way.writing -= 1
            self._wake()

    async def _wait_on_permit(self, held: HeldPod) -> Status | None:
        """None where the pod may go on; a rejection by the plugin that gave it, or an error."""
        started = self._world.now()
        try:
            outcome = await self._world.kept(held.outcome)
        finally:
            self._held.release(held.pod.uid)
        self._world.observer.held(outcome.code.label if outcome else "Success", self._world.now() - started)
        if outcome is None or outcome.is_rejection:
            return None if outcome is None else outcome
        return error(f"waiting on permit for pod: {outcome.message}")

    async def _bound(self, binding: Binding) -> None:
        pod, queued, observer = binding.pod, binding.queued, self._world.observer
        if pod_logger.isEnabledFor(logging.INFO):
            pod_logger.info("pod %s was bound to %s", pod.key, binding.node_name)
        self._world.record(reporting.scheduled(pod, binding.node_name))
        now = self._world.now()
        first = queued.initial_attempt_timestamp
        profile = pod.spec.scheduler_name
        observer.scheduled(
            profile,
            queued.attempts,
            attempt=now - binding.started,
            since_ready=None if first is None else now - first,
        )
        await self._points[profile].post_bind(binding)

    def _lost(self, binding: Binding) -> None:
        """Somebody else bound the pod: it is done, and nothing is written about it."""
        pod = binding.pod
        # On the node it was to go to its room stays taken: the watch will confirm it.
        is_here = binding.taken_to == binding.node_name
        self._undo(binding, keep_room=is_here)
        pod_logger.info("pod %s was bound to %s by somebody else", pod.key, binding.taken_to)
        profile, now = pod.spec.scheduler_name, self._world.now()
        self._world.observer.failed(profile, is_error=True, attempt=now - binding.started)
        if not is_here:
            self._queue.move_on_event(ASSIGNED_POD_DELETE, binding.placed.assumed.pod)
        self._wake()

    def _failed(self, binding: Binding, status: Status) -> None:
        """Give back what was taken, wake whom that helps, and bring the pod back into the queue."""
        pod, gone = binding.pod, binding.placed.assumed.pod
        self._undo(binding)
        if status.is_rejection:
            at_permit = binding.stage is Stage.PERMIT
            failure = refused(pod, status) if at_permit else turned_down(pod, status)
            failure = self._promised(binding, failure)
            self._failures.handle(binding.queued, failure, binding.started)
            self._queue.move_on_event(ASSIGNED_POD_DELETE, gone, only=lambda other: other.uid != pod.uid)
        else:
            self._queue.move_on_event(ASSIGNED_POD_DELETE, gone)
            failure = self._promised(binding, broken(pod, status.message))
            self._failures.handle(binding.queued, failure, binding.started)
        self._wake()

    def _promised(self, binding: Binding, failure: Failure) -> Failure:
        """Others of a gang may be bound already: its member keeps a claim to its place; not twice to the same."""
        group = self._groups.of(binding.pod)
        if group is None or not group.min_count or binding.queued.consecutive_errors:
            return failure
        return replace(failure, nomination=Nomination(binding.node_name))

    def _give_up(self, binding: Binding) -> None:
        """The process stops: the pod is left to whoever schedules next."""
        self._undo(binding)
        self._queue.done(binding.pod.uid)
        self._under_way.remove(binding)

    def _undo(self, binding: Binding, *, keep_room: bool = False) -> None:
        if binding.is_undone:
            return
        binding.is_undone = True
        self._held.release(binding.pod.uid)
        self._placer.undo(binding.placed, keep_room=keep_room)
