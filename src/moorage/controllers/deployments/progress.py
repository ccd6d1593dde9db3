"""A Deployment's status and conditions: how far its rollout is, and whether it is stuck."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.controllers.deployments.sizes import max_unavailable, total
from moorage.controllers.objects.meta import Condition, as_json, condition_of, with_condition, without_condition
from moorage.controllers.objects.workloads import Deployment, DeploymentStatus, ReplicaSet
from moorage.values.time import format_time, time_of

Json = dict[str, Any]

AVAILABLE, PROGRESSING, REPLICA_FAILURE = "Available", "Progressing", "ReplicaFailure"
NEW_AVAILABLE, UPDATED, CREATED, FOUND, STUCK, PAUSED, RESUMED = (
    "NewReplicaSetAvailable",
    "ReplicaSetUpdated",
    "NewReplicaSetCreated",
    "FoundNewReplicaSet",
    "ProgressDeadlineExceeded",
    "DeploymentPaused",
    "DeploymentResumed",
)


@dataclass(frozen=True, slots=True)
class View:
    """A Deployment with its ReplicaSets at one moment."""

    deployment: Deployment
    replica_sets: Sequence[ReplicaSet]
    new: ReplicaSet | None
    now: float


def counted(view: View) -> DeploymentStatus:
    """The counts, with the conditions of before and whether enough is available."""
    deployment, sets = view.deployment, view.replica_sets
    available = sum(each.status.available_replicas for each in sets)
    status = msgspec.structs.replace(
        deployment.status,
        observed_generation=deployment.metadata.generation,
        replicas=sum(each.status.replicas for each in sets),
        updated_replicas=view.new.status.replicas if view.new is not None else 0,
        ready_replicas=sum(each.status.ready_replicas for each in sets),
        available_replicas=available,
        unavailable_replicas=max(0, total(sets) - available),
    )
    is_enough = available >= deployment.spec.replicas - max_unavailable(deployment)
    told = _condition(
        view,
        AVAILABLE,
        "True" if is_enough else "False",
        "MinimumReplicasAvailable" if is_enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if is_enough else 'does not have'} minimum availability.",
    )
    return msgspec.structs.replace(status, conditions=with_condition(status.conditions, told))


def with_progress(view: View, status: DeploymentStatus) -> DeploymentStatus:
    """The status with what can be said of the rollout: complete, moving, or moving no more."""
    deployment = view.deployment
    conditions = status.conditions
    known = condition_of(conditions, PROGRESSING)
    if has_deadline(deployment) and not _was_complete(status, known):
        if is_complete(deployment, status):
            conditions = _set(view, conditions, "True", NEW_AVAILABLE, f"{_called(view)} has successfully progressed.")
        elif _has_moved(deployment.status, status):
            conditions = _moved(view, conditions, known)
        elif is_stuck(deployment, status, view.now):
            conditions = _set(view, conditions, "False", STUCK, f"{_called(view)} has timed out progressing.")
    failure = _failure(view)
    if failure is not None:
        conditions = with_condition(conditions, failure)
    else:
        conditions = without_condition(conditions, REPLICA_FAILURE)
    return msgspec.structs.replace(status, conditions=conditions)


def begun(view: View, status: DeploymentStatus, *, was_created: bool) -> DeploymentStatus:
    """The status with the beginning of a rollout, if this is one: a new ReplicaSet, or nobody has watched it yet."""
    if not has_deadline(view.deployment) or view.new is None:
        return status
    known = condition_of(status.conditions, PROGRESSING)
    name = view.new.metadata.name
    if was_created:
        return _with_progressing(view, status, "True", CREATED, f'Created new replica set "{name}"')
    if known is None:
        return _with_progressing(view, status, "True", FOUND, f'Found new replica set "{name}"')
    if known.reason == PAUSED:
        return _with_progressing(view, status, "Unknown", RESUMED, "Deployment is resumed")
    return status


def paused(view: View, status: DeploymentStatus) -> DeploymentStatus:
    """The status of a Deployment that is to stay as it is: its progress is not watched."""
    if not has_deadline(view.deployment):
        return status
    return _with_progressing(view, status, "Unknown", PAUSED, "Deployment is paused")


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether all pods are of the present template and available."""
    wanted = deployment.spec.replicas
    return wanted == status.updated_replicas == status.replicas == status.available_replicas and (
        status.observed_generation >= deployment.metadata.generation
    )


