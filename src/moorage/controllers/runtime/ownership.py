"""Who owns what: references to owners, and taking and letting go of objects by their labels."""

from collections.abc import Iterable
from typing import Any, TypeVar

from moorage.controllers.objects.meta import Managed
from moorage.controllers.runtime.writer import Writer
from moorage.kube.errors import Conflict, Invalid, NotFound
from moorage.kube.paths import resource_of
from moorage.values.selector import Selector

Json = dict[str, Any]
T = TypeVar("T", bound=Managed)


def owner_reference(owner: Managed) -> Json:
    """The reference of an object to the one that manages it."""
    return {
        "apiVersion": owner.API_VERSION,
        "kind": owner.KIND,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_uids(item: Managed) -> tuple[str, ...]:
    """An index by owner: the uid of whoever manages the object."""
    controller = item.metadata.controller
    return (controller.uid,) if controller is not None else ()


def orphanages(item: Managed) -> tuple[str, ...]:
    """An index of objects nobody manages, by namespace."""
    return (item.metadata.namespace,) if item.metadata.controller is None else ()


def namespace_of(item: Managed) -> tuple[str, ...]:
    """An index by namespace."""
    return (item.metadata.namespace,)


async def claim(
    owner: Managed, selector: Selector, owned: Iterable[T], orphans: Iterable[T], writer: Writer
) -> list[T]:
    """The objects that are the owner's: those it owns that still match, and orphans that do, which it adopts.

    What it owns and no longer matches is let go. An owner that is being deleted adopts nothing.
    """
    claimed = []
    for item in owned:
        if selector.matches(item.metadata.labels):
            claimed.append(item)
        elif not owner.metadata.is_terminating:
            await _release(item, owner, writer)
    wanted = [item for item in orphans if selector.matches(item.metadata.labels) and not item.metadata.is_terminating]
    if wanted and not owner.metadata.is_terminating and await _is_still_there(owner, writer):
        claimed += [item for item in wanted if await _adopt(item, owner, writer)]
    return claimed


async def _is_still_there(owner: Managed, writer: Writer) -> bool:
    """Whether the owner still lives, asked of the server: adopting for the dead would delete the adopted."""
    meta = owner.metadata
    try:
        found = await writer.get(resource_of(type(owner)), meta.name, meta.namespace)
    except NotFound:
        return False
    return bool(found["metadata"]["uid"] == meta.uid and not found["metadata"].get("deletionTimestamp"))


async def _adopt(item: Managed, owner: Managed, writer: Writer) -> bool:
    patch = {"metadata": {"ownerReferences": [owner_reference(owner)]}}
    try:
        await writer.patch(item, patch, strategic=True)
    except (NotFound, Conflict, Invalid):
        # Gone, or somebody else was faster.
        return False
    return True


async def _release(item: Managed, owner: Managed, writer: Writer) -> None:
    patch = {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": owner.metadata.uid}]}}
    try:
        await writer.patch(item, patch, strategic=True)
    except (NotFound, Conflict, Invalid):
        return
