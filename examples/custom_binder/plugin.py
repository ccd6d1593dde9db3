"""Binds pods by itself, and writes down beforehand who bound them, when and why there."""

from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import ClassVar, Final

from moorage.framework import SKIP, ApiError, CycleState, Handle, Pod, PodInfo, Status, error

BOUND_BY: Final = "example.com/bound-by"
BOUND_AT: Final = "example.com/bound-at"


@dataclass(frozen=True)
class AuditedBinderArgs:
    """Whose pods it binds; the others are left to the next Bind plugin."""

    namespaces: tuple[str, ...] = ()
    signature: str = "moorage"


class AuditedBinder:
    """Bind: two annotations, then the binding, by the scheduler's own way: fenced, limited, never repeated blindly."""

    args_type: ClassVar = AuditedBinderArgs
    #: What `moorage manifests` lets it write, beside the binding.
    writes: ClassVar = MappingProxyType({Pod: ("patch",)})

    def __init__(self, args: AuditedBinderArgs, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    async def bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """SKIP leaves a pod to DefaultBinder."""
        if self.args.namespaces and pod.namespace not in self.args.namespaces:
            return SKIP
        now = datetime.fromtimestamp(self.handle.now(), UTC).isoformat(timespec="seconds")
        note = {BOUND_BY: self.args.signature, BOUND_AT: now}
        try:
            await self.handle.host.patch(pod.pod, {"metadata": {"annotations": note}})
            await self.handle.host.bind(pod, node_name)
        except ApiError as refusal:
            return error(f"the API server refused: {refusal}")
        return None
