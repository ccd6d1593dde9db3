"""The StickyJob controller: one job at a time, from its template to a pod, from the pod to where it ran.

Why there are never two pods of a job: a pod has its job's name, and the API server has room for one of that name.
Why no node is forgotten: a pod carries a finalizer, which comes off only after the job's status, with the node in it,
has been written. A controller that dies in between finds on the pod and in the status where it was.
"""

from typing import Any

from msgspec.structs import replace

from moorage.controllers.objects.meta import Condition, condition_of
from moorage.controllers.objects.nodes import Node
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.stickyjobs import StickyJob, StickyJobStatus
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.expectations import Expectations, Freshness
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.runtime.podwork import pod_of
from moorage.controllers.runtime.writer import is_namespace_terminating
from moorage.controllers.stickyjobs import statuses
from moorage.controllers.stickyjobs.runs import end_of, has_run
from moorage.controllers.stickyjobs.statuses import BACK_OFF, INVALID, PENDING, TEMPLATE_CONDITION, Told
from moorage.kube.errors import AlreadyExists, NotFound, StatusError
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import NORMAL, WARNING
from moorage.objects import COMPLETE, LAST_NODE, LAST_NODE_UID, STATUS_VERSION
from moorage.values.time import time_of

Json = dict[str, Any]

FINALIZER = "example.com/sticky"

OVERDUE_SECONDS = 5.0
"""How long after its time a pod may take to go before its job says that it waits for that."""
LOOK_AGAIN_SECONDS = 1.0
NAME_REST_SECONDS = 1.0
"""How long after a pod was told to go its name rests at least. `kubectl delete` waits for the name: one that finds the
next pod under it before it has seen the last one go would wait for ever."""

_PODS = resource_of("Pod")
_JOBS = resource_of(StickyJob)


