"""DefaultBinder: tells the API server which node the pod goes to."""

from collections.abc import Awaitable
from typing import Any

from moorage.columns import PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle


class DefaultBinder:
    """Bind by POSTing a Binding."""

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle

    def bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> Awaitable[None]:
        """Ask the host to write the binding; an API error is an error of this pod's cycle."""
        return self._handle.host.bind(pod, node_name)
