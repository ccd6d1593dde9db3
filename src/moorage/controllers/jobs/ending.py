"""Whether a Job has ended, and how."""

from dataclasses import dataclass

from moorage.controllers.objects.meta import Condition, condition_of
from moorage.controllers.objects.workloads import Job
from moorage.values.time import time_of

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
SUCCESS_CRITERIA_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a Job ends: the condition it will have, and the one that says so while its pods are still going."""

    type: str
    reason: str
    message: str

    @property
    def announced_by(self) -> str:
        return SUCCESS_CRITERIA_MET if self.type == COMPLETE else FAILURE_TARGET


@dataclass(frozen=True, slots=True)
class Tally:
    """The pods of a Job that have ended, whether the status counts them yet or not, and those that have not."""

    succeeded: int
    failed: int
    active: int
    restarts: int = 0
    """How often containers of active pods were started again, where that counts as failing."""


def has_ended(job: Job) -> bool:
    """Whether the Job is complete or failed for good."""
    return any(item.type in (COMPLETE, FAILED) and item.status == "True" for item in job.status.conditions)


def outcome_of(job: Job, tally: Tally, now: float) -> Outcome | None:
    """How the Job ends, if it does now. What has been announced stays."""
    announced = _announced(job)
    if announced is not None:
        return announced
    limit = job.spec.backoff_limit
    if tally.failed > limit or (tally.restarts > 0 and tally.restarts >= limit):
        return Outcome(FAILED, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if deadline_in(job, now) == 0.0:
        return Outcome(FAILED, "DeadlineExceeded", "Job was active longer than specified deadline")
    if _is_complete(job, tally):
        return Outcome(COMPLETE, "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def wanted_pods(job: Job, tally: Tally) -> int:
    """How many pods should run now."""
    if job.spec.completions is None:
        # A work queue: nobody new once one of them has found it empty.
        return tally.active if tally.succeeded else job.spec.parallelism
    return min(job.spec.parallelism, max(0, job.spec.completions - tally.succeeded))


def deadline_in(job: Job, now: float) -> float | None:
    """In how many seconds the Job's deadline is; None where it has none, or has not begun."""
    if job.spec.active_deadline_seconds is None or job.spec.suspend or not job.status.start_time:
        return None
    begun = time_of(job.status.start_time)
    return None if begun is None else max(0.0, begun + job.spec.active_deadline_seconds - now)


def expires_in(job: Job, now: float) -> float | None:
    """In how many seconds a Job that has ended is to be deleted; None where it stays."""
    if job.spec.ttl_seconds_after_finished is None:
        return None
    ended = next((item for item in job.status.conditions if item.type in (COMPLETE, FAILED)), None)
    since = time_of(ended.last_transition_time) if ended is not None else None
    return None if since is None else max(0.0, since + job.spec.ttl_seconds_after_finished - now)


def condition_for(outcome: Outcome, kind: str, stamp: str) -> Condition:
    """The outcome as a condition of one of its two types."""
    return Condition(
        kind,
        "True",
        outcome.reason,
        outcome.message,
        last_transition_time=stamp,
        last_probe_time=stamp,
    )


def _announced(job: Job) -> Outcome | None:
    for announcing, final in ((SUCCESS_CRITERIA_MET, COMPLETE), (FAILURE_TARGET, FAILED)):
        told = condition_of(job.status.conditions, announcing)
        if told is not None and told.status == "True":
            return Outcome(final, told.reason, told.message)
    return None


def _is_complete(job: Job, tally: Tally) -> bool:
    if job.spec.completions is None:
        return tally.succeeded > 0 and tally.active == 0
    return tally.succeeded >= job.spec.completions
