"""Objects read and written over an API client, typed: what plugins are offered."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

import msgspec

from moorage.errors import ApiError
from moorage.framework.writes import aimed_at
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.objects import KubeObject, decode

logger = logging.getLogger(__name__)

Kind = TypeVar("Kind", bound=KubeObject)

MERGE_PATCH: Final = "application/merge-patch+json"


class ClientObjects:
    """Every method raises ApiError where the API server refuses, or cannot be reached."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._later: set[asyncio.Future[None]] = set()

    @property
    def client(self) -> Client:
        """The API client of the process."""
        return self._client

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something awaited beside what goes on. What it raises is logged: nobody waits for it."""
        task = asyncio.ensure_future(_logged(work))
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have something run beside what goes on."""
        self.later(work)

    async def read(self, kind: type[Kind], name: str, namespace: str = "") -> Kind:
        """An object as the API server has it now."""
        return decode(await self._client.get(resource_of(kind).path(namespace, name)), kind)

    async def create(self, item: Kind) -> Kind:
        """Make an object; answers it as the API server keeps it."""
        tree = {"apiVersion": item.API_VERSION, "kind": item.KIND, **msgspec.to_builtins(item)}
        path = resource_of(type(item)).path(item.metadata.namespace)
        return decode(await self._client.post(path, msgspec.json.encode(tree)), type(item))

    async def patch(self, item: Kind, patch: Mapping[str, Any], *, subresource: str = "") -> Kind:
        """Merge into that very object; answers it as it now is."""
        meta = item.metadata
        path = resource_of(type(item)).path(meta.namespace, meta.name, subresource)
        body = await self._client.patch(path, msgspec.json.encode(aimed_at(item, patch)), content_type=MERGE_PATCH)
        return decode(body, type(item))

    async def delete(self, item: KubeObject) -> None:
        """Delete that very object."""
        meta = item.metadata
        options = msgspec.json.encode({"preconditions": {"uid": meta.uid}})
        await self._client.delete(resource_of(type(item)).path(meta.namespace, meta.name), options)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except ApiError as refusal:
        logger.warning("not written: %s", refusal)
    except Exception:
        logger.exception("what a plugin left to be done broke")
