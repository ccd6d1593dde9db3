"""What makes a pod the same as one that ran before."""

from collections.abc import Mapping
from typing import Final

from moorage.columns import PodInfo
from moorage.errors import InputError

WARM_SEAT: Final = "moorage.dev/warm-seat"
"""The annotation of a pod that says what it is the same by."""

MEMBER, INDEX, WORKLOAD, IMAGE = "member", "index", "workload", "image"
WAYS: Final = (MEMBER, INDEX, WORKLOAD, IMAGE)
KEY: Final = "key:"

_JOB_INDEX = "batch.kubernetes.io/job-completion-index"
_TEMPLATE_HASH = "pod-template-hash"

Identity = tuple[str, ...]


def member(namespace: str, name: str) -> Identity:
    """The identity of a pod that comes back under its name."""
    return MEMBER, namespace, name


def checked_way(text: str, *, where: str) -> str:
    """A way to tell identity by, as an annotation or an argument names it. Raises InputError."""
    if text in WAYS or (text.startswith(KEY) and len(text) > len(KEY)):
        return text
    raise InputError(f"expected one of {', '.join(WAYS)} or {KEY}NAME, got {text!r}", where=where)


def identity_of(pod: PodInfo, rules: Mapping[str, str]) -> Identity | None:
    """What the pod is the same by: as its annotation says, or as the rule for its owner's kind. None: by nothing."""
    way = pod.annotations.get(WARM_SEAT, "")
    if not way and rules:
        owner = next((one.kind for one in pod.pod.metadata.owner_references if one.controller), "")
        way = rules.get(owner, "")
    return _identity(pod, way) if way else None


def _identity(pod: PodInfo, way: str) -> Identity | None:
    if way.startswith(KEY):
        return KEY, pod.namespace, way.removeprefix(KEY)
    if way == MEMBER:
        return member(pod.namespace, pod.name)
    if way == IMAGE:
        return IMAGE, *sorted(container.image for container in pod.spec.containers)
    owner = next((one for one in pod.pod.metadata.owner_references if one.controller), None)
    if owner is None:
        return None
    if way == WORKLOAD:
        # Of a Deployment's pod the ReplicaSet changes with every new template: what is before the hash stays.
        name = owner.name.removesuffix(f"-{pod.labels.get(_TEMPLATE_HASH, '')}")
        return WORKLOAD, pod.namespace, owner.kind, name
    index = pod.annotations.get(_JOB_INDEX, pod.labels.get(_JOB_INDEX, ""))
    return (INDEX, pod.namespace, owner.name, index) if way == INDEX and index else None
