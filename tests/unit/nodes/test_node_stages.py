"""A pod's life, told without a clock: each step says when it is due."""

from typing import Any

import pytest

from moorage.nodes.admission import Share
from moorage.nodes.instructions import read_instructions
from moorage.nodes.objects import HostedPod
from moorage.nodes.runs import Run, State, recalled
from moorage.nodes.stages import Pace, next_stage
from moorage.objects import convert

PACE = Pace(start_seconds=1.0, termination_seconds=2.0, job_run_seconds=7.0)
NOTHING = Share({}, ())


def pod(annotations: dict[str, str] | None = None, **fields: Any) -> HostedPod:
    metadata = {"name": "p", "uid": "u", "annotations": annotations or {}, **fields.pop("metadata", {})}
    status = fields.pop("status", {})
    return convert({"metadata": metadata, "spec": {"nodeName": "n", **fields}, "status": status}, HostedPod)


def run_of(hosted: HostedPod, at: float = 100.0) -> Run:
    run = Run(hosted, "n", State.STARTING, NOTHING, admitted_at=at, changed_at=at)
    run.told = read_instructions(hosted)
    return run


def live(run: Run, steps: int) -> list[tuple[float, str, State]]:
    """What happens in the next steps, each exactly when it is due."""
    story = []
    for _ in range(steps):
        coming = next_stage(run, PACE)
        if coming is None:
            break
        due, stage = coming
        stage.happens(run, due)
        story.append((due, stage.name, run.state))
    return story


def test_a_pod_starts_and_runs_for_ever() -> None:
    assert live(run_of(pod()), 9) == [(101.0, "start", State.RUNNING)]


def test_annotations_say_how_long_it_takes_and_how_it_ends() -> None:
    told = {"moorage.dev/start-seconds": "3", "moorage.dev/run-seconds": "5", "moorage.dev/exit-code": "4"}
    run = run_of(pod(told, restartPolicy="Never"))
    assert live(run, 9) == [(103.0, "start", State.RUNNING), (108.0, "exit", State.FAILED)]
    assert run.exit_code == 4


def test_an_exit_code_alone_ends_the_pod_at_once() -> None:
    run = run_of(pod({"moorage.dev/exit-code": "0"}, restartPolicy="OnFailure"))
    assert live(run, 9) == [(101.0, "start", State.RUNNING), (101.0, "exit", State.SUCCEEDED)]


def test_the_pods_of_jobs_end_by_themselves() -> None:
    owner = {"kind": "Job", "name": "j", "uid": "1", "controller": True}
    run = run_of(pod(restartPolicy="Never", metadata={"ownerReferences": [owner]}))
    assert live(run, 9)[-1] == (108.0, "exit", State.SUCCEEDED)


def test_failed_containers_come_back_later_and_later() -> None:
    run = run_of(pod({"moorage.dev/run-seconds": "1", "moorage.dev/exit-code": "1"}, restartPolicy="OnFailure"))
    restarts = [at for at, name, _ in live(run, 17) if name == "restart"]
    ends = [at for at, name, _ in live(run_of(run.pod), 17) if name == "exit"]
    waits = [restart - end for restart, end in zip(restarts, ends, strict=False)]
    assert waits == [0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
    assert run.restarts == 8


def test_a_pod_that_always_restarts_does_so_after_success_too() -> None:
    run = run_of(pod({"moorage.dev/run-seconds": "1"}, restartPolicy="Always"))
    assert [state for _, _, state in live(run, 3)] == [State.RUNNING, State.BACKING_OFF, State.RUNNING]


def test_a_long_run_starts_the_back_off_again() -> None:
    run = run_of(pod({"moorage.dev/run-seconds": "600"}, restartPolicy="Always"))
    live(run, 4)
    assert (run.restarts, run.back_off) == (1, 0.0)


def test_a_deadline_ends_what_runs_too_long() -> None:
    run = run_of(pod(activeDeadlineSeconds=5))
    assert live(run, 9)[-1] == (105.0, "miss its deadline", State.FAILED)
    assert run.reason == "DeadlineExceeded"


@pytest.mark.parametrize(("told", "allowed", "due"), [(None, 30, 152.0), (None, 1, 151.0), ("9", 30, 159.0)])
def test_a_deleted_pod_takes_its_time_within_its_grace(told: str | None, allowed: int, due: float) -> None:
    annotations = {} if told is None else {"moorage.dev/termination-seconds": told}
    run = run_of(pod(annotations, metadata={"deletionGracePeriodSeconds": allowed}))
    live(run, 1)
    run.terminating_since = 150.0
    assert live(run, 9) == [(due, "terminate", State.REMOVED)]
    assert run.exit_code == 143


def test_a_pod_that_has_ended_is_removed_at_once() -> None:
    run = run_of(pod({"moorage.dev/exit-code": "0"}, restartPolicy="Never"))
    live(run, 2)
    run.terminating_since = 150.0
    assert live(run, 9) == [(150.0, "terminate", State.REMOVED)]
    assert run.exit_code == 0


def test_what_is_due_first_happens_first() -> None:
    run = run_of(pod({"moorage.dev/run-seconds": "50"}, restartPolicy="Never", activeDeadlineSeconds=10))
    assert [name for _, name, _ in live(run, 9)] == ["start", "miss its deadline"]


def test_a_run_is_recalled_from_what_the_last_kubelet_wrote() -> None:
    state = {"running": {"startedAt": "1970-01-01T00:01:00Z"}}
    status = {
        "phase": "Running",
        "startTime": "1970-01-01T00:00:30Z",
        "podIP": "10.64.0.9",
        "containerStatuses": [{"name": "c", "restartCount": 2, "state": state}],
    }
    run = recalled(pod(status=status), NOTHING, now=500.0)
    assert run is not None
    assert (run.state, run.admitted_at, run.started_at, run.restarts) == (State.RUNNING, 30.0, 60.0, 2)
    assert run.ip == "10.64.0.9"


def test_a_container_that_waited_to_restart_waits_on() -> None:
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 1, "state": waiting}]}
    run = recalled(pod(status=status), NOTHING, now=500.0)
    assert run is not None
    assert run.state is State.BACKING_OFF


def test_a_pod_that_never_started_is_nobody_to_recall() -> None:
    assert recalled(pod(status={"phase": "Pending"}), NOTHING, now=500.0) is None
