"""Creating, patching and deleting objects, each as one request. Failures are ApiErrors (moorage.kube.errors)."""

from typing import Any

import msgspec

from moorage.controllers.objects.meta import Managed, ObjectMeta
from moorage.errors import ApiError
from moorage.kube.errors import NotFound, StatusError
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.transport import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client

Json = dict[str, Any]

BACKGROUND, FOREGROUND, ORPHAN = "Background", "Foreground", "Orphan"


class Writer:
    """Writes objects of any kind."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def get(self, resource: ApiResource, name: str, namespace: str = "") -> Json:
        """An object as it is now."""
        answer: Json = msgspec.json.decode(await self.client.get(resource.path(namespace, name)))
        return answer

    async def create(self, resource: ApiResource, body: Json | bytes, namespace: str = "") -> Json:
        """Create an object; the answer is what has become of it."""
        encoded = body if isinstance(body, bytes) else msgspec.json.encode(body)
        answer: Json = msgspec.json.decode(await self.client.post(resource.path(namespace), encoded))
        return answer

    async def patch(self, item: Managed, patch: Json, *, strategic: bool = False, is_guarded: bool = False) -> Json:
        """Change an object that is still the one we know; `is_guarded` refuses the patch if it has changed at all."""
        resource = resource_of(type(item))
        return await self.patch_resource(resource, item.metadata, patch, strategic=strategic, is_guarded=is_guarded)

    async def patch_status(
        self, item: Managed, status: Json, *, strategic: bool = False, is_guarded: bool = False
    ) -> Json:
        """Write these fields of an object's status; lists as a whole, None takes a field away.

        Where it is `strategic`, entries of a list that have keys stand for themselves alone.
        """
        return await self.patch_resource(
            resource_of(type(item)),
            item.metadata,
            {"status": status},
            subresource="status",
            strategic=strategic,
            is_guarded=is_guarded,
        )

    async def patch_resource(
        self,
        resource: ApiResource,
        meta: ObjectMeta,
        patch: Json,
        *,
        subresource: str = "",
        strategic: bool = False,
        is_guarded: bool = False,
    ) -> Json:
        """The same for an object of which only the metadata is known. Custom resources take no strategic patch."""
        guard = {"uid": meta.uid}
        if is_guarded:
            guard["resourceVersion"] = meta.resource_version
        body = {**patch, "metadata": {**patch.get("metadata", {}), **guard}}
        path = resource.path(meta.namespace, meta.name, subresource)
        content_type = STRATEGIC_MERGE_PATCH if strategic else MERGE_PATCH
        answer = await self.client.patch(path, msgspec.json.encode(body), content_type=content_type)
        patched: Json = msgspec.json.decode(answer)
        return patched

    async def remove_finalizer(self, item: Managed, finalizer: str, resource: ApiResource | None = None) -> None:
        """Let a built-in object go as far as one finalizer is concerned. One that is gone already is let go.

        `resource` says where it is served, for an object of which only the metadata is known.
        """
        patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [finalizer]}}
        try:
            await self.patch_resource(resource or resource_of(type(item)), item.metadata, patch, strategic=True)
        except NotFound:
            return

    async def delete(
        self,
        resource: ApiResource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        propagation: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete an object (only that very one, when `uid` is given). One that is gone already is deleted."""
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if propagation:
            options["propagationPolicy"] = propagation
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        try:
            await self.client.delete(resource.path(namespace, name), msgspec.json.encode(options))
        except NotFound:
            return


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether nothing can be created any more because the namespace is going."""
    return isinstance(error, StatusError) and any(
        cause.reason == "NamespaceTerminating" for cause in error.details.causes
    )
