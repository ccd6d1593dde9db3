"""Objects read and written over an API client, typed: what plugins are offered."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from moorage.framework.writes import aimed_at
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.objects import KubeObject, decode

Kind = TypeVar("Kind", bound=KubeObject)

MERGE_PATCH: Final = "application/merge-patch+json"


class ClientObjects:
    """Every method raises ApiError where the API server refuses, or cannot be reached; all of them raise RuntimeError
    where there is none."""

    def __init__(self, client: Client | None) -> None:
        self._client = client

    @property
    def client(self) -> Client:
        """The API client of the process."""
        if self._client is None:
            raise RuntimeError("no cluster is followed here: there is no API server to read from or to write to")
        return self._client

    async def read(self, kind: type[Kind], name: str, namespace: str = "") -> Kind:
        """An object as the API server has it now."""
        return decode(await self.client.get(resource_of(kind).path(namespace, name)), kind)

    async def create(self, item: Kind) -> Kind:
        """Make an object; answers it as the API server keeps it."""
        tree = {"apiVersion": item.API_VERSION, "kind": item.KIND, **msgspec.to_builtins(item)}
        path = resource_of(type(item)).path(item.metadata.namespace)
        return decode(await self.client.post(path, msgspec.json.encode(tree)), type(item))

    async def patch(self, item: Kind, patch: Mapping[str, Any], *, subresource: str = "") -> Kind:
        """Merge into that very object; answers it as it now is."""
        meta = item.metadata
        path = resource_of(type(item)).path(meta.namespace, meta.name, subresource)
        body = await self.client.patch(path, msgspec.json.encode(aimed_at(item, patch)), content_type=MERGE_PATCH)
        return decode(body, type(item))

    async def delete(self, item: KubeObject) -> None:
        """Delete that very object."""
        meta = item.metadata
        options = msgspec.json.encode({"preconditions": {"uid": meta.uid}})
        await self.client.delete(resource_of(type(item)).path(meta.namespace, meta.name), options)
