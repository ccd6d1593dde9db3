"""Events about pods, under the name of the profile that caused them."""

import asyncio
from collections.abc import Iterable

from moorage.columns import PodInfo
from moorage.kube.lanes import Lanes
from moorage.kube.recorder import NORMAL, WARNING, EventRecorder
from moorage.objects import ObjectReference

_CAPACITY = 20_000
"""Events that wait to be written, at most: binds go first, so in a burst many wait."""

_NOTE_BYTES = 1024
_CUT = " ..."


class Reporter:
    """One recorder for each profile: an event names the scheduler that its pod asked for."""

    def __init__(self, lanes: Lanes, profiles: Iterable[str]) -> None:
        self._recorders = {name: EventRecorder(lanes, controller=name, capacity=_CAPACITY) for name in profiles}

    @property
    def dropped(self) -> int:
        """Events that were never written."""
        return sum(recorder.dropped for recorder in self._recorders.values())

    def scheduled(self, pod: PodInfo, node_name: str) -> None:
        """The pod was bound."""
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._record(pod.spec.scheduler_name, pod, "Scheduled", "Binding", note, repeats=False)

    def failed(self, pod: PodInfo, message: str) -> None:
        """The pod got no node."""
        self._record(pod.spec.scheduler_name, pod, "FailedScheduling", "Scheduling", shortened(message), kind=WARNING)

    def preempted(self, profile: str, victim: PodInfo, note: str) -> None:
        """The victim has to leave for a pod of that profile."""
        self._record(profile, victim, "Preempted", "Preempting", note)

    async def run(self) -> None:
        """Write what is reported, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for recorder in self._recorders.values():
                group.create_task(recorder.run())

    async def drain(self) -> None:
        """Wait until everything reported so far is written or given up; put a deadline round it."""
        for recorder in self._recorders.values():
            await recorder.drain()

    def _record(
        self,
        profile: str,
        pod: PodInfo,
        reason: str,
        action: str,
        note: str,
        *,
        kind: str = NORMAL,
        repeats: bool = True,
    ) -> None:
        meta = pod.pod.metadata
        regarding = ObjectReference(
            api_version="v1",
            kind="Pod",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
        )
        self._recorders[profile].record(regarding, reason=reason, action=action, note=note, type=kind, repeats=repeats)


def shortened(message: str) -> str:
    """The message, cut to what an event's note may hold."""
    encoded = message.encode()
    if len(encoded) <= _NOTE_BYTES:
        return message
    return encoded[: _NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT
