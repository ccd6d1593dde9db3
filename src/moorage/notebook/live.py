"""Objects from a running cluster: each kind that scheduling reads, listed once."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import msgspec

from moorage.errors import ApiError
from moorage.kube.access import load_access
from moorage.kube.errors import Forbidden, NotFound
from moorage.kube.paths import RESOURCES
from moorage.kube.transport import Client
from moorage.objects import KINDS, KubeObject, convert

T = TypeVar("T")

#: What a scheduler writes rather than reads.
_WRITTEN: Final = frozenset(("Lease", "Event"))


def list_objects(kubeconfig: str, context: str) -> tuple[list[KubeObject], list[str]]:
    """What the cluster holds now, and the kinds that it does not serve or does not let us read.

    Nodes and pods must be readable: ApiError else. InputError where there is no cluster to talk to.
    """
    return run(_connect_and_list(kubeconfig, context))


async def _connect_and_list(kubeconfig: str, context: str) -> tuple[list[KubeObject], list[str]]:
    async with Client(load_access(kubeconfig, context=context)) as client:
        return await list_through(client)


async def list_through(client: Client) -> tuple[list[KubeObject], list[str]]:
    """The same through a client of one's own."""
    objects: list[KubeObject] = []
    left_out: list[str] = []
    for name, kind in KINDS.items():
        if name in _WRITTEN or name not in RESOURCES:
            continue
        try:
            listed = msgspec.json.decode(await client.get(RESOURCES[name].path()))
        except (NotFound, Forbidden) as error:
            if name in ("Node", "Pod"):
                raise ApiError(f"cannot list {RESOURCES[name].plural}: {error}", code=error.code) from None
            left_out.append(name)
        else:
            objects += [convert(item, kind) for item in listed.get("items") or ()]
    return objects, left_out


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from inside a notebook, whose own loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    answers: list[T] = []
    errors: list[BaseException] = []

    def in_thread() -> None:
        try:
            answers.append(asyncio.run(work))
        except BaseException as error:  # handed to the caller below
            errors.append(error)

    thread = threading.Thread(target=in_thread, name="moorage-notebook")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers[0]
