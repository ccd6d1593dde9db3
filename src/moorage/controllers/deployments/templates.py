"""Pod templates: when two are the same, and the hash that names a ReplicaSet after one."""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.controllers.objects.workloads import Deployment, ReplicaSet, Template

HASH_LABEL = "pod-template-hash"

# The letters that Kubernetes makes up names from: no vowels, so that they never spell anything.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 10


def template_hash(template: Template, collisions: int | None) -> str:
    """A short name for a template; the count of collisions makes it another one."""
    spelled = msgspec.json.encode([_essence(template), collisions or 0], order="deterministic")
    digest = hashlib.blake2b(spelled, digest_size=_HASH_LENGTH).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest)


def are_same(one: Template, other: Template) -> bool:
    """Whether two templates describe the same pods. Hash labels, and fields that say nothing, make no difference."""
    return bool(_essence(one) == _essence(other))


def find_new(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """The ReplicaSet of the present template, the oldest if there are several."""
    same = [each for each in replica_sets if are_same(each.spec.template, deployment.spec.template)]
    return min(same, key=lambda each: (each.metadata.creation_timestamp, each.metadata.name), default=None)


def with_hash(template: Template, name: str) -> Template:
    """The template, its pods labelled with the hash."""
    metadata = template.get("metadata") or {}
    return {**template, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), HASH_LABEL: name}}}


def _essence(template: Template) -> Any:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return _without_nothing({**template, "metadata": {**metadata, "labels": labels}})


def _without_nothing(tree: Any) -> Any:
    if isinstance(tree, dict):
        pruned = {key: _without_nothing(value) for key, value in tree.items()}
        return {key: value for key, value in pruned.items() if value not in (None, {}, [], "")}
    if isinstance(tree, list):
        return [_without_nothing(value) for value in tree]
    return tree
