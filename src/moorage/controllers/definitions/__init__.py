"""The CustomResourceDefinitions that Moorage brings, as data, and having a cluster serve them."""

import asyncio
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

from moorage.controllers.runtime.writer import Writer
from moorage.kube.errors import AlreadyExists
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.values import yaml

Json = dict[str, Any]

STICKY_JOBS: Final = "stickyjobs"
POD_GROUPS: Final = "podgroups"

_POLL_SECONDS = 0.1


def definition(plural: str) -> Json:
    """A definition as one would apply it."""
    loaded: Json = yaml.load(resources.files(__name__).joinpath(f"{plural}.yaml").read_bytes())
    return loaded


async def ensure_served(client: Client, plurals: Sequence[str] = (STICKY_JOBS, POD_GROUPS)) -> None:
    """Have these kinds served, and return once they are. A definition that is there already is left as it is."""
    writer, definitions = Writer(client), resource_of("CustomResourceDefinition")
    for plural in plurals:
        wanted = definition(plural)
        try:
            found = await writer.create(definitions, wanted)
        except AlreadyExists:
            found = await writer.get(definitions, wanted["metadata"]["name"])
        while not _is_established(found):
            await asyncio.sleep(_POLL_SECONDS)
            found = await writer.get(definitions, wanted["metadata"]["name"])


def _is_established(found: Json) -> bool:
    conditions = found.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
