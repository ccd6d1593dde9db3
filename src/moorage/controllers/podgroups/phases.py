"""From the pods of a group to its status."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from moorage.controllers.objects.podgroups import PodGroup, PodGroupStatus
from moorage.controllers.objects.pods import Pod

Json = dict[str, Any]

PENDING, SCHEDULING, RUNNING, FINISHED, FAILED = "Pending", "Scheduling", "Running", "Finished", "Failed"


def status_of(group: PodGroup, pods: Sequence[Pod], now: str) -> PodGroupStatus:
    """The group's status with these pods in it. A group that has finished stays so when its pods are cleaned away.

    The scheduler-plugins' controller also takes Failed for an end; here a group whose pods are made anew goes on.
    """
    before = group.status
    if before.phase == FINISHED:
        return before
    phases = Counter(pod.status.phase for pod in pods)
    counted = replace(before, running=phases["Running"], succeeded=phases["Succeeded"], failed=phases["Failed"])
    phase = _phase(group.spec.min_member, len(pods), counted)
    status = replace(counted, phase=phase)
    if phase != PENDING and not status.occupied_by:
        status = replace(status, occupied_by=_owners(pods))
    if phase == SCHEDULING and before.phase != SCHEDULING:
        status = replace(status, schedule_start_time=now)
    return status


def _phase(min_member: int, pods: int, counted: PodGroupStatus) -> str:
    """What holds of these counts, the last first, as the scheduler-plugins have it."""
    going_on = counted.running + counted.succeeded
    if counted.succeeded and counted.succeeded >= min_member:
        return FINISHED
    if not pods or pods < min_member:
        return PENDING
    if counted.failed and counted.failed + going_on >= min_member:
        return FAILED
    return RUNNING if going_on and going_on >= min_member else SCHEDULING


def _owners(pods: Sequence[Pod]) -> str:
    """Whose the first pod is."""
    first = min(pods, key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name), default=None)
    if first is None:
        return ""
    return ",".join(sorted(f"{first.metadata.namespace}/{owner.name}" for owner in first.metadata.owner_references))


def status_json(status: PodGroupStatus) -> Json:
    """As a merge patch takes it; the scheduler's conditions stay."""
    return {
        "phase": status.phase,
        "occupiedBy": status.occupied_by or None,
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "scheduleStartTime": status.schedule_start_time or None,
    }
