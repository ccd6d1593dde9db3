"""Pods held at Permit: until every plugin that asked for it allows them, one rejects them, or time is up."""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from moorage.columns import PodInfo
from moorage.framework.status import Status, error, unschedulable
from moorage.values.duration import Duration

logger = logging.getLogger(__name__)

LONGEST_WAIT: Final = 15 * 60.0
"""Seconds: nobody is held longer, whatever a plugin asks for."""


class HeldPod:
    """A pod held at Permit (framework.handle.WaitingPod). `outcome` tells how that ended: None lets it go on."""

    def __init__(self, pod: PodInfo, node_name: str, waits: Mapping[str, float]) -> None:
        self._pod = pod
        self._node_name = node_name
        loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Status | None] = loop.create_future()
        self._timers = {
            plugin: loop.call_later(min(seconds, LONGEST_WAIT), self._time_out, plugin, min(seconds, LONGEST_WAIT))
            for plugin, seconds in waits.items()
        }

    @property
    def pod(self) -> PodInfo:
        """The pod."""
        return self._pod

    @property
    def node_name(self) -> str:
        """Where it will go."""
        return self._node_name

    def pending_plugins(self) -> Sequence[str]:
        """The plugins that have not allowed it yet."""
        return list(self._timers)

    def allow(self, plugin: str) -> None:
        """This plugin waits no longer."""
        timer = self._timers.pop(plugin, None)
        if timer is not None:
            timer.cancel()
        if not self._timers:
            self._end(None)

    def reject(self, plugin: str, reason: str) -> None:
        """This plugin ends the waiting: the pod goes back to the queue."""
        self._end(unschedulable(reason).by(plugin))

    def preempt(self, plugin: str, reason: str) -> None:
        """The pod has to make room: it goes back to the queue as after an error."""
        self._end(error(reason).by(plugin))

    def _time_out(self, plugin: str, seconds: float) -> None:
        waited = Duration(round(seconds * 1e9))
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def _end(self, outcome: Status | None) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class HeldPods:
    """Every pod held at Permit, by uid."""

    def __init__(self) -> None:
        self._held: dict[str, HeldPod] = {}

    def __iter__(self) -> Iterator[HeldPod]:
        return iter(list(self._held.values()))

    def __len__(self) -> int:
        return len(self._held)

    def get(self, uid: str) -> HeldPod | None:
        """The held pod of that uid."""
        return self._held.get(uid)

    def hold(self, pod: PodInfo, node_name: str, waits: Mapping[str, float]) -> HeldPod:
        """Hold a pod; `waits` are the plugins that asked for it, each with its seconds."""
        held = self._held[pod.uid] = HeldPod(pod, node_name, waits)
        return held

    def release(self, uid: str) -> None:
        """The pod is held no longer."""
        self._held.pop(uid, None)

    def reject(self, uid: str) -> bool:
        """The pod is deleted: end its wait. False if it is not held."""
        held = self._held.get(uid)
        if held is None:
            return False
        held.reject("", "removed")
        return True
