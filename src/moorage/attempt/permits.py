"""Pods held at Permit: until every plugin that asked for it allows them, one rejects them, or time is up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from moorage.attempt.world import Promise, Timer, World
from moorage.columns import PodInfo
from moorage.framework.points import Wait
from moorage.framework.status import Status, error, unschedulable
from moorage.values.duration import Duration

LONGEST_WAIT: Final = 15 * 60.0
"""Seconds: nobody is held longer, whatever a plugin asks for."""


#: Told the plugin that waits, and why.
Tell = Callable[[str, str], None]


def _untold(_plugin: str, _reason: str) -> None:
    """Nobody is told."""


class HeldPod:
    """A pod held at Permit (framework.handle.WaitingPod). `outcome` tells how that ended: None lets it go on."""

    def __init__(self, world: World, pod: PodInfo, node_name: str, waits: Mapping[str, Wait], tell: Tell) -> None:
        self._pod = pod
        self._tell = tell
        self._node_name = node_name
        self._timers: dict[str, Timer] = {}
        self.outcome: Promise[Status | None] = world.promise()
        for plugin, wanted in waits.items():
            seconds = min(max(wanted.seconds, 0.0), LONGEST_WAIT)
            time_out: Callable[[], None] = partial(self._time_out, plugin, seconds)
            self._timers[plugin] = world.call_later(seconds, time_out)
            self.tell(plugin, wanted.reason)

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

    def tell(self, plugin: str, reason: str) -> None:
        """Why this plugin still waits."""
        if plugin in self._timers and reason:
            self._tell(plugin, reason)

    def preempt(self, plugin: str, reason: str) -> None:
        """The pod has to make room: it goes back to the queue as after an error."""
        self._end(error(reason).by(plugin))

    def close(self) -> None:
        """Nobody waits for it any more: its timers are put away."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _time_out(self, plugin: str, seconds: float) -> None:
        waited = Duration(round(seconds * 1e9))
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def _end(self, outcome: Status | None) -> None:
        self.close()
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class HeldPods:
    """Every pod held at Permit, by uid."""

    def __init__(self, *, world: World) -> None:
        self._world = world
        self._held: dict[str, HeldPod] = {}

    def __iter__(self) -> Iterator[HeldPod]:
        return iter(list(self._held.values()))

    def __len__(self) -> int:
        return len(self._held)

    def get(self, uid: str) -> HeldPod | None:
        """The held pod of that uid."""
        return self._held.get(uid)

    def hold(self, pod: PodInfo, node_name: str, waits: Mapping[str, Wait], tell: Tell = _untold) -> HeldPod:
        """Hold a pod; `waits` are the plugins that asked for it. `tell` hears why each of them waits."""
        held = self._held[pod.uid] = HeldPod(self._world, pod, node_name, waits, tell)
        return held

    def release(self, uid: str) -> None:
        """The pod is held no longer."""
        held = self._held.pop(uid, None)
        if held is not None:
            held.close()

    def reject(self, uid: str) -> bool:
        """The pod is deleted: end its wait. False if it is not held."""
        held = self._held.get(uid)
        if held is None:
            return False
        held.reject("", "removed")
        return True
