"""Events about pods, written under the name of the profile that caused them."""

import asyncio
from collections.abc import Iterable

from moorage.attempt.world import PodEvent
from moorage.kube.lanes import Lanes
from moorage.kube.recorder import EventRecorder, reference_to

_CAPACITY = 20_000
"""Events that wait to be written, at most: binds go first, so in a burst many wait."""


class Reporter:
    """One recorder for each profile: an event names the scheduler that its pod asked for."""

    def __init__(self, lanes: Lanes, profiles: Iterable[str]) -> None:
        self._recorders = {name: EventRecorder(lanes, controller=name, capacity=_CAPACITY) for name in profiles}

    @property
    def dropped(self) -> int:
        """Events that were never written."""
        return sum(recorder.dropped for recorder in self._recorders.values())

    def record(self, event: PodEvent) -> None:
        """Have the event written, in its time."""
        self._recorders[event.profile].record(
            reference_to(event.item),
            reason=event.reason,
            action=event.action,
            note=event.note,
            type=event.kind,
            repeats=event.repeats,
        )

    async def run(self) -> None:
        """Write what is reported, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for recorder in self._recorders.values():
                group.create_task(recorder.run())

    async def drain(self) -> None:
        """Wait until everything reported so far is written or given up; put a deadline round it."""
        for recorder in self._recorders.values():
            await recorder.drain()
