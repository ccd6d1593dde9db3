"""Asking the cluster: create, wait, and the decision as the engine takes it on the cluster as it is."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from moorage.columns import Snapshot
from moorage.config import Config
from moorage.engine import Decision, make_engine
from moorage.errors import MoorageError
from moorage.framework.registry import Registry
from moorage.kube.errors import NotFound
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.notebook.live import list_through
from moorage.objects import Pod, convert

T = TypeVar("T")

_PATIENCE_SECONDS = 20.0


async def create(client: Client, manifest: dict[str, Any]) -> dict[str, Any]:
    """Create an object; returns it as the API server made it."""
    path = resource_of(manifest["kind"]).path(manifest["metadata"].get("namespace", ""))
    created: dict[str, Any] = msgspec.json.decode(await client.post(path, msgspec.json.encode(manifest)))
    return created


async def try_out(client: Client, pod: dict[str, Any]) -> dict[str, Any]:
    """The pod as the API server would make it, without creating it."""
    path = resource_of("Pod").path("default")
    answer = await client.post(path, msgspec.json.encode(pod), {"dryRun": "All"})
    made: dict[str, Any] = msgspec.json.decode(answer)
    return made


async def decide(client: Client, pod: dict[str, Any], config: Config, registry: Registry) -> Decision:
    """The decision on this pod, taken by the engine over what the API server holds now."""
    objects, _ = await list_through(client)
    snapshot = Snapshot.of(objects)
    engine = make_engine(snapshot, config, registry=registry)
    return engine.explain(snapshot.info(convert(pod, Pod)))


async def pods(client: Client, app: str) -> list[Pod]:
    """The pods of an app, by name."""
    query = {"labelSelector": f"app={app}"}
    listed = msgspec.json.decode(await client.get(resource_of("Pod").path("default"), query))
    return sorted((convert(item, Pod) for item in listed["items"]), key=lambda pod: pod.metadata.name)


async def pod(client: Client, name: str) -> Pod | None:
    """One pod; None if it is gone."""
    try:
        answer = await client.get(resource_of("Pod").path("default", name))
    except NotFound:
        return None
    return convert(msgspec.json.decode(answer), Pod)


class InVain(MoorageError):
    """What was waited for did not come."""


async def wait_for(what: str, look: Callable[[], Awaitable[T | None]]) -> T:
    """Look again and again until there is something to see. Raises InVain."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                seen = await look()
                if seen:
                    return seen
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise InVain(f"waited {_PATIENCE_SECONDS:g} s in vain for {what}") from None


async def waiting(client: Client) -> list[str]:
    """Each pod that does not run, with what its condition says."""
    listed = msgspec.json.decode(await client.get(resource_of("Pod").path("default")))
    found = (convert(item, Pod) for item in listed["items"])
    return [f"pod {pod.key}: {refusal(pod) or pod.status.phase}" for pod in found if pod.status.phase != "Running"]


def refusal(pod: Pod | None) -> str:
    """Why the pod has no node, as its condition says; "" where it does not say so."""
    conditions = pod.status.conditions if pod is not None else ()
    return next((one.message for one in conditions if one.type == "PodScheduled" and one.status == "False"), "")
