"""What plugins read and write while a case is played: objects that are there, changed at once."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from moorage.columns import PodInfo
from moorage.errors import ApiError
from moorage.framework.handle import ApiClient, PendingPod, WaitingPod
from moorage.objects import KubeObject, convert
from moorage.values.merging import merge_patch

Kind = TypeVar("Kind", bound=KubeObject)
Value = TypeVar("Value")


class MustWait(Exception):
    """A plugin waits for something that does not happen while a case is played."""


class Objects(Protocol):
    """Where the objects are."""

    def get(self, kind: type[KubeObject], key: str) -> KubeObject | None:
        """The object as it is now."""

    def put(self, item: KubeObject) -> KubeObject:
        """Make or replace an object; answers it as it is kept."""

    def drop(self, item: KubeObject) -> None:
        """The object is gone."""


class CaseHost:
    """What plugins may ask of the world of a case."""

    def __init__(self, objects: Objects, activate: Callable[[Iterable[PodInfo]], None] | None = None) -> None:
        self._objects = objects
        self._activate = activate

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Nobody waits at Permit."""
        return ()

    def pending_pods(self) -> Sequence[PendingPod]:
        """A case says itself who is tried."""
        return ()

    def activate_where(self, wanted: Callable[[PodInfo], bool]) -> None:
        """Nobody is pending."""

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Move pods to the active queue at once, where there is one."""
        if self._activate is not None:
            self._activate(pods)

    def activate_after(self, seconds: float, pods: Iterable[PodInfo]) -> None:
        """Nothing happens in a case but what it says."""

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """The case binds what was decided; no plugin does."""
        raise RuntimeError(f"no plugin binds pods in a case: {pod.key} to {node_name}")

    async def sleep(self, seconds: float) -> None:
        """A cycle takes no time."""
        raise MustWait(f"time stands still while a case is played: no plugin waits {seconds} s")

    def is_preempting(self, _pod: PodInfo) -> bool:
        """Victims are gone when the cycle ends."""
        return False

    def is_leaving(self, _pod: PodInfo) -> bool:
        """Victims are gone when the cycle ends."""
        return False

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Nothing is later: it is done at once."""
        finish(work)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Nothing runs beside a case."""
        work.close()

    def event(
        self, about: PodInfo | KubeObject, reason: str, note: str, *, action: str = "Scheduling", warning: bool = False
    ) -> None:
        """Nobody reads events of a case."""

    async def read(self, kind: type[Kind], name: str, namespace: str = "") -> Kind:
        """An object as it is now."""
        found = self._objects.get(kind, f"{namespace}/{name}" if namespace else name)
        if not isinstance(found, kind):
            raise ApiError(f'{kind.KIND} "{name}" not found', code=404, reason="NotFound")
        return found

    async def create(self, item: Kind) -> Kind:
        """Make an object."""
        uid = f"{item.KIND}/{item.key}"
        named = msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, uid=uid))
        made = self._objects.put(named)
        assert isinstance(made, type(item))
        return made

    async def patch(self, item: Kind, patch: Mapping[str, Any], *, subresource: str = "") -> Kind:
        """Merge into an object; status and the rest are changed apart."""
        meta = item.metadata
        before = await self.read(type(item), meta.name, meta.namespace)
        allowed = {"metadata", "status"} if subresource == "status" else patch.keys() - {"status"}
        tree = merge_patch(msgspec.to_builtins(before), {name: patch[name] for name in allowed if name in patch})
        tree["metadata"]["resourceVersion"] = before.metadata.resource_version
        changed = self._objects.put(convert(tree, type(item)))
        assert isinstance(changed, type(item))
        return changed

    async def delete(self, item: KubeObject) -> None:
        """An object is gone."""
        self._objects.drop(item)

    @property
    def client(self) -> ApiClient:
        """There is none."""
        raise RuntimeError("a case has no API server that plugins could talk to")


def finish(work: Coroutine[Any, Any, Value] | Any) -> Any:
    """Run what a plugin wants awaited to its end; nothing in a case takes time. Raises what it raises."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("a plugin awaits something that no case offers")
