"""The garbage collector."""

import asyncio
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from moorage.controllers.garbage.graph import FOREGROUND_DELETION, ORPHAN_DEPENDENTS, Graph, Known
from moorage.controllers.objects.meta import Managed, OwnerReference
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.discovery import discover
from moorage.controllers.runtime.writer import BACKGROUND, FOREGROUND, ORPHAN
from moorage.errors import ApiError
from moorage.kube.errors import NotFound
from moorage.kube.paths import ApiResource, resource_of

logger = logging.getLogger(__name__)

Json = dict[str, Any]

IGNORED = frozenset({"events", "leases"})
"""Resources without owners worth following, and with more changes than all others together."""
REDISCOVERY_SECONDS = 2.0
"""How long after a change of custom resource definitions the server is asked what it has now."""

_NEEDED_VERBS = frozenset({"list", "watch", "delete", "patch"})
_DEFINITIONS = resource_of("CustomResourceDefinition")


@dataclass(slots=True)
class _Owners:
    """The owners of an object, by how they are."""

    solid: list[OwnerReference] = field(default_factory=list)
    dangling: list[OwnerReference] = field(default_factory=list)
    waiting: list[OwnerReference] = field(default_factory=list)
    """Owners that go once this object has."""


class GarbageCollector(Controller):
    """Follows all resources of the server and deletes what has had owners and has none left. Its keys are uids."""

    name = "garbage-collector"
    workers = 8

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._graph = Graph()
        self._resources: dict[tuple[str, str], ApiResource] = {}
        self._followed: set[ApiResource] = set()
        self._is_outdated = asyncio.Event()

    async def prepare(self) -> None:
        """Follow every resource there is."""
        await self._follow_all()

    async def run(self) -> None:
        """Work until cancelled, following resources as they come and go."""
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self._follow_definitions())

    async def _follow_definitions(self) -> None:
        while True:
            await self._is_outdated.wait()
            await asyncio.sleep(REDISCOVERY_SECONDS)
            self._is_outdated.clear()
            try:
                await self._follow_all()
            except ApiError as error:
                logger.warning("%s: resources cannot be discovered: %s", self.name, error)
                self._is_outdated.set()

    async def _follow_all(self) -> None:
        served = await discover(self.cluster.writer.client)
        self._resources = {(each.resource.api_version, each.resource.kind): each.resource for each in served}
        wanted = {
            each.resource for each in served if each.verbs >= _NEEDED_VERBS and each.resource.plural not in IGNORED
        }
        for resource in wanted - self._followed:
            self.cluster.informers.watch_resource(resource, partial(self._changed, resource))
        for resource in self._followed - wanted:
            for item in self.cluster.informers.unfollow(resource):
                self._vanished(item)
        self._followed = wanted

    def _changed(self, resource: ApiResource, old: Managed | None, new: Managed | None) -> None:
        if resource == _DEFINITIONS:
            self._is_outdated.set()
        if new is not None:
            self._appeared(old, self._graph.put(resource, new))
        elif old is not None:
            self._vanished(old)

    def _appeared(self, old: Managed | None, new: Known) -> None:
        uid = new.metadata.uid
        if new.waits_for_dependents or new.orphans_dependents:
            self.queue.add(uid)
        if any(owner.uid not in self._graph or self._is_waiting(owner.uid) for owner in new.metadata.owner_references):
            self.queue.add(uid)
        if old is not None and old.metadata.owner_references != new.metadata.owner_references:
            self._wake_waiting(owner.uid for owner in old.metadata.owner_references)

    def _vanished(self, old: Managed) -> None:
        gone = self._graph.remove(old.metadata.uid)
        for dependent in self._graph.dependents(old.metadata.uid):
            self.queue.add(dependent.metadata.uid)
        if gone is not None:
            self._wake_waiting(gone.owner_uids)

    def _wake_waiting(self, owners: Iterable[str]) -> None:
        for uid in owners:
            if self._is_waiting(uid):
                self.queue.add(uid)

    def _is_waiting(self, uid: str) -> bool:
        known = self._graph.get(uid)
        return known is not None and known.waits_for_dependents

    async def sync(self, key: str) -> float | None:
        """Do for one object what its owners and finalizers ask for."""
        known = self._graph.get(key)
        if known is None:
            return None
        if known.orphans_dependents:
            await self._orphan_dependents(known)
        elif known.waits_for_dependents:
            await self._delete_dependents(known)
        elif known.metadata.owner_references and not known.metadata.is_terminating:
            await self._collect(known)
        return None

    async def _orphan_dependents(self, owner: Known) -> None:
        uid = owner.metadata.uid
        for dependent in self._graph.dependents(uid):
            await self._remove_owners(dependent, {uid})
        await self._remove_finalizer(owner, ORPHAN_DEPENDENTS)

    async def _delete_dependents(self, owner: Known) -> None:
        """Those that block go first; the others are told to go, and not waited for."""
        uid = owner.metadata.uid
        dependents = list(self._graph.dependents(uid))
        for dependent in dependents:
            if not dependent.metadata.is_terminating:
                self.queue.add(dependent.metadata.uid)
        if not any(dependent.blocks(uid) for dependent in dependents):
            await self._remove_finalizer(owner, FOREGROUND_DELETION)

    async def _collect(self, item: Known) -> None:
        """Delete the object if no owner keeps it; cut it loose from those that are gone if another one does."""
        owners = await self._classify(item)
        if owners.solid:
            lost = {owner.uid for owner in (*owners.dangling, *owners.waiting)}
            if lost:
                await self._remove_owners(item, lost)
        elif owners.waiting and self._graph.has_dependents(item.metadata.uid):
            await self._delete(item, FOREGROUND)
        else:
            await self._delete(item, _policy(item))

    async def _classify(self, item: Known) -> _Owners:
        owners = _Owners()
        for owner in item.metadata.owner_references:
            if self._is_waiting(owner.uid):
                owners.waiting.append(owner)
            elif owner.uid in self._graph or await self._exists(owner, item.metadata.namespace):
                owners.solid.append(owner)
            else:
                owners.dangling.append(owner)
        return owners

    async def _exists(self, owner: OwnerReference, namespace: str) -> bool:
        """Ask the server: what is not known here may be new, or of a kind that nobody follows."""
        resource = self._resources.get((owner.api_version, owner.kind)) or self._other_version(owner)
        if resource is None:
            raise ApiError(f"owner {owner.api_version} {owner.kind} {owner.name}: the server has no such kind")
        try:
            found = await self.cluster.writer.get(resource, owner.name, namespace if resource.namespaced else "")
        except NotFound:
            return False
        return bool(found["metadata"]["uid"] == owner.uid)

    def _other_version(self, owner: OwnerReference) -> ApiResource | None:
        group = owner.api_version.rpartition("/")[0]
        return next((each for each in self._resources.values() if (each.group, each.kind) == (group, owner.kind)), None)

    async def _delete(self, item: Known, policy: str) -> None:
        meta = item.metadata
        await self.cluster.writer.delete(item.resource, meta.name, meta.namespace, uid=meta.uid, propagation=policy)

    async def _remove_owners(self, item: Known, uids: Collection[str]) -> None:
        kept = [_reference_json(owner) for owner in item.metadata.owner_references if owner.uid not in uids]
        await self._patch(item, {"ownerReferences": kept or None})

    async def _remove_finalizer(self, item: Known, finalizer: str) -> None:
        kept = [name for name in item.metadata.finalizers if name != finalizer]
        await self._patch(item, {"finalizers": kept or None})

    async def _patch(self, item: Known, metadata: Json) -> None:
        patch = {"metadata": metadata}
        try:
            await self.cluster.writer.patch_resource(item.resource, item.metadata, patch, is_guarded=True)
        except NotFound:
            return


def _policy(item: Known) -> str:
    """What was asked for in an earlier attempt to delete the object still holds."""
    if ORPHAN_DEPENDENTS in item.metadata.finalizers:
        return ORPHAN
    return FOREGROUND if FOREGROUND_DELETION in item.metadata.finalizers else BACKGROUND


def _reference_json(owner: OwnerReference) -> Json:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": owner.controller,
        "blockOwnerDeletion": owner.block_owner_deletion,
    }