class StickyJobController(Controller):
    """Keeps one pod of each StickyJob, and writes down where it ran."""

    name = "stickyjob"
    workers = 8
    rights = (
        ("", ("pods",), ("get", "list", "watch", "create", "patch", "delete")),
        ("", ("nodes",), ("get", "list", "watch")),
        ("example.com", ("stickyjobs",), ("get", "list", "watch")),
        ("example.com", ("stickyjobs/status",), ("patch",)),
        # The owner of a pod is held until the pod has gone.
        ("example.com", ("stickyjobs/finalizers",), ("update",)),
        ("events.k8s.io", ("events",), ("create", "patch")),
    )

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._jobs = cluster.informers.watch(StickyJob, self.enqueue)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)
        self._nodes = cluster.informers.of(Node)
        self._freshness = Freshness()
        self._expectations = Expectations(cluster.clock)
        #: When the last pod was seen to be told to go, until the next is made.
        self._told_to_go: dict[Key, float] = {}

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new if new is not None else old
        assert pod is not None, "a change has an old or a new state"
        key = pod.metadata.namespace, pod.metadata.name
        if new is None:
            self._expectations.saw_gone(key, pod.metadata.uid)
        else:
            self._expectations.saw(key, pod.metadata.uid)
        if pod.metadata.is_terminating and FINALIZER in pod.metadata.finalizers:
            self._told_to_go.setdefault(key, self.cluster.clock())
        if FINALIZER in pod.metadata.finalizers or self._jobs.get(key[1], key[0]) is not None:
            self.queue.add(key)

    async def sync(self, key: Key) -> float | None:
        """Bring one StickyJob up to date."""
        job, pod = self._jobs.get(key[1], key[0]), self._pods.get(key[1], key[0])
        if job is None:
            self._freshness.forget(key)
            self._expectations.forget(key)
            self._told_to_go.pop(key, None)
            await self._let_go(pod)
            return None
        if not self._freshness.is_fresh(job):
            return None
        if pod is None:
            return await self._begin(job) if self._expectations.are_met(key) else LOOK_AGAIN_SECONDS
        if _job_uid(pod) != job.metadata.uid:
            await self._let_go(pod)
            note = f"a pod that is not this job's has its name, {key[1]}: it runs when that pod is gone"
            await self._tell(job, job.status, Told(INVALID, "PodNameTaken", note))
            return None
        return await self._follow(job, pod)

    # ---------------------------------------------------------------------------------------------- without a pod

    async def _begin(self, job: StickyJob) -> float | None:
        """Make the pod, if it is time to."""
        if job.metadata.is_terminating:
            return None
        if job.is_complete:
            await self._tell(job, job.status, statuses.complete(job.status))
            return None
        fault = statuses.template_fault(job)
        if fault is not None:
            await self._tell(job, job.status, Told(INVALID, fault.reason, "there is nothing to run"))
            return None
        wait = statuses.retry_in(job.status, self.cluster.clock())
        if wait > 0:
            await self._tell(job, job.status, Told(BACK_OFF, "PodFailed", "the next pod comes after a while"))
            return wait
        rest = self._told_to_go.get(key_of(job), 0.0) + NAME_REST_SECONDS - self.cluster.clock()
        return rest if rest > 0 else await self._create(job)

    async def _create(self, job: StickyJob) -> float | None:
        meta = job.metadata
        try:
            created = (await self.cluster.writer.create(_PODS, self._pod_for(job), meta.namespace))["metadata"]
        except AlreadyExists:
            # A pod that we have not seen yet: ours, made before a restart or by another instance, or a foreign one.
            return LOOK_AGAIN_SECONDS
        except StatusError as error:
            if is_namespace_terminating(error):
                return None
            self.record(job, "FailedCreate", f"Error creating: {error}", action="Creating", event_type=WARNING)
            await self._tell(job, job.status, Told(PENDING, "PodRefused", str(error)))
            raise
        seen = self._pods.get(meta.name, meta.namespace)
        if seen is None or seen.metadata.uid != created["uid"]:
            self._expectations.created((meta.namespace, meta.name), created["uid"])
        self._told_to_go.pop(key_of(job), None)
        self.record(job, "SuccessfulCreate", f"Created pod: {meta.name}", action="Creating")
        status = replace(job.status, pod_name=meta.name, retry_time="")
        await self._tell(job, status, Told(PENDING, "PodPending", f"pod {meta.name} waits for a node"))
        return None

    def _pod_for(self, job: StickyJob) -> Json:
        pod = pod_of(job, job.spec.template, [FINALIZER])
        metadata, status = pod["metadata"], job.status
        del metadata["generateName"]
        metadata["name"] = job.metadata.name
        if status.last_node:
            known = {LAST_NODE: status.last_node, STATUS_VERSION: job.metadata.resource_version}
            if status.last_node_uid:
                known[LAST_NODE_UID] = status.last_node_uid
            metadata["annotations"] = {**metadata["annotations"], **known}
        if not pod["spec"].get("schedulerName"):
            pod["spec"] = {**pod["spec"], "schedulerName": self.cluster.scheduler_name}
        return pod

    # ------------------------------------------------------------------------------------------------- with a pod

    async def _follow(self, job: StickyJob, pod: Pod) -> float | None:
        """Write down where the pod ran and how it ended, then make room for the next."""
        now, end = self.cluster.clock(), end_of(pod)
        status = replace(job.status, pod_name=pod.metadata.name)
        if has_run(pod) and status.pod_uid != pod.metadata.uid:
            node = self._nodes.get(pod.spec.node_name)
            status = statuses.with_last_node(status, pod.spec.node_name, node.metadata.uid if node is not None else "")
        if end is None:
            await self._tell(job, status, statuses.of_pod(pod))
            return None
        if pod.is_finished:
            status = statuses.with_end(job, status, pod, end, now)
            await self._tell(job, status, statuses.of_end(job, status, pod))
        else:
            await self._write(job, status)
        await self._release(pod)
        if pod.metadata.is_terminating:
            return await self._await_end(job, status, pod)
        if job.spec.completions is not None and status.succeeded >= job.spec.completions:
            return None
        wait = statuses.retry_in(status, now)
        if wait > 0:
            return wait
        await self.cluster.writer.delete(_PODS, pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)
        return None

    async def _await_end(self, job: StickyJob, status: StickyJobStatus, pod: Pod) -> float | None:
        """The pod goes: say so if it takes longer than it may."""
        deadline = time_of(pod.metadata.deletion_timestamp) or 0.0
        left = deadline + OVERDUE_SECONDS - self.cluster.clock()
        if left > 0:
            return left
        if not pod.is_finished:
            note = f"pod {pod.metadata.name} on {pod.spec.node_name or 'no node'} was told to go and has not ended"
            await self._tell(job, status, Told(PENDING, "PodTerminating", note))
        return None

    async def _release(self, pod: Pod) -> None:
        if FINALIZER in pod.metadata.finalizers:
            await self.cluster.writer.remove_finalizer(pod, FINALIZER)

    async def _let_go(self, pod: Pod | None) -> None:
        """A pod that carries our finalizer and has no job, or none that still lives, need not wait for us."""
        if pod is not None and FINALIZER in pod.metadata.finalizers and not await self._lives(_job_uid(pod), pod):
            await self._release(pod)

    async def _lives(self, uid: str, pod: Pod) -> bool:
        """Whether the job that made the pod is there, asked of the server: informers may lag."""
        if not uid:
            return False
        try:
            found = await self.cluster.writer.get(_JOBS, pod.metadata.name, pod.metadata.namespace)
        except NotFound:
            return False
        return bool(found["metadata"]["uid"] == uid)

    # ----------------------------------------------------------------------------------------------------- status

    async def _tell(self, job: StickyJob, status: StickyJobStatus, told: Told) -> None:
        """Write the status with a phase, and events of what people should know."""
        status = statuses.with_phase(job, status, told, self.cluster.now())
        if await self._write(job, status):
            self._record_changes(job, status, told)

    async def _write(self, job: StickyJob, status: StickyJobStatus) -> bool:
        """Write the status if it is another. Refused where the job has changed meanwhile."""
        if status == job.status:
            return False
        patch = statuses.status_json(status)
        self._freshness.wrote(await self.cluster.writer.patch_status(job, patch, is_guarded=True))
        return True

    def _record_changes(self, job: StickyJob, status: StickyJobStatus, told: Told) -> None:
        before = job.status
        if status.last_node != before.last_node:
            self.record(job, "LastNode", f"It now sticks to {status.last_node}", action="Recording")
        unusable = condition_of(status.conditions, TEMPLATE_CONDITION)
        if unusable is not None and not _is_said(before, unusable):
            self.record(job, unusable.reason, unusable.message, action="Creating", event_type=WARNING)
        if status.phase != before.phase and told.phase in (BACK_OFF, INVALID, COMPLETE) and unusable is None:
            kind = NORMAL if told.phase == COMPLETE else WARNING
            self.record(job, told.reason, told.message, action="Running", event_type=kind)


def _is_said(status: StickyJobStatus, condition: Condition) -> bool:
    known = condition_of(status.conditions, condition.type)
    return known is not None and known.status == condition.status


def _job_uid(pod: Pod) -> str:
    """The uid of the StickyJob that made the pod; empty for the pods of others."""
    owner = pod.metadata.controller
    is_ours = owner is not None and owner.kind == StickyJob.KIND and owner.api_version == StickyJob.API_VERSION
    return owner.uid if is_ours and owner is not None and owner.name == pod.metadata.name else ""
