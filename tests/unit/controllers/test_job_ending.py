"""When a Job has ended, and how."""

from typing import Any

import pytest

from moorage.controllers.jobs import ending
from moorage.controllers.jobs.controller import back_off
from moorage.controllers.jobs.ending import Tally, outcome_of, wanted_pods
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Job
from moorage.objects import convert

BEGUN = 1_000_000_000.0


def job(status: dict[str, Any] | None = None, **spec: Any) -> Job:
    return convert({"spec": spec, "status": {"startTime": "2001-09-09T01:46:40Z", **(status or {})}}, Job)


@pytest.mark.parametrize(
    ("tally", "spec", "expected"),
    [
        (Tally(2, 0, 1), {"completions": 3}, None),
        (Tally(3, 1, 0), {"completions": 3}, "CompletionsReached"),
        (Tally(0, 6, 0), {"completions": 1}, None),
        (Tally(0, 7, 0), {"completions": 1}, "BackoffLimitExceeded"),
        (Tally(0, 1, 0), {"completions": 1, "backoffLimit": 0}, "BackoffLimitExceeded"),
        (Tally(0, 0, 1, restarts=6), {"completions": 1}, "BackoffLimitExceeded"),
        (Tally(1, 0, 1), {}, None),
        (Tally(1, 0, 0), {}, "CompletionsReached"),
        (Tally(0, 0, 1), {"completions": 1, "activeDeadlineSeconds": 61}, None),
        (Tally(0, 0, 1), {"completions": 1, "activeDeadlineSeconds": 60}, "DeadlineExceeded"),
    ],
)
def test_outcomes(tally: Tally, spec: dict[str, Any], expected: str | None) -> None:
    outcome = outcome_of(job(**spec), tally, BEGUN + 60)
    assert (outcome.reason if outcome is not None else None) == expected


def test_what_was_announced_stays() -> None:
    told = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "late"}
    outcome = outcome_of(job({"conditions": [told]}, completions=1), Tally(1, 0, 0), BEGUN)
    assert outcome == ending.Outcome("Failed", "DeadlineExceeded", "late")


@pytest.mark.parametrize(
    ("tally", "spec", "wanted"),
    [
        (Tally(0, 0, 0), {"completions": 5, "parallelism": 2}, 2),
        (Tally(4, 0, 0), {"completions": 5, "parallelism": 2}, 1),
        (Tally(5, 0, 0), {"completions": 5, "parallelism": 2}, 0),
        (Tally(0, 0, 1), {"parallelism": 3}, 3),
        (Tally(1, 0, 2), {"parallelism": 3}, 2),
    ],
)
def test_how_many_pods_should_run(tally: Tally, spec: dict[str, Any], wanted: int) -> None:
    assert wanted_pods(job(**spec), tally) == wanted


def test_a_suspended_job_has_no_deadline() -> None:
    assert ending.deadline_in(job(suspend=True, activeDeadlineSeconds=1), BEGUN + 9) is None


def test_an_ended_job_goes_when_its_time_has_come() -> None:
    ended = {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2001-09-09T01:46:40Z"}]}
    assert ending.expires_in(job(ended, ttlSecondsAfterFinished=100), BEGUN + 30) == 70.0
    assert ending.expires_in(job(ended, ttlSecondsAfterFinished=100), BEGUN + 300) == 0.0
    assert ending.expires_in(job(ended), BEGUN) is None


def ended(phase: str, second: int) -> Pod:
    state = {"terminated": {"exitCode": 1, "finishedAt": f"2001-09-09T01:46:{second:02}Z"}}
    return convert({"status": {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]}}, Pod)


@pytest.mark.parametrize(
    ("pods", "seconds"),
    [
        ([], 0.0),
        ([ended("Failed", 40)], 10.0),
        ([ended("Failed", 40), ended("Failed", 45)], 25.0),
        ([ended("Failed", 40), ended("Failed", 41), ended("Succeeded", 45)], 0.0),
        ([ended("Succeeded", 40), ended("Failed", 45)], 15.0),
    ],
)
def test_failures_delay_the_next_pod_until_one_succeeds(pods: list[Pod], seconds: float) -> None:
    assert back_off(pods, BEGUN) == seconds
