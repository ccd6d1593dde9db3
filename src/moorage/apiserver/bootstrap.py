"""What every cluster has from its first moment: namespaces, priority classes."""

from typing import Any

from moorage.apiserver.admission.namespaces import AT_START
from moorage.apiserver.admission.priority import DESCRIPTIONS, SYSTEM_CLASSES
from moorage.apiserver.auth import ADMIN_GROUP, User
from moorage.apiserver.registry import Operation, ServedKinds
from moorage.apiserver.verbs.create import create

Json = dict[str, Any]

_SERVER = User("system:apiserver", (ADMIN_GROUP,))


def bootstrap(registry: ServedKinds) -> None:
    """Create what is not there yet."""
    for name in AT_START:
        ensure(registry, "namespaces", "", {"metadata": {"name": name}})
    for name, value in SYSTEM_CLASSES.items():
        obj = {"metadata": {"name": name}, "value": value, "description": DESCRIPTIONS[name]}
        ensure(registry, "priorityclasses", "scheduling.k8s.io", obj)


def ensure(registry: ServedKinds, plural: str, group: str, obj: Json) -> None:
    """Create an object unless there is one of its name."""
    resource = registry.resource(plural, group)
    metadata = obj["metadata"]
    if resource.collection.get(metadata.get("namespace", ""), metadata["name"]) is not None:
        return
    obj = {"kind": resource.kind.kind, "apiVersion": resource.kind.api_version, **obj}
    create(Operation(registry, resource, metadata.get("namespace", ""), _SERVER), obj)
