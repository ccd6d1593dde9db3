"""A script played: a whole scheduler on virtual time, on an API server that does nothing by itself."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from moorage.attempt.core import SchedulerCore
from moorage.attempt.failing import SCHEDULER_ERROR, UNSCHEDULABLE
from moorage.attempt.permits import HeldPod
from moorage.attempt.scripted import (
    Ask,
    Bind,
    BindThrough,
    Create,
    Delete,
    Evict,
    Measured,
    Patch,
    PatchStatus,
    Read,
    Request,
    ScriptedWorld,
    agree,
)
from moorage.attempt.virtual import VirtualTime
from moorage.cases.reading import as_case, read_config, read_gates, read_list, read_objects, read_text
from moorage.cases.script import Step, read_script
from moorage.cases.server import Change, ScriptServer
from moorage.cases.writing import CaseHost, finish
from moorage.cluster import ObjectEvents
from moorage.config import DEFAULT_FEATURES, Config, Features
from moorage.config.gates import QUEUED_POD_GROUPS, TOPOLOGY_AWARE_WORKLOAD_SCHEDULING, with_gates
from moorage.engine import Failure, GroupOutcome, Placement
from moorage.engine.engine import default_registry
from moorage.errors import ApiError
from moorage.framework.registry import Registry
from moorage.framework.writes import Bound, Done, Gone
from moorage.objects import KubeObject, Node, Pod, PodGroup
from moorage.queue import Place, QueuedEntity, QueuedGroup

#: Second 0 of every script.
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


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
        self._play = _Play(config, registry, seed)

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
    """A scheduler on a scripted server, one attempt after the other, each to its end."""

    def __init__(self, config: Config, registry: Registry, seed: int) -> None:
        self._clock = _Clock()
        self._server = ScriptServer(EPOCH)
        # Before 1.37 recordings with topologies leave attempts out: their order was random.
        features = config.features
        unordered = TOPOLOGY_AWARE_WORKLOAD_SCHEDULING in features and QUEUED_POD_GROUPS not in features
        self._cycle = _Cycle(tells_attempts=not unordered)
        self._world = ScriptedWorld(self._answer, time=VirtualTime(self._clock.now()), observer=self._cycle)
        self._core = SchedulerCore(world=self._world, config=config, registry=registry, seed=seed, groups_rest=False)
        self._others: dict[type[KubeObject], ObjectEvents] = {}

    def play(self, step: Step) -> dict[str, Any]:
        """Make the changes of a step, schedule as long as there is somebody to try, and let its seconds pass."""
        self._change(step)
        cycles = list(self._schedule())
        for _ in range(step.seconds):
            self._pass_to(self._clock.next_second)
            self._core.attempts.tick()
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
            self._pass_to(self._clock.tick)
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
            return self._core.pod_events
        if kind is Node:
            return self._core.node_events
        if kind not in self._others:
            self._others[kind] = ObjectEvents(kind, self._core.cluster.snapshot.objects, self._core.queue)
        return self._others[kind]

    def _answer(self, request: Request) -> Any:
        """The API server's answer to what the scheduler asks for."""
        match request:
            case Bind(pod, node_name):
                self._cycle.bound[pod.key] = node_name
                self._server.bind(pod.pod, node_name)
                return Bound()
            case Evict(pod):
                self._cycle.victims.append(pod.key)
                self._server.delete(Pod, pod.key)
                return Done()
            case PatchStatus(pod, status):
                self._server.patch_status(pod.pod, status)
                return Done()
            case Ask() | BindThrough():
                return agree(request)
            case Patch(kind, name, namespace, patch, "status") if issubclass(kind, PodGroup):
                self._cycle.group_told(f"{namespace}/{name}", patch["status"]["conditions"])
                return self._read_or_write(request)
            case _:
                return self._read_or_write(request)

    def _read_or_write(self, request: Read | Create | Patch | Delete) -> Any:
        """What plugins read and write."""
        objects = CaseHost(self._server)
        try:
            match request:
                case Read(kind, name, namespace):
                    return finish(objects.read(kind, name, namespace))
                case Create(item):
                    return finish(objects.create(item))
                case Patch(kind, name, namespace, patch, subresource):
                    item = finish(objects.read(kind, name, namespace))
                    return finish(objects.patch(item, patch, subresource=subresource))
                case Delete(item):
                    finish(objects.delete(item))
                    return Done()
        except ApiError as refusal:
            return Gone(str(refusal), code=refusal.code, reason=refusal.reason)

    def _pass_to(self, move: Callable[[], None]) -> None:
        move()
        now = self._clock.now()
        self._world.time.advance(now - self._world.time.now)
        # The sum of the parts may fall short of a full second by a rounding.
        self._world.time.now = now

    # Scheduling.

    def _schedule(self) -> Iterator[dict[str, Any]]:
        self._world.time.run()
        while self._core.attempts.has_next:
            self._pass_to(self._clock.tick)
            self._cycle.begin()
            self._core.attempts.run_next()
            self._world.time.run()
            yield self._cycle.as_data(self._clock.milliseconds, self._core.held)
            self._deliver()

    # What is seen.

    def _queues(self) -> dict[str, Any]:
        places: dict[Place, list[QueuedEntity]] = {place: [] for place in Place}
        members: dict[str, list[str]] = {}
        for place, queued in sorted(self._core.queue.pods(), key=lambda one: one[1].key):
            places[place].append(queued)
            if isinstance(queued, QueuedGroup):
                keys = [member.key for member in queued.members]
                members[queued.key] = sorted(keys) if queued.key.startswith("compositepodgroups/") else keys
        queues = {
            "active": [queued.key for queued in places[Place.ACTIVE]],
            "backoff": {queued.key: self._backoff_end(queued) for queued in places[Place.BACKOFF]},
            "unschedulable": [queued.key for queued in places[Place.UNSCHEDULABLE]],
            "gated": {queued.key: queued.gating_plugin for queued in places[Place.GATED]},
            "members": members,
            "incomplete": sorted(one.key for one in self._core.queue.incomplete()),
        }
        return {name: queue for name, queue in queues.items() if queue}

    def _backoff_end(self, queued: QueuedEntity) -> int:
        return math.floor((queued.backoff_expiry or 0) - EPOCH)


