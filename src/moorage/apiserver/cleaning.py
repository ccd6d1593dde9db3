"""Takes away what belongs to things that are to go: the content of namespaces, the objects of custom kinds."""

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import Any

from moorage.apiserver.auth import ADMIN_GROUP, User
from moorage.apiserver.crd.definitions import CLEANUP
from moorage.apiserver.history import Follower, Item
from moorage.apiserver.registry import Operation, ServedKind, ServedKinds
from moorage.apiserver.status import Refusal
from moorage.apiserver.verbs.delete import DeleteOptions, delete, finalize
from moorage.apiserver.verbs.update import change

logger = logging.getLogger(__name__)

_CLEANER = User("system:apiserver", (ADMIN_GROUP,))
_OPTIONS = DeleteOptions(propagation="Background")
_PAUSE = 0.2


class Cleaner(ABC):
    """Follows a resource; runs beside the server until it is cancelled."""

    def __init__(self, registry: ServedKinds, resource: ServedKind) -> None:
        self.registry = registry
        self.resource = resource

    async def run(self) -> None:
        """Clean whenever the resource changes, and again while something cannot go yet."""
        woken = asyncio.Event()
        follower = Follower(woken.set, limit=1_000_000)
        history = self.resource.collection.history
        history.follow(follower)
        try:
            while not follower.is_closed:
                woken.clear()
                follower.take()
                items = list(self.resource.collection.items())
                remaining = [item.name for item in items if self.is_ending(item) and not self.clean(item)]
                if remaining:
                    await asyncio.sleep(_PAUSE)
                else:
                    await woken.wait()
        finally:
            history.leave(follower)

    @abstractmethod
    def is_ending(self, item: Item) -> bool:
        """Whether the object is to go."""

    @abstractmethod
    def clean(self, item: Item) -> bool:
        """Delete what belongs to the object, then let it go. Says whether it is gone."""

    def delete_all(self, resource: ServedKind, namespace: str | None) -> bool:
        """Delete the objects of a resource. Says whether all are gone."""
        gone = [self._delete(resource, item) for item in list(resource.collection.items(namespace))]
        return all(gone)

    def operation(self, name: str) -> Operation:
        """A write to an object of the followed resource."""
        return Operation(self.registry, self.resource, "", _CLEANER, name=name)

    def _delete(self, resource: ServedKind, item: Item) -> bool:
        operation = Operation(self.registry, resource, item.namespace, _CLEANER, name=item.name)
        try:
            return delete(operation, _OPTIONS)[1]
        except Refusal as error:
            logger.warning("cleaning up %s %s: %s", resource.kind.resource, item.name, error.message)
            return False


class NamespaceCleaner(Cleaner):
    """Empties namespaces that are to go."""

    def __init__(self, registry: ServedKinds) -> None:
        super().__init__(registry, registry.resource("namespaces"))

    def is_ending(self, item: Item) -> bool:
        """Terminating."""
        return item.fields[0] == "Terminating"

    def clean(self, item: Item) -> bool:
        """Everything inside goes first."""
        resources = [r for r in self.registry.resources() if r.kind.is_namespaced and "delete" in r.kind.verbs]
        emptied = [self.delete_all(resource, item.name) for resource in resources]
        if not all(emptied):
            return False
        finalizers = item.decode().get("spec", {}).get("finalizers", ())
        remaining = [name for name in finalizers if name != "kubernetes"]
        finalize(self.operation(item.name), {"metadata": {}, "spec": {"finalizers": remaining}})
        return self.resource.collection.get("", item.name) is None


class DefinitionCleaner(Cleaner):
    """Deletes the objects of custom kinds that are to go."""

    def __init__(self, registry: ServedKinds) -> None:
        super().__init__(registry, registry.resource("customresourcedefinitions", "apiextensions.k8s.io"))

    def is_ending(self, item: Item) -> bool:
        """Marked for deletion."""
        return b'"deletionTimestamp"' in item.data and "deletionTimestamp" in item.decode()["metadata"]

    def clean(self, item: Item) -> bool:
        """Every object of every version goes first."""
        spec = item.decode()["spec"]
        for version in spec["versions"]:
            resource = self.registry.find(spec["group"], version["name"], spec["names"]["plural"])
            if resource is not None and not self.delete_all(resource, None):
                return False
        change(self.operation(item.name), _without_cleanup)
        return self.resource.collection.get("", item.name) is None


def _without_cleanup(obj: dict[str, Any]) -> dict[str, Any]:
    finalizers = obj["metadata"].get("finalizers", [])
    obj["metadata"]["finalizers"] = [name for name in finalizers if name != CLEANUP]
    return obj
