"""A Deployment's status: what kubectl rollout status goes by."""

from typing import Any

import msgspec
import pytest

from moorage.controllers.deployments import progress
from moorage.controllers.deployments.progress import View
from moorage.controllers.objects.meta import condition_of
from moorage.controllers.objects.workloads import Deployment, DeploymentStatus, ReplicaSet
from moorage.objects import convert

START = 1_000_000_000.0


def replica_set(name: str, *, replicas: int, ready: int, **status: Any) -> ReplicaSet:
    counts = {"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready, **status}
    return convert({"metadata": {"name": name}, "spec": {"replicas": replicas}, "status": counts}, ReplicaSet)


def deployment(status: DeploymentStatus | None = None, *, deadline: int | None = 60, replicas: int = 4) -> Deployment:
    spec = {"replicas": replicas, "progressDeadlineSeconds": deadline}
    made = convert({"metadata": {"name": "d", "generation": 2}, "spec": spec}, Deployment)
    return msgspec.structs.replace(made, status=status) if status is not None else made


def advance(
    status: DeploymentStatus | None,
    sets: list[ReplicaSet],
    *,
    now: float = START,
    was_created: bool = False,
    **spec: Any,
) -> DeploymentStatus:
    view = View(deployment(status, **spec), sets, sets[-1], now)
    return progress.with_progress(view, progress.begun(view, progress.counted(view), was_created=was_created))


def reason(status: DeploymentStatus, kind: str = progress.PROGRESSING) -> str | None:
    condition = condition_of(status.conditions, kind)
    return None if condition is None else condition.reason


def test_replicas_are_counted_over_all_sets() -> None:
    status = advance(None, [replica_set("old", replicas=3, ready=3), replica_set("new", replicas=2, ready=1)])
    assert (status.replicas, status.updated_replicas, status.ready_replicas) == (5, 2, 4)
    assert (status.available_replicas, status.unavailable_replicas, status.observed_generation) == (4, 1, 2)


@pytest.mark.parametrize(("ready", "expected"), [(3, "MinimumReplicasAvailable"), (2, "MinimumReplicasUnavailable")])
def test_enough_is_what_the_strategy_demands(ready: int, expected: str) -> None:
    status = advance(None, [replica_set("new", replicas=4, ready=ready)])
    assert reason(status, progress.AVAILABLE) == expected


def test_a_rollout_begins_moves_and_ends() -> None:
    created = advance(None, [replica_set("new", replicas=0, ready=0)], was_created=True)
    assert reason(created) == progress.CREATED
    moving = advance(created, [replica_set("new", replicas=4, ready=2)], now=START + 10)
    assert reason(moving) == progress.UPDATED
    done = advance(moving, [replica_set("new", replicas=4, ready=4)], now=START + 20)
    assert reason(done) == progress.NEW_AVAILABLE
    condition = condition_of(done.conditions, progress.PROGRESSING)
    assert condition is not None
    assert condition.last_transition_time < condition.last_update_time


def test_a_rollout_that_does_not_move_is_stuck_after_its_deadline() -> None:
    sets = [replica_set("new", replicas=4, ready=2)]
    moving = advance(advance(None, sets, was_created=True), sets, now=START)
    assert progress.stuck_in(deployment(moving), moving, START + 20) == 40.0
    assert reason(advance(moving, sets, now=START + 59)) == progress.UPDATED
    stuck = advance(moving, sets, now=START + 60)
    assert reason(stuck) == progress.STUCK
    assert progress.stuck_in(deployment(stuck), stuck, START + 90) is None


def test_what_moves_again_is_no_longer_stuck() -> None:
    sets = [replica_set("new", replicas=4, ready=2)]
    stuck = advance(advance(advance(None, sets, was_created=True), sets), sets, now=START + 60)
    moving = advance(stuck, [replica_set("new", replicas=4, ready=3)], now=START + 70)
    assert reason(moving) == progress.UPDATED


def test_a_pod_that_fails_later_is_no_rollout() -> None:
    full, poorer = [replica_set("new", replicas=4, ready=4)], [replica_set("new", replicas=4, ready=3)]
    done = advance(advance(None, full, was_created=True), full)
    assert reason(advance(done, poorer, now=START + 900)) == progress.NEW_AVAILABLE


def test_without_a_deadline_progress_is_not_watched() -> None:
    status = advance(None, [replica_set("new", replicas=4, ready=4)], was_created=True, deadline=None)
    assert reason(status) is None


def test_a_set_that_cannot_make_pods_is_quoted() -> None:
    failure = [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}]
    failing = advance(None, [replica_set("new", replicas=4, ready=0, conditions=failure)])
    assert reason(failing, progress.REPLICA_FAILURE) == "FailedCreate"
    healed = advance(failing, [replica_set("new", replicas=4, ready=4)])
    assert reason(healed, progress.REPLICA_FAILURE) is None


def test_a_paused_deployment_is_not_watched_until_it_is_resumed() -> None:
    sets = [replica_set("new", replicas=4, ready=2)]
    view = View(deployment(advance(None, sets, was_created=True)), sets, sets[0], START)
    paused = progress.paused(view, progress.counted(view))
    assert reason(paused) == progress.PAUSED
    assert progress.stuck_in(deployment(paused), paused, START + 900) is None
    assert reason(advance(paused, sets, now=START + 900)) == progress.RESUMED
