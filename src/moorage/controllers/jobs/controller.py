"""The Job controller: one Job at a time, from its template to pods, from pods to counts, from counts to an end."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.controllers.jobs import ending
from moorage.controllers.jobs.counting import TRACKING, Count, count, count_indexed
from moorage.controllers.jobs.ending import Outcome, Tally
from moorage.controllers.jobs.indexes import (
    completed_indexes,
    format_indexes,
    indexed_pod,
    missing_indexes,
    surplus_pods,
)
from moorage.controllers.objects.meta import Condition, as_json, condition_of, with_condition
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Job, JobStatus, UncountedPods
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.expectations import Freshness
from moorage.controllers.runtime.podwork import BURST, PodWork, pod_of
from moorage.errors import ApiError
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING
from moorage.values.time import time_of

Json = dict[str, Any]

FIRST_BACK_OFF, LONGEST_BACK_OFF = 10.0, 600.0
"""Seconds after a pod failed before another takes its place, doubling with each that fails."""

_JOBS = resource_of("Job")


@dataclass(frozen=True, slots=True)
class _Scene:
    """A Job and its pods, and where the counting of them stands."""

    job: Job
    pods: Sequence[Pod]
    active: Sequence[Pod]
    counted: Count
    completed: frozenset[int]
    """Which completions are done, where they are numbered."""
    now: float

    @property
    def tally(self) -> Tally:
        return Tally(self.counted.ended_well, self.counted.ended_badly, len(self.active), self._restarts)

    @property
    def terminating(self) -> int:
        return sum(pod.metadata.is_terminating and not pod.is_finished for pod in self.pods)

    @property
    def _restarts(self) -> int:
        """Where containers are started again on the node, that is how they fail."""
        return sum(pod.restarts for pod in self.active) if restarts_on_node(self.job) else 0


class JobController(Controller):
    """Runs the pods of each Job, counts how they end, and says when the Job has."""

    name = "job"
    workers = 5

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._jobs = cluster.informers.watch(Job, self.enqueue)
        self._work = PodWork(self, Job.KIND)
        self._owned = cluster.informers.index(Pod, _jobs_of)
        self._freshness = Freshness()

    async def sync(self, key: Key) -> float | None:
        """Bring one Job up to date."""
        job = self._jobs.get(key[1], key[0])
        pods = self._owned["/".join(key)]
        uid = job.metadata.uid if job is not None else ""
        await self._release(pod for pod in pods if not _belongs(pod, uid))
        if job is None:
            self._work.forget(key)
            self._freshness.forget(key)
            return None
        pods = [pod for pod in pods if _belongs(pod, uid)]
        if ending.has_ended(job):
            await self._release(pods)
            return await self._expire(job)
        is_known = self._work.is_settled(key) and self._freshness.is_fresh(job)
        if job.metadata.is_terminating or not is_known:
            return None
        return await self._advance(job, pods)

    async def _advance(self, job: Job, pods: Sequence[Pod]) -> float | None:
        now = self.cluster.clock()
        active = [pod for pod in pods if pod.is_active]
        scene = _scene(job, pods, active, now)
        outcome = ending.outcome_of(job, scene.tally, now)
        failure: ApiError | None = None
        waits: list[float | None] = []
        if outcome is not None or job.spec.suspend:
            failure = await self._work.delete(job, active) if active else None
        elif job.status.start_time:
            failure, delay = await self._manage(scene)
            waits = [delay, ending.deadline_in(job, now)]
        await self._write_status(scene, outcome)
        await self._release(scene.counted.to_release)
        if failure is not None:
            raise failure
        return min((wait for wait in waits if wait is not None), default=None)

    async def _manage(self, scene: _Scene) -> tuple[ApiError | None, float | None]:
        """Make or delete pods. Returns what went wrong, and in how many seconds another may be made."""
        job, active = scene.job, scene.active
        surplus = surplus_pods(job, scene.completed, active) if job.is_indexed else []
        if surplus:
            return await self._work.delete(job, surplus), None
        missing = ending.wanted_pods(job, scene.tally) - len(active)
        if missing < 0:
            least_useful = sorted(active, key=lambda pod: (bool(pod.spec.node_name), pod.is_ready))
            return await self._work.delete(job, least_useful[:-missing]), None
        if missing == 0:
            return None, None
        delay = back_off(scene.pods, scene.now)
        if delay > 0:
            return None, delay
        return await self._work.create(job, _bodies(scene, min(missing, BURST))), None

    async def _release(self, pods: Iterable[Pod]) -> None:
        held = [pod for pod in pods if TRACKING in pod.metadata.finalizers]
        await asyncio.gather(*(self.cluster.writer.remove_finalizer(pod, TRACKING) for pod in held))

    async def _expire(self, job: Job) -> float | None:
        wait = ending.expires_in(job, self.cluster.clock())
        if wait == 0.0 and not job.metadata.is_terminating:
            meta = job.metadata
            await self.cluster.writer.delete(_JOBS, meta.name, meta.namespace, uid=meta.uid, propagation="Foreground")
            return None
        return wait

    async def _write_status(self, scene: _Scene, outcome: Outcome | None) -> None:
        job, counted = scene.job, scene.counted
        is_over = outcome is not None and not scene.active and not scene.terminating and not counted.pending
        status = msgspec.structs.replace(
            self._with_suspension(job, self.cluster.now()),
            active=len(scene.active) if outcome is None and not job.spec.suspend else 0,
            ready=sum(pod.is_ready for pod in scene.active) if outcome is None and not job.spec.suspend else 0,
            terminating=scene.terminating,
            succeeded=counted.succeeded,
            failed=counted.failed,
            uncounted_terminated_pods=counted.uncounted,
            completed_indexes=format_indexes(scene.completed),
        )
        if outcome is not None:
            status = self._with_outcome(status, outcome, is_over=is_over)
        if status == job.status:
            return
        self._freshness.wrote(await self.cluster.writer.patch_status(job, _status_json(status), is_guarded=True))
        if is_over and outcome is not None:
            self._record_end(job, outcome)

    def _with_suspension(self, job: Job, stamp: str) -> JobStatus:
        """When the Job began, and whether it rests: it begins anew each time it is resumed."""
        status, known = job.status, condition_of(job.status.conditions, ending.SUSPENDED)
        is_said_suspended = known is not None and known.status == "True"
        if job.spec.suspend:
            if is_said_suspended:
                return status
            told = Condition(ending.SUSPENDED, "True", "JobSuspended", "Job suspended", stamp, last_probe_time=stamp)
            return msgspec.structs.replace(status, start_time="", conditions=with_condition(status.conditions, told))
        if is_said_suspended:
            told = Condition(ending.SUSPENDED, "False", "JobResumed", "Job resumed", stamp, last_probe_time=stamp)
            status = msgspec.structs.replace(status, conditions=with_condition(status.conditions, told))
        return status if status.start_time else msgspec.structs.replace(status, start_time=stamp)

    def _with_outcome(self, status: JobStatus, outcome: Outcome, *, is_over: bool) -> JobStatus:
        stamp = self.cluster.now()
        conditions = status.conditions
        if condition_of(conditions, outcome.announced_by) is None:
            conditions = with_condition(conditions, ending.condition_for(outcome, outcome.announced_by, stamp))
        if is_over:
            conditions = with_condition(conditions, ending.condition_for(outcome, outcome.type, stamp))
        is_complete = is_over and outcome.type == ending.COMPLETE
        return msgspec.structs.replace(
            status, conditions=conditions, completion_time=stamp if is_complete else status.completion_time
        )

    def _record_end(self, job: Job, outcome: Outcome) -> None:
        if outcome.type == ending.COMPLETE:
            self.record(job, "Completed", "Job completed", action="Completing")
        else:
            self.record(job, outcome.reason, outcome.message, action="Failing", event_type=WARNING)


def _scene(job: Job, pods: Sequence[Pod], active: Sequence[Pod], now: float) -> _Scene:
    if not job.is_indexed:
        return _Scene(job, pods, active, count(job, pods, is_ending=_is_ending(job)), frozenset(), now)
    completed = frozenset(completed_indexes(job, pods))
    counted = count_indexed(job, pods, len(completed), is_ending=_is_ending(job))
    return _Scene(job, pods, active, counted, completed, now)


def _bodies(scene: _Scene, most: int) -> list[bytes]:
    """The pods to be made: all alike, or one for each of the lowest numbers that are free."""
    job = scene.job
    if job.is_indexed:
        indexes = missing_indexes(job, scene.completed, scene.active, most)
        return [msgspec.json.encode(indexed_pod(job, index)) for index in indexes]
    return [msgspec.json.encode(pod_of(job, job.spec.template, [TRACKING]))] * most


def back_off(pods: Iterable[Pod], now: float) -> float:
    """Seconds until another pod may be made, after those that have failed since the last one succeeded."""
    ends = sorted((_ended_at(pod) or 0.0, pod.status.phase == "Failed") for pod in pods if pod.is_finished)
    failures, last = 0, 0.0
    for at, has_failed in ends:
        failures = failures + 1 if has_failed else 0
        last = at
    if not failures:
        return 0.0
    step = FIRST_BACK_OFF * 2.0 ** (failures - 1)
    return max(0.0, last + min(step, LONGEST_BACK_OFF) - now)


def restarts_on_node(job: Job) -> bool:
    """Whether the kubelet starts failed containers again."""
    return (job.spec.template.get("spec") or {}).get("restartPolicy") == "OnFailure"


def _ended_at(pod: Pod) -> float | None:
    ends = [item.state.terminated.finished_at for item in pod.status.container_statuses if item.state.terminated]
    times = [at for at in map(time_of, ends) if at is not None]
    return max(times) if times else time_of(pod.metadata.creation_timestamp)


def _is_ending(job: Job) -> bool:
    announcements = (ending.SUCCESS_CRITERIA_MET, ending.FAILURE_TARGET)
    return job.spec.suspend or any(condition_of(job.status.conditions, kind) is not None for kind in announcements)


def _jobs_of(pod: Pod) -> tuple[str, ...]:
    owner = pod.metadata.controller
    return (f"{pod.metadata.namespace}/{owner.name}",) if owner is not None and owner.kind == Job.KIND else ()


def _belongs(pod: Pod, uid: str) -> bool:
    owner = pod.metadata.controller
    return owner is not None and owner.uid == uid


def _status_json(status: JobStatus) -> Json:
    uncounted: UncountedPods = status.uncounted_terminated_pods
    return {
        "active": status.active,
        "ready": status.ready,
        "terminating": status.terminating,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "completedIndexes": status.completed_indexes or None,
        "startTime": status.start_time or None,
        "completionTime": status.completion_time or None,
        "uncountedTerminatedPods": {
            "succeeded": list(uncounted.succeeded) or None,
            "failed": list(uncounted.failed) or None,
        },
        "conditions": as_json(status.conditions),
    }