class _Cycle(Measured):
    """What happens in one round of the scheduling loop, seen by the observer of the attempt."""

    def __init__(self, *, tells_attempts: bool = True) -> None:
        super().__init__()
        self._tells_attempts = tells_attempts
        self.begin()

    def begin(self) -> None:
        """Nothing has happened yet."""
        self._popped = ""
        self._group: GroupOutcome | None = None
        self._groups: dict[str, dict[str, str]] = {}
        self._attempts: list[Placement | Failure] = []
        self._failed: list[Failure] = []
        self.bound: dict[str, str] = {}
        self.victims: list[str] = []
        self.told.clear()

    def decided(self, outcome: Placement | Failure, seconds: float) -> None:
        """The algorithm has answered."""
        super().decided(outcome, seconds)
        self._popped = outcome.pod.key
        self._attempts.append(outcome)

    def decided_group(self, key: str, outcome: GroupOutcome, seconds: float) -> None:
        """The algorithm has answered."""
        super().decided_group(key, outcome, seconds)
        self._group = outcome
        self._popped = key
        self._attempts = [] if outcome.domains is not None else outcome.attempts

    def group_told(self, key: str, conditions: Sequence[Mapping[str, Any]]) -> None:
        """A condition of a group is written."""
        written = {name: conditions[-1][name] for name in ("status", "reason", "message")}
        self._groups[key] = {name: value for name, value in written.items() if value}

    def sent_back(self, failure: Failure) -> None:
        """A pod goes back into the queue."""
        super().sent_back(failure)
        self._failed.append(failure)

    def as_data(self, milliseconds: int, held: Iterable[HeldPod]) -> dict[str, Any]:
        """The cycle as recordings tell it; what is empty is left out."""
        domains = self._group.domains if self._group is not None else None
        data = {
            "at": milliseconds,
            "popped": self._popped,
            "attempts": [_attempt(outcome) for outcome in self._attempts if self._tells_attempts],
            "placements": {
                name: [_attempt(outcome) for outcome in tried] for name, tried in sorted((domains or {}).items())
            },
            "failed": [_failed(failure) for failure in self._in_order()],
            "bound": dict(sorted(self.bound.items())),
            "waiting": {one.pod.key: one.node_name for one in held},
            "victims": sorted(self.victims),
            "groups": dict(sorted(self._groups.items())),
        }
        return {name: value for name, value in data.items() if value}

    def _in_order(self) -> list[Failure]:
        if self._group is not None and self._group.root.is_composite:
            return sorted(self._failed, key=lambda failure: failure.pod.key)
        return self._failed


def _attempt(outcome: Placement | Failure) -> dict[str, str]:
    if isinstance(outcome, Placement):
        return {"pod": outcome.pod.key, "node": outcome.node_name}
    return {"pod": outcome.pod.key, "error" if outcome.is_error else "message": outcome.message}


def _failed(failure: Failure) -> dict[str, str]:
    reason = SCHEDULER_ERROR if failure.is_error else UNSCHEDULABLE
    failed = {"pod": failure.pod.key, "reason": reason, "message": failure.full_message}
    if failure.nomination is not None:
        failed["nominated"] = failure.nomination.node_name
    return failed
