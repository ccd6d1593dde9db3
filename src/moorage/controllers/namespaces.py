"""Namespaces that are deleted: everything in them goes first, pods before all else."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.controllers.objects.meta import Namespace
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.discovery import ServedResource, discover
from moorage.controllers.runtime.writer import BACKGROUND
from moorage.kube.errors import Conflict, MethodNotAllowed, NotFound
from moorage.kube.informer import Key
from moorage.kube.paths import ApiResource, resource_of
from moorage.objects import KubeObject, Struct

logger = logging.getLogger(__name__)

Json = dict[str, Any]

FINALIZER = "kubernetes"
LOOK_AGAIN_SECONDS = 0.5
"""How long to wait for what is on its way out."""

_NAMESPACES = resource_of("Namespace")
_NEEDED_VERBS = frozenset({"list", "delete"})


class _Names(Struct, frozen=True):
    """A list, as far as it says what is in it."""

    items: tuple[KubeObject, ...] = ()


class NamespaceController(Controller):
    """Empties namespaces that are to go, and lets them go."""

    name = "namespace"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._namespaces = cluster.informers.watch(Namespace, self.enqueue)

    async def sync(self, key: Key) -> float | None:
        """Delete what is left in a namespace that is to go; look again until nothing is."""
        namespace = self._namespaces.get(key[1])
        if namespace is None or not namespace.metadata.is_terminating:
            return None
        if FINALIZER in namespace.spec.finalizers:
            resources = await self._resources()
            pods = [each for each in resources if each.resource == resource_of("Pod")]
            others = [each for each in resources if each.resource != resource_of("Pod")]
            for group in (pods, others):
                if await self._empty(key[1], group):
                    return LOOK_AGAIN_SECONDS
        await self._finalize(namespace)
        return None

    async def _resources(self) -> list[ServedResource]:
        served = await discover(self.cluster.writer.client)
        return [each for each in served if each.resource.namespaced and each.verbs >= _NEEDED_VERBS]

    async def _empty(self, namespace: str, resources: Sequence[ServedResource]) -> int:
        """Delete all objects of these resources. Returns how many there were: they may take their time to go."""
        return sum(await asyncio.gather(*(self._empty_of(namespace, each) for each in resources)))

    async def _empty_of(self, namespace: str, served: ServedResource) -> int:
        client, path = self.cluster.writer.client, served.resource.path(namespace)
        try:
            found = msgspec.json.decode(await client.get(path), type=_Names).items
        except (NotFound, MethodNotAllowed):
            return 0
        waiting = [item for item in found if not item.metadata.deletion_timestamp]
        if waiting and "deletecollection" in served.verbs:
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": BACKGROUND}
            await client.delete(path, msgspec.json.encode(options))
        else:
            await self._delete_each(served.resource, waiting)
        return len(found)

    async def _delete_each(self, resource: ApiResource, items: Sequence[KubeObject]) -> None:
        for item in items:
            meta = item.metadata
            await self.cluster.writer.delete(resource, meta.name, meta.namespace, propagation=BACKGROUND)

    async def _finalize(self, namespace: Namespace) -> None:
        """Say that the content is gone; the namespace goes with the last of its finalizers."""
        name = namespace.metadata.name
        try:
            body = await self.cluster.writer.get(_NAMESPACES, name)
            if body["metadata"]["uid"] != namespace.metadata.uid:
                return
            kept = [each for each in body.get("spec", {}).get("finalizers", ()) if each != FINALIZER]
            body["spec"] = {"finalizers": kept}
            path = _NAMESPACES.path(name=name, subresource="finalize")
            await self.cluster.writer.client.put(path, msgspec.json.encode(body))
            # A server may leave it to us to say that it can go now.
            if not kept and not namespace.metadata.finalizers:
                await self.cluster.writer.delete(_NAMESPACES, name, uid=namespace.metadata.uid)
        except (NotFound, Conflict) as error:
            logger.debug("namespace %s: %s", name, error)
