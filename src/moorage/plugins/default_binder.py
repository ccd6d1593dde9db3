"""DefaultBinder: tells the API server which node the pod goes to."""

from typing import Any

from moorage.columns import PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import Status


class DefaultBinder:
    """Bind by POSTing a Binding."""

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle

    async def bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Ask the host to write the binding; an API error is an error of this pod's cycle."""
        await self._handle.host.bind(pod, node_name)
        return None
