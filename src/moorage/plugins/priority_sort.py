"""PrioritySort: higher priority first, then whoever has waited longest since it last entered the queue."""

from collections.abc import Sequence

from moorage.columns import PodInfo
from moorage.framework.events import EventHint
from moorage.framework.handle import Handle


class PrioritySort:
    """QueueSort."""

    def __init__(self, _args: object, _handle: Handle) -> None: ...

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        """Smaller goes first."""
        return -pod.priority, timestamp

    def events_to_register(self) -> Sequence[EventHint]:
        """It rejects nothing, so nothing concerns it."""
        return ()
