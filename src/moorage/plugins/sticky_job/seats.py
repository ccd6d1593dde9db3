"""Seats: room kept on its last node for a job whose pod is away, for a while."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from moorage.columns import NodeInfo, PodInfo, Snapshot
from moorage.objects import COMPLETE, Pod, PriorityClass, StickyJob
from moorage.plugins.sticky_job.homes import job_uid
from moorage.values.requests import PODS, pod_request
from moorage.values.time import parse_time

RUNNING = "Running"


@dataclass(frozen=True, slots=True)
class Seat:
    """Room on a node that is kept for a job's pod."""

    job: str
    amounts: Mapping[str, int]
    until: float


class Seats:
    """The seats of all jobs that want theirs kept. Nothing is remembered but when a pod was first missed."""

    def __init__(self, snapshot: Snapshot, now: Callable[[], float]) -> None:
        self._snapshot = snapshot
        self._now = now
        #: Uid of a job -> since when its pod is missed, as long as its status still says that it runs.
        self._missed: dict[str, float] = {}

    @property
    def jobs_of(self) -> Mapping[str, Sequence[StickyJob]]:
        """Node -> the jobs whose seat may be kept there; under the empty name all that want none."""
        return self._snapshot.objects.by(StickyJob, _seat_node)

    def kept_from(self, pod: PodInfo) -> dict[str, list[Seat]]:
        """Node -> the seats there that the pod must leave free: those of jobs no less important than itself."""
        jobs_of = self.jobs_of
        if not jobs_of or (len(jobs_of) == 1 and "" in jobs_of):
            return {}
        own, now = job_uid(pod.pod), self._now()
        kept: dict[str, list[Seat]] = {}
        for node_name, jobs in jobs_of.items():
            node = self._snapshot.nodes.get(node_name)
            for job in jobs if node is not None else ():
                if job.metadata.uid != own and self._priority(job) >= pod.priority:
                    seat = self._seat(job, node, now)
                    if seat is not None:
                        kept.setdefault(node_name, []).append(seat)
        return kept

    def _seat(self, job: StickyJob, node: NodeInfo | None, now: float) -> Seat | None:
        uid, status = job.metadata.uid, job.status
        if node is None or status.last_node_uid not in ("", node.node.metadata.uid):
            return None
        if any(job_uid(other.pod) == uid for other in node.pods.values()):
            self._missed.pop(uid, None)
            return None
        until = self._away_since(job, now) + job.spec.seat_seconds
        if now >= until:
            return None
        pod = Pod(spec=job.spec.template.spec)
        return Seat(job.key, pod_request(pod).amounts, until)

    def _away_since(self, job: StickyJob, now: float) -> float:
        told = next((one for one in job.status.conditions if one.type == RUNNING and one.status == "False"), None)
        if told is not None and told.last_transition_time:
            self._missed.pop(job.metadata.uid, None)
            return parse_time(told.last_transition_time)
        # Its pod has gone this moment, and its status does not say so yet.
        return self._missed.setdefault(job.metadata.uid, now)

    def _priority(self, job: StickyJob) -> int:
        spec, objects = job.spec.template.spec, self._snapshot.objects
        if spec.priority is not None:
            return spec.priority
        if spec.priority_class_name:
            named = objects.get(PriorityClass, spec.priority_class_name)
            return named.value if named is not None else 0
        return next((one.value for one in objects.each(PriorityClass) if one.global_default), 0)


def leaves_room(pod: PodInfo, node: NodeInfo, seats: Sequence[Seat]) -> bool:
    """Whether the kept seats still have their room once the pod is on the node."""
    wanted = pod.pod_class.request.amounts
    if node.free(PODS) < 1 + len(seats):
        return False
    kept: dict[str, int] = {}
    for seat in seats:
        for name, amount in seat.amounts.items():
            kept[name] = kept.get(name, 0) + amount
    return all(
        not wanted.get(name) or wanted[name] + amount <= node.free(name) for name, amount in kept.items() if amount
    )


def _seat_node(job: StickyJob) -> str:
    is_wanted = job.spec.seat_seconds > 0 and job.status.phase != COMPLETE and not job.metadata.deletion_timestamp
    return job.status.last_node if is_wanted else ""
