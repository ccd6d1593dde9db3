"""Pods into counts, each exactly once.

A pod of a Job carries a finalizer, so that it cannot vanish uncounted. One that has ended goes through three writes:
its uid into the status (uncounted), the finalizer off the pod, and then uid into number. A controller that dies in
between finds in the status where it was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Job, UncountedPods

TRACKING = "batch.kubernetes.io/job-tracking"

MOST_UNCOUNTED = 500
"""Uids in a status at one time."""


@dataclass(frozen=True, slots=True)
class Count:
    """Where the counting of a Job's pods stands after one more step."""

    succeeded: int
    failed: int
    uncounted: UncountedPods
    pending: int
    """How many ended pods, uncounted ones included, are still to be counted."""
    ended_well: int
    ended_badly: int
    """All that have ended, as they will be counted."""
    to_release: tuple[Pod, ...]
    """Whose finalizer may come off once `uncounted` is written."""


def count(job: Job, pods: Sequence[Pod], *, is_ending: bool) -> Count:
    """One step: count whose finalizer is off, and take note of those who have ended since.

    A pod that is deleted while it runs has failed, as far as the Job is concerned; where the Job is ending anyway,
    it is only let go.
    """
    noted = job.status.uncounted_terminated_pods
    held = {pod.metadata.uid for pod in pods if TRACKING in pod.metadata.finalizers}
    well = [uid for uid in noted.succeeded if uid in held]
    badly = [uid for uid in noted.failed if uid in held]
    known = {*well, *badly}
    new_well, new_badly, dropped = _newly_ended(pods, known, is_ending=is_ending)
    room = max(0, MOST_UNCOUNTED - len(known))
    taken_well = new_well[:room]
    taken_badly = new_badly[: room - len(taken_well)]
    counted_already = [pod for pod in pods if pod.metadata.uid in known]
    return Count(
        succeeded=job.status.succeeded + len(noted.succeeded) - len(well),
        failed=job.status.failed + len(noted.failed) - len(badly),
        uncounted=UncountedPods((*well, *_uids(taken_well)), (*badly, *_uids(taken_badly))),
        pending=len(known) + len(new_well) + len(new_badly),
        ended_well=job.status.succeeded + len(noted.succeeded) + len(new_well),
        ended_badly=job.status.failed + len(noted.failed) + len(new_badly),
        to_release=(*counted_already, *taken_well, *taken_badly, *dropped),
    )


def count_indexed(job: Job, pods: Sequence[Pod], completed: int, *, is_ending: bool) -> Count:
    """The same for a Job whose completions are numbered: the numbers keep a success from being counted twice."""
    successes = [pod for pod in pods if pod.status.phase == "Succeeded" and TRACKING in pod.metadata.finalizers]
    others = [pod for pod in pods if pod.status.phase != "Succeeded"]
    step = count(job, others, is_ending=is_ending)
    return replace(
        step,
        succeeded=completed,
        ended_well=completed,
        pending=step.pending + len(successes),
        to_release=(*step.to_release, *successes),
    )


def _newly_ended(pods: Sequence[Pod], known: set[str], *, is_ending: bool) -> tuple[list[Pod], list[Pod], list[Pod]]:
    well: list[Pod] = []
    badly: list[Pod] = []
    dropped: list[Pod] = []
    for pod in pods:
        meta = pod.metadata
        if TRACKING not in meta.finalizers or meta.uid in known:
            continue
        if pod.status.phase == "Succeeded":
            well.append(pod)
        elif pod.status.phase == "Failed":
            badly.append(pod)
        elif meta.is_terminating and _is_gone(pod):
            (dropped if is_ending else badly).append(pod)
    return well, badly, dropped


def _is_gone(pod: Pod) -> bool:
    """A pod that never had a node has no kubelet that could say how it ended."""
    return not pod.spec.node_name


def _uids(pods: Iterable[Pod]) -> tuple[str, ...]:
    return tuple(pod.metadata.uid for pod in pods)
