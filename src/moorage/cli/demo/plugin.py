"""The demo's plugin: some nodes run on cheaper power at night."""

from typing import Any

from moorage.framework import CycleState, Handle, NodeInfo, PodInfo


class PreferGreenNodes:
    """Scores nodes by their label `power`."""

    def __init__(self, _args: Any, _handle: Handle) -> None: ...

    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """Green power is best."""
        return 100 if node.labels.get("power") == "green" else 0