def has_deadline(deployment: Deployment) -> bool:
    """Whether progress is watched at all."""
    return deployment.spec.progress_deadline_seconds is not None


def stuck_in(deployment: Deployment, status: DeploymentStatus, now: float) -> float | None:
    """In how many seconds the rollout will have moved for too long; None where that does not matter."""
    known = condition_of(status.conditions, PROGRESSING)
    if known is None or deployment.spec.progress_deadline_seconds is None or is_complete(deployment, status):
        return None
    if known.reason in (NEW_AVAILABLE, STUCK, PAUSED):
        return None
    since = time_of(known.last_update_time) or now
    return max(0.0, since + deployment.spec.progress_deadline_seconds - now)


def is_stuck(deployment: Deployment, status: DeploymentStatus, now: float) -> bool:
    """Whether nothing has moved for longer than the deadline."""
    known = condition_of(status.conditions, PROGRESSING)
    if known is not None and known.reason == STUCK:
        return True
    return stuck_in(deployment, status, now) == 0.0


def status_json(status: DeploymentStatus) -> Json:
    """As the API takes it."""
    return {
        "observedGeneration": status.observed_generation,
        "replicas": status.replicas,
        "updatedReplicas": status.updated_replicas,
        "readyReplicas": status.ready_replicas,
        "availableReplicas": status.available_replicas,
        "unavailableReplicas": status.unavailable_replicas,
        "collisionCount": status.collision_count,
        "conditions": as_json(status.conditions),
    }


def _was_complete(status: DeploymentStatus, known: Condition | None) -> bool:
    """A rollout that has ended well stays so: a pod that fails later is no rollout."""
    return known is not None and known.reason == NEW_AVAILABLE and status.replicas == status.updated_replicas


def _has_moved(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    return (
        new.updated_replicas > old.updated_replicas
        or new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        or new.ready_replicas > old.ready_replicas
        or new.available_replicas > old.available_replicas
    )


def _moved(view: View, conditions: tuple[Condition, ...], known: Condition | None) -> tuple[Condition, ...]:
    """Every move starts the deadline again, though the condition may say the same as before."""
    told = _condition(view, PROGRESSING, "True", UPDATED, f"{_called(view)} is progressing.")
    if known is not None and known.status == told.status:
        told = msgspec.structs.replace(told, last_transition_time=known.last_transition_time)
    return (*without_condition(conditions, PROGRESSING), told)


def _with_progressing(view: View, status: DeploymentStatus, holds: str, reason: str, message: str) -> DeploymentStatus:
    return msgspec.structs.replace(status, conditions=_set(view, status.conditions, holds, reason, message))


def _set(view: View, conditions: tuple[Condition, ...], holds: str, reason: str, message: str) -> tuple[Condition, ...]:
    return with_condition(conditions, _condition(view, PROGRESSING, holds, reason, message))


def _condition(view: View, kind: str, status: str, reason: str, message: str) -> Condition:
    stamp = format_time(view.now)
    return Condition(kind, status, reason, message, last_transition_time=stamp, last_update_time=stamp)


def _failure(view: View) -> Condition | None:
    """That pods cannot be made, as one of the ReplicaSets says; the new one before the others."""
    newest_first = sorted(view.replica_sets, key=lambda each: each is not view.new)
    for each in newest_first:
        failure = condition_of(each.status.conditions, REPLICA_FAILURE)
        if failure is not None and failure.status == "True":
            return _condition(view, REPLICA_FAILURE, "True", failure.reason, failure.message)
    return None


def _called(view: View) -> str:
    if view.new is not None:
        return f'ReplicaSet "{view.new.metadata.name}"'
    return f'Deployment "{view.deployment.metadata.name}"'
