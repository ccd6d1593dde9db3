"""Namespaces: they must exist and be active for anything to be created in them; some never go away."""

from typing import Any

from moorage.apiserver import status
from moorage.apiserver.registry import Operation

Json = dict[str, Any]

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
AT_START = ("default", "kube-node-lease", "kube-public", "kube-system")


def admit(operation: Operation) -> None:
    """Refuse a create in a namespace that is missing (404) or going away (403)."""
    kind = operation.resource.kind
    if not kind.is_namespaced:
        return
    item = operation.registry.store.collection("namespaces").get("", operation.namespace)
    if item is None:
        raise status.not_found("namespaces", "", operation.namespace)
    if item.fields[0] == "Terminating":
        why = f"unable to create new content in namespace {operation.namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {operation.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise status.forbidden(kind.plural, kind.group, operation.name, why, cause=cause)


def start_namespace(_: Operation, obj: Json) -> None:
    """A new namespace is active, and its content goes before it does."""
    obj["status"] = {"phase": "Active"}
    obj["spec"] = {"finalizers": ["kubernetes"]}


def keep_namespace_spec(_: Operation, new: Json, old: Json) -> None:
    """Only the finalize subresource takes the namespace's finalizers off."""
    new["spec"] = old.get("spec", {})
    new["status"] = old.get("status", {})
