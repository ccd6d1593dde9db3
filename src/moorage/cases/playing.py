"""A script played: a whole scheduler on virtual time, on an API server that does nothing by itself."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from moorage.cases.reading import as_case, read_config, read_gates, read_list, read_objects, read_text
from moorage.cases.script import Step, read_script
from moorage.cases.server import Change, ScriptServer
from moorage.cases.writing import CaseHost, finish
from moorage.cluster import ClusterState, NodeEvents, ObjectEvents, PodEvents, profile_hints
from moorage.columns import Snapshot
from moorage.config import DEFAULT_FEATURES, Config, Features
from moorage.config.gates import with_gates
from moorage.engine import Failure, Placement, make_engine
from moorage.engine.engine import default_registry
from moorage.errors import InputError
from moorage.framework.registry import Registry
from moorage.framework.status import Code, Status
from moorage.objects import Condition, KubeObject, Node, Pod
from moorage.queue import Place, QueuedEntity, QueuedPod, SchedulingQueue

#: Second 0 of every script.
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

_UNSCHEDULABLE: Final = "Unschedulable"
_SCHEDULER_ERROR: Final = "SchedulerError"


class ScriptCase:
    """A case read and found whole. Raises InputError that names the field."""

    def __init__(
        self, tree: Any, *, registry: Registry | None = None, seed: int = 0, features: Features = DEFAULT_FEATURES
    ) -> None:
        case = as_case(tree)
        features = with_gates(features, read_gates(case.get("gates")))
        self.name = read_text(case.get("name"), "case.name")
        objects = read_objects(read_list(case.get("objects"), "case.objects"), "case.objects")
        self._steps = [Step(create=tuple(objects)), *read_script(case.get("script"))]
        registry = registry or default_registry()
        config = read_config(case.get("config"), registry, features)
        self._play = _Play(config, registry, features, seed)

    def steps(self) -> Iterator[dict[str, Any]]:
        """What came of each step; of the objects that were there at first before all others."""
        for step in self._steps:
            yield self._play.play(step)


class _Clock:
    """Milliseconds since second 0. It moves only when told to."""

    def __init__(self) -> None:
        self.milliseconds = 1000

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return EPOCH + self.milliseconds / 1000

    def tick(self) -> None:
        """A millisecond passes."""
        self.milliseconds += 1

    def next_second(self) -> None:
        """The next whole second comes."""
        self.milliseconds = (self.milliseconds // 1000 + 1) * 1000


class _Play:
    """A scheduler on a scripted server, one scheduling cycle after the other, each to its end."""

    def __init__(self, config: Config, registry: Registry, features: Features, seed: int) -> None:
        self._clock = _Clock()
        self._server = ScriptServer(EPOCH)
        self._cluster = ClusterState(Snapshot(features.request_rules))
        host = CaseHost(self._server, lambda pods: self._queue.activate(pods))
        self._engine = make_engine(
            self._cluster.snapshot, config, registry=registry, seed=seed, now=self._clock.now, host=host
        )
        profiles = {name: runner.profile for name, runner in self._engine.runners.items()}
        self._queue = SchedulingQueue(
            {name: profile_hints(profile) for name, profile in profiles.items()},
            next(iter(profiles.values())).at("queueSort")[0].plugin,
            self._cluster.snapshot.nominations,
            self._clock.now,
            initial_backoff=config.pod_initial_backoff_seconds,
            max_backoff=config.pod_max_backoff_seconds,
            features=features,
        )
        self._pods = PodEvents(self._cluster, self._queue, profiles, lambda _uid: False)
        self._nodes = NodeEvents(self._cluster.snapshot, self._queue)
        self._others: dict[type[KubeObject], ObjectEvents] = {}

    def play(self, step: Step) -> dict[str, Any]:
        """Make the changes of a step, schedule as long as there is somebody to try, and let its seconds pass."""
        self._change(step)
        cycles = list(self._schedule())
        for _ in range(step.seconds):
            self._clock.next_second()
            self._queue.flush_backoff()
            self._queue.flush_unschedulable()
            cycles += self._schedule()
        return {"cycles": cycles, "queues": self._queues()}

    # What happens outside.

    def _change(self, step: Step) -> None:
        for item in step.create:
            self._server.create(item)
        for item in step.update:
            self._server.update(item)
        for resource, key in step.delete:
            self._server.delete(self._server.kind_of(resource), key)
        self._deliver()

    def _deliver(self) -> None:
        for change in self._server.changes():
            self._clock.tick()
            self._tell(change)

    def _tell(self, change: Change) -> None:
        handler = self._handler(change.kind)
        if change.new is None:
            handler.deleted(change.old)
        elif change.old is None:
            handler.added(change.new)
        else:
            handler.updated(change.old, change.new)

    def _handler(self, kind: type[KubeObject]) -> Any:
        if kind is Pod:
            return self._pods
        if kind is Node:
            return self._nodes
        if kind not in self._others:
            self._others[kind] = ObjectEvents(kind, self._cluster.snapshot.objects, self._queue)
        return self._others[kind]

    # Scheduling.

    def _schedule(self) -> Iterator[dict[str, Any]]:
        while self._queue.has_ready:
            self._clock.tick()
            queued = self._queue.pop()
            if queued is None:
                return
            yield self._cycle(queued)
            self._deliver()

    def _cycle(self, queued: QueuedPod) -> dict[str, Any]:
        pod = queued.pod
        cycle: dict[str, Any] = {"at": self._clock.milliseconds, "popped": pod.key}
        outcome = self._engine.schedule(pod)
        cycle["attempts"] = [_attempt(outcome)]
        if isinstance(outcome, Failure):
            self._fail(queued, outcome, cycle)
        else:
            self._place(outcome, cycle)
        return cycle

    def _place(self, placement: Placement, cycle: dict[str, Any]) -> None:
        pod = placement.pod
        runner = self._engine.runner_of(pod)
        self._cluster.assume(pod, placement.node_name)
        refusal = runner.reserve(placement.state, pod, placement.node_name)
        if refusal is None:
            refusal, waits = runner.permit(placement)
            if waits:
                refusal = Status(Code.WAIT, tuple(waits))
        if refusal is not None:
            raise InputError(f"was refused or held on {placement.node_name}: {refusal.message}", where=pod.key)
        plugin = runner.profile.plugins.get("DynamicResources")
        work = plugin.pre_bind(placement.state, pod, placement.node_name) if plugin is not None else None
        failed = finish(work) if work is not None else None
        if failed is not None:
            raise InputError(f"its claims cannot be written: {failed.message}", where=pod.key)
        self._queue.done(pod.uid)
        self._server.bind(pod.pod, placement.node_name)
        cycle["bound"] = {pod.key: placement.node_name}

    def _fail(self, queued: QueuedPod, failure: Failure, cycle: dict[str, Any]) -> None:
        pod, nomination = failure.pod, failure.nomination
        reason = _SCHEDULER_ERROR if failure.is_error else _UNSCHEDULABLE
        failed = {"pod": pod.key, "reason": reason, "message": failure.full_message}
        if nomination is not None:
            failed["nominated"] = nomination.node_name
        cycle["failed"] = [failed]
        if failure.effect is not None:
            finish(failure.effect())
        if nomination is not None and nomination.victims:
            cycle["victims"] = sorted(victim.key for victim in nomination.victims)
            for victim in nomination.victims:
                self._server.delete(Pod, victim.key)
            for other in self._cluster.snapshot.nominations.on(nomination.node_name):
                if other.priority < pod.priority:
                    self._server.patch_status(other.pod, nominated="")
        self._queue.return_unschedulable(queued, failure.plugins, failure.pending, pod=self._cluster.pending(pod.uid))
        promised = None if nomination is None else nomination.node_name
        self._queue.nominate(pod, promised)
        condition = Condition(type="PodScheduled", status="False", reason=reason, message=failure.full_message)
        self._server.patch_status(pod.pod, condition=condition, nominated=promised)

    # What is seen.

    def _queues(self) -> dict[str, Any]:
        places: dict[Place, list[QueuedEntity]] = {place: [] for place in Place}
        for place, queued in sorted(self._queue.pods(), key=lambda one: one[1].key):
            places[place].append(queued)
        queues = {
            "active": [queued.key for queued in places[Place.ACTIVE]],
            "backoff": {queued.key: self._backoff_end(queued) for queued in places[Place.BACKOFF]},
            "unschedulable": [queued.key for queued in places[Place.UNSCHEDULABLE]],
            "gated": {queued.key: queued.gating_plugin for queued in places[Place.GATED]},
        }
        return {name: queue for name, queue in queues.items() if queue}

    def _backoff_end(self, queued: QueuedEntity) -> int:
        return math.floor((queued.backoff_expiry or 0) - EPOCH)


def _attempt(outcome: Placement | Failure) -> dict[str, str]:
    if isinstance(outcome, Placement):
        return {"pod": outcome.pod.key, "node": outcome.node_name}
    return {"pod": outcome.pod.key, "error" if outcome.is_error else "message": outcome.message}
