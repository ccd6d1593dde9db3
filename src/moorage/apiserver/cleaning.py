"""Empties namespaces that are to go, and then lets them go."""

import asyncio
import logging

from moorage.apiserver.auth import ADMIN_GROUP, User
from moorage.apiserver.history import Follower
from moorage.apiserver.operation import Operation
from moorage.apiserver.registry import Registry, Resource
from moorage.apiserver.status import StatusError
from moorage.apiserver.store import Item
from moorage.apiserver.subresources.namespaces import finalize
from moorage.apiserver.verbs.delete import DeleteOptions, delete

logger = logging.getLogger(__name__)

_CLEANER = User("system:serviceaccount:kube-system:namespace-controller", (ADMIN_GROUP,))
_OPTIONS = DeleteOptions(propagation="Background")
_PAUSE = 0.2


class NamespaceCleaner:
    """Watches namespaces; runs beside the server until it is cancelled."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.namespaces = registry.resource("namespaces")

    async def run(self) -> None:
        """Clean whenever a namespace changes, and again while one cannot be emptied yet."""
        woken = asyncio.Event()
        follower = Follower(woken.set, limit=1_000_000)
        history = self.namespaces.collection.history
        history.follow(follower)
        try:
            while not follower.is_closed:
                woken.clear()
                follower.take()
                remaining = [item.name for item in self._terminating() if not self.clean(item)]
                if remaining:
                    await asyncio.sleep(_PAUSE)
                else:
                    await woken.wait()
        finally:
            history.leave(follower)

    def clean(self, item: Item) -> bool:
        """Delete what is in a namespace, and the namespace if nothing is left. Says whether it is gone."""
        is_empty = True
        for resource in self.registry.resources():
            if resource.kind.is_namespaced and "delete" in resource.kind.verbs:
                for inner in list(resource.collection.items(item.name)):
                    is_empty = self._delete(resource, inner) and is_empty
        if not is_empty:
            return False
        operation = Operation(self.registry, self.namespaces, "", _CLEANER, name=item.name)
        obj = item.decode()
        finalizers = [name for name in obj.get("spec", {}).get("finalizers", ()) if name != "kubernetes"]
        finalize(operation, {"metadata": {}, "spec": {"finalizers": finalizers}})
        return self.namespaces.collection.get("", item.name) is None

    def _terminating(self) -> list[Item]:
        return [item for item in self.namespaces.collection.items() if item.fields[0] == "Terminating"]

    def _delete(self, resource: Resource, item: Item) -> bool:
        operation = Operation(self.registry, resource, item.namespace, _CLEANER, name=item.name)
        try:
            return delete(operation, _OPTIONS)[1]
        except StatusError as error:
            logger.warning("cleaning namespace %s: %s", item.namespace, error.message)
            return False
