"""A pod's life on a hollow node, as a table.

Each stage says for which pods it is due, when, and what it makes of them. Of the stages that apply to a pod the
one due first happens next; of two due at once, the one that stands first.
"""

from collections.abc import Callable
from dataclasses import dataclass

from moorage.nodes.runs import Run, State

FIRST_BACK_OFF, LONGEST_BACK_OFF = 10.0, 300.0
"""Seconds between restarts: none before the first, then these, doubling."""
LONG_RUN = 600.0
"""Seconds of running after which the back-off starts again."""
KILLED = 143
"""What a container exits with when it is told to stop (128 + SIGTERM)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast things go on hollow nodes, in seconds, for pods whose annotations do not say."""

    start_seconds: float = 0.0
    termination_seconds: float = 0.2
    job_run_seconds: float = 1.0
    """How long the pods of Jobs run; all others run on until they are told to end."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that happens to pods."""

    name: str
    applies: Callable[[Run, Pace], bool]
    due: Callable[[Run, Pace], float]
    happens: Callable[[Run, float], None]


def next_stage(run: Run, pace: Pace) -> tuple[float, Stage] | None:
    """What happens next to a pod, and when; None where nothing does by itself."""
    due = [(stage.due(run, pace), at, stage) for at, stage in enumerate(STAGES) if stage.applies(run, pace)]
    if not due:
        return None
    when, _, stage = min(due)
    return when, stage


def _is_terminating(run: Run, _pace: Pace) -> bool:
    return run.terminating_since is not None and run.state is not State.REMOVED


def _termination_due(run: Run, pace: Pace) -> float:
    since = run.terminating_since or 0.0
    if run.is_finished:
        return since
    seconds = pace.termination_seconds if run.told.termination_seconds is None else run.told.termination_seconds
    allowed = run.pod.metadata.deletion_grace_period_seconds
    return since + (seconds if allowed is None else min(seconds, allowed))


def _terminate(run: Run, now: float) -> None:
    if not run.is_finished:
        run.exit_code = KILLED
        _end(run, State.FAILED, now)
    run.state = State.REMOVED


def _has_deadline(run: Run, _pace: Pace) -> bool:
    return run.pod.spec.active_deadline_seconds is not None and not run.is_finished


def _deadline(run: Run, _pace: Pace) -> float:
    return run.admitted_at + (run.pod.spec.active_deadline_seconds or 0)


def _miss_deadline(run: Run, now: float) -> None:
    run.exit_code = KILLED
    run.reason = "DeadlineExceeded"
    run.message = "Pod was active on the node longer than the specified deadline"
    _end(run, State.FAILED, now)


def _is_starting(run: Run, _pace: Pace) -> bool:
    return run.state is State.STARTING


def _start_due(run: Run, pace: Pace) -> float:
    told = run.told.start_seconds
    return run.admitted_at + (pace.start_seconds if told is None else told)


def _start(run: Run, now: float) -> None:
    run.state, run.started_at, run.changed_at = State.RUNNING, now, now


def _exits_by_itself(run: Run, pace: Pace) -> bool:
    return run.state is State.RUNNING and _run_seconds(run, pace) is not None


def _exit_due(run: Run, pace: Pace) -> float:
    return run.started_at + (_run_seconds(run, pace) or 0.0)


def _exit(run: Run, now: float) -> None:
    run.exit_code = run.told.exit_code
    policy = run.pod.spec.restart_policy
    if policy == "Never" or (policy == "OnFailure" and run.exit_code == 0):
        _end(run, State.FAILED if run.exit_code else State.SUCCEEDED, now)
        return
    run.back_off = _next_back_off(run, now)
    run.state, run.changed_at = State.BACKING_OFF, now


def _next_back_off(run: Run, now: float) -> float:
    if run.restarts == 0 or now - run.started_at >= LONG_RUN:
        return 0.0
    return min(max(run.back_off * 2, FIRST_BACK_OFF), LONGEST_BACK_OFF)


def _is_backing_off(run: Run, _pace: Pace) -> bool:
    return run.state is State.BACKING_OFF


def _restart_due(run: Run, _pace: Pace) -> float:
    return run.changed_at + run.back_off


def _restart(run: Run, now: float) -> None:
    run.restarts += 1
    _start(run, now)


def _end(run: Run, state: State, now: float) -> None:
    run.state, run.changed_at = state, now


def _run_seconds(run: Run, pace: Pace) -> float | None:
    """How long the containers run: as annotated, for Jobs as is the pace, else for ever."""
    if run.told.run_seconds is not None:
        return run.told.run_seconds
    is_of_job = any(owner.kind == "Job" and owner.controller for owner in run.pod.metadata.owner_references)
    return pace.job_run_seconds if is_of_job else None


STAGES = (
    Stage("terminate", _is_terminating, _termination_due, _terminate),
    Stage("miss its deadline", _has_deadline, _deadline, _miss_deadline),
    Stage("start", _is_starting, _start_due, _start),
    Stage("exit", _exits_by_itself, _exit_due, _exit),
    Stage("restart", _is_backing_off, _restart_due, _restart),
)
