"""Which resources an API server has, asked of itself."""

import asyncio
from dataclasses import dataclass

import msgspec

from moorage.kube.errors import NotFound, ServerError
from moorage.kube.paths import ApiResource
from moorage.kube.transport import Client
from moorage.objects import Struct


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A resource, and what can be done with it."""

    resource: ApiResource
    verbs: frozenset[str]


class _Entry(Struct, frozen=True):
    name: str
    kind: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] = ()


class _ResourceList(Struct, frozen=True):
    group_version: str = ""
    resources: tuple[_Entry, ...] = ()


class _Version(Struct, frozen=True):
    group_version: str = ""


class _Group(Struct, frozen=True):
    versions: tuple[_Version, ...] = ()


class _GroupList(Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


async def discover(client: Client) -> list[ServedResource]:
    """All resources of the server, each in the first version of its group that has it; no subresources.

    A group that does not answer (its own server may be down) is left out. Raises ApiError when nothing does.
    """
    groups = msgspec.json.decode(await client.get("/apis"), type=_GroupList).groups
    paths = ["/api/v1", *(f"/apis/{version.group_version}" for group in groups for version in group.versions)]
    found: dict[tuple[str, str], ServedResource] = {}
    for each in await asyncio.gather(*(_resources(client, path) for path in paths)):
        for entry in each.resources:
            if "/" not in entry.name:
                resource = _resource(entry, each.group_version)
                found.setdefault((resource.group, resource.plural), ServedResource(resource, frozenset(entry.verbs)))
    return list(found.values())


async def _resources(client: Client, path: str) -> _ResourceList:
    try:
        return msgspec.json.decode(await client.get(path), type=_ResourceList)
    except (NotFound, ServerError):
        return _ResourceList()


def _resource(entry: _Entry, group_version: str) -> ApiResource:
    group, _, version = group_version.rpartition("/")
    return ApiResource(entry.kind, group, version, entry.name, namespaced=entry.namespaced)
