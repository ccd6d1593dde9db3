"""Claims let go: pods that are done no longer use them, and what nobody uses is free."""

from typing import Any

import msgspec

from moorage.controllers.claims.making import ENTRY
from moorage.controllers.objects.claims import ResourceClaim
from moorage.controllers.objects.pods import Pod
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.kube.errors import NotFound
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.objects import ClaimConsumer

FINALIZER = "resource.kubernetes.io/delete-protection"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"

_CLAIMS, _PODS = resource_of("ResourceClaim"), resource_of("Pod")


class ClaimReleaser(Controller):
    """Keeps `reservedFor` true, gives devices back with its last entry, and deletes claims that were made for a pod."""

    name = "resourceclaim-release"
    workers = 10

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._claims = cluster.informers.watch(ResourceClaim, self.enqueue)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)
        self._by_consumer = cluster.informers.index(ResourceClaim, users_of)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new if new is not None else old
        if pod is not None and (new is None or _is_done(new)):
            for claim in self._by_consumer[pod.metadata.uid]:
                self.queue.add(key_of(claim))

    async def sync(self, key: Key) -> float | None:
        """Bring one claim up to date with its pods."""
        claim = self._claims.get(key[1], key[0])
        if claim is None:
            return None
        kept = [one for one in claim.status.reserved_for if await self._uses(claim, one)]
        dropped = len(kept) < len(claim.status.reserved_for)
        finalized = FINALIZER in claim.metadata.finalizers
        if not kept and finalized and (dropped or claim.metadata.is_terminating):
            await self._free(claim)
        elif dropped:
            reserved: list[Any] = [msgspec.to_builtins(one) for one in kept]
            await self.cluster.writer.patch_status(claim, {"reservedFor": reserved or None}, is_guarded=True)
        if not kept and not claim.metadata.is_terminating and await self._is_orphaned(claim):
            meta = claim.metadata
            await self.cluster.writer.delete(_CLAIMS, meta.name, meta.namespace, uid=meta.uid)
        return None

    async def _free(self, claim: ResourceClaim) -> None:
        """Nobody uses it: its devices are for others, and it may go."""
        if claim.status.allocation is not None or claim.status.reserved_for:
            free = {"reservedFor": None, "allocation": None, "devices": None}
            await self.cluster.writer.patch_status(claim, free, is_guarded=True)
        await self.cluster.writer.remove_finalizer(claim, FINALIZER)

    async def _uses(self, claim: ResourceClaim, consumer: ClaimConsumer) -> bool:
        """Whether an entry stands for a pod that may still run. Other consumers look after themselves."""
        if consumer.api_group or consumer.resource != "pods":
            return True
        pod = self._pods.get(consumer.name, claim.metadata.namespace)
        if pod is None or pod.metadata.uid != consumer.uid:
            return await self._exists(claim, consumer)
        return not _is_done(pod)

    async def _exists(self, claim: ResourceClaim, consumer: ClaimConsumer) -> bool:
        """The informer does not know the pod: it may be newer than what the informer knows."""
        try:
            found = await self.cluster.writer.get(_PODS, consumer.name, claim.metadata.namespace)
        except NotFound:
            return False
        return bool(found["metadata"]["uid"] == consumer.uid)

    async def _is_orphaned(self, claim: ResourceClaim) -> bool:
        """Whether the claim was made for a pod that is done, so that nobody will ever use it again."""
        meta = claim.metadata
        owner = meta.controller
        if owner is None or owner.kind != "Pod" or not (ENTRY in meta.annotations or EXTENDED in meta.annotations):
            return False
        pod = self._pods.get(owner.name, meta.namespace)
        if pod is not None and pod.metadata.uid == owner.uid:
            return _is_done(pod)
        return not await self._exists(claim, ClaimConsumer(resource="pods", name=owner.name, uid=owner.uid))


def users_of(claim: ResourceClaim) -> tuple[str, ...]:
    """An index of claims by the pods that use them, or own them."""
    owner = claim.metadata.controller
    owners = {owner.uid} if owner is not None else set()
    return tuple({one.uid for one in claim.status.reserved_for} | owners)


def _is_done(pod: Pod) -> bool:
    """Whether the pod runs no more, or was deleted before it was ever placed."""
    return pod.is_finished or (pod.metadata.is_terminating and not pod.spec.node_name)
