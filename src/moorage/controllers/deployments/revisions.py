"""Annotations of a Deployment's ReplicaSets: which revision each is, and for which size it was made."""

from collections.abc import Iterable, Mapping

from moorage.controllers.deployments.sizes import max_surge
from moorage.controllers.objects.workloads import Deployment, ReplicaSet

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"

_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        "deprecated.deployment.rollback.to",
    }
)


def revision_of(item: ReplicaSet | Deployment) -> int:
    """Which revision it is; 0 where nobody has said."""
    text = item.metadata.annotations.get(REVISION, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def next_revision(old: Iterable[ReplicaSet]) -> int:
    """The revision after all the old ones."""
    return max((revision_of(each) for each in old), default=0) + 1


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """For which size of the Deployment a ReplicaSet was scaled: a difference tells that it has been resized."""
    replicas = deployment.spec.replicas
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(replicas + max_surge(deployment))}


def new_annotations(deployment: Deployment, replica_set: ReplicaSet | None, revision: int) -> dict[str, str]:
    """What the ReplicaSet of the present template is annotated with, on top of what it has."""
    annotations = {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_COPIED}
    known: Mapping[str, str] = replica_set.metadata.annotations if replica_set is not None else {}
    before = known.get(REVISION, "")
    was = revision_of(replica_set) if replica_set is not None else 0
    if was < revision:
        annotations[REVISION] = str(revision)
        if was:
            history = known.get(REVISION_HISTORY, "")
            annotations[REVISION_HISTORY] = f"{history},{before}" if history else before
    elif before:
        annotations[REVISION] = before
    return annotations


def was_resized(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> bool:
    """Whether the Deployment's size has changed since its ReplicaSets were last scaled."""
    wanted = str(deployment.spec.replicas)
    return any(
        each.metadata.annotations.get(DESIRED_REPLICAS, wanted) != wanted for each in replica_sets if each.spec.replicas
    )
