"""PreEnqueue: which pods may enter the active or back-off queue at all."""

from collections.abc import Callable, Mapping
from typing import Final

from moorage.columns import PodInfo
from moorage.config.points import IN_TREE_POINTS
from moorage.framework.answers import broken, verdict
from moorage.framework.faults import Faults
from moorage.queue.hints import PreEnqueueFunction, ProfileHints
from moorage.queue.moves import QueueCounts
from moorage.queue.record import QueuedEntity, QueuedGroup, QueuedPod

_POINT: Final = "PreEnqueue"

#: Told a pod, the plugin that keeps it out, and why. kube-scheduler's own plugins do so without a word.
TellGate = Callable[[PodInfo, str, str], None]

#: Told a profile, how its PreEnqueue plugins answered, and how many seconds that took.
ObserveGates = Callable[[str, str, float], None]


class Gates:
    """The PreEnqueue plugins of each profile."""

    def __init__(
        self,
        profiles: Mapping[str, ProfileHints],
        counts: QueueCounts,
        faults: Faults,
        tell: TellGate | None = None,
        observe: ObserveGates | None = None,
        now: Callable[[], float] = lambda: 0.0,
        *,
        asks_all: bool = True,
    ) -> None:
        """`tell` hears who keeps a pod out and why, once for each change of that. With `asks_all` every member of a
        group is asked about, and the last one counts that is kept out; without, the first ends it.
        """
        self._asks_all = asks_all
        self._tell = tell
        self._observe = observe
        self._now = now
        self._plugins = {name: dict(profile.pre_enqueue) for name, profile in profiles.items()}
        self._counts = counts
        self._faults = faults

    def admit(self, queued: QueuedEntity) -> bool:
        """Ask the plugins for a pod, or for each member of a group, where one that is kept out keeps all of them out.

        It must be in no queue: its marks decide where events find it.
        """
        gating_plugin = ""
        for member in queued.members:
            if not self._admit_pod(member):
                gating_plugin = member.gating_plugin
                if not self._asks_all:
                    break
        queued.gating_plugin = gating_plugin
        if gating_plugin:
            queued.was_flushed = False
        return not gating_plugin

    def admit_joined(self, queued: QueuedGroup, member: QueuedPod) -> bool:
        """Ask about a member that joins a group whose others were let in already."""
        if not self._admit_pod(member):
            queued.gating_plugin = member.gating_plugin
            queued.was_flushed = False
        return not queued.gating_plugin

    def keeps_out(self, queued: QueuedGroup) -> bool:
        """Whether the plugin that gates a group gates it still, as far as its first member tells."""
        plugin, first = queued.gating_plugin, queued.queued[0]
        if not plugin or first.gating_plugin != plugin:
            return False
        reason = self._refusal(plugin, self._plugins[first.profile][plugin], first.pod)
        if reason is not None:
            self._mark(first, plugin, reason)
        return reason is not None

    def _admit_pod(self, queued: QueuedPod) -> bool:
        """Ask the plugins, the one that last kept the pod out first. The first refusal marks the pod as gated."""
        plugins, last = self._plugins[queued.profile], queued.gating_plugin
        started = self._now()
        reason, gating_plugin = None, ""
        for name in (last, *(name for name in plugins if name != last)) if last else plugins:
            reason = self._refusal(name, plugins[name], queued.pod)
            if reason is not None:
                gating_plugin = name
                break
        if self._observe is not None and plugins:
            answer = "UnschedulableAndUnresolvable" if gating_plugin else "Success"
            self._observe(queued.profile, answer, self._now() - started)
        queued.gating_plugin = gating_plugin
        if reason is not None:
            self._mark(queued, gating_plugin, reason)
        return reason is None

    def _mark(self, queued: QueuedPod, plugin: str, reason: str) -> None:
        """A plugin keeps the pod out."""
        if self._tell is not None and reason != queued.told and plugin not in IN_TREE_POINTS:
            queued.told = reason
            self._tell(queued.pod, plugin, reason)
        if plugin not in queued.rejecting_plugins:
            self._counts.rejected(queued.profile, (plugin,))
        queued.unschedulable_plugins |= {plugin}

    def _refusal(self, name: str, pre_enqueue: PreEnqueueFunction, pod: PodInfo) -> str | None:
        """Why the plugin keeps the pod out; None where it does not."""
        try:
            answer = pre_enqueue(pod)
            if answer is None:
                return None
            status = verdict(name, getattr(pre_enqueue, "__self__", None), _POINT, answer)
        except BaseException as problem:
            error = broken(name, _POINT, problem)
            self._faults.see(error, f"pods are kept out, such as {pod.key}")
            return str(error)
        return None if status is None else status.message
