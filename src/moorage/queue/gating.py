"""PreEnqueue: which pods may enter the active or back-off queue at all."""

from collections.abc import Mapping
from typing import Final

from moorage.columns import PodInfo
from moorage.framework.answers import broken, verdict
from moorage.queue.counts import QueueCounts
from moorage.queue.faults import Faults
from moorage.queue.hints import PreEnqueueFunction, ProfileHints
from moorage.queue.record import QueuedEntity, QueuedPod

_POINT: Final = "PreEnqueue"


class Gates:
    """The PreEnqueue plugins of each profile."""

    def __init__(self, profiles: Mapping[str, ProfileHints], counts: QueueCounts, faults: Faults) -> None:
        self._plugins = {name: dict(profile.pre_enqueue) for name, profile in profiles.items()}
        self._counts = counts
        self._faults = faults

    def admit(self, queued: QueuedEntity) -> bool:
        """Ask the plugins for a pod, or for each member of a group, where one that is kept out keeps all of them out.

        It must be in no queue: its marks decide where events find it.
        """
        kept_out = [member.gating_plugin for member in queued.members if not self._admit_pod(member)]
        queued.gating_plugin = kept_out[-1] if kept_out else ""
        if kept_out:
            queued.was_flushed = False
        return not kept_out

    def _admit_pod(self, queued: QueuedPod) -> bool:
        """Ask the plugins, the one that last kept the pod out first. The first refusal marks the pod as gated."""
        plugins = self._plugins[queued.profile]
        last = queued.gating_plugin
        names = [last, *(name for name in plugins if name != last)] if last else list(plugins)
        for name in names:
            if not self._passes(name, plugins[name], queued.pod):
                if name not in queued.rejecting_plugins:
                    self._counts.rejected(queued.profile, (name,))
                queued.unschedulable_plugins |= {name}
                queued.gating_plugin = name
                return False
        queued.gating_plugin = ""
        return True

    def _passes(self, name: str, pre_enqueue: PreEnqueueFunction, pod: PodInfo) -> bool:
        try:
            return verdict(name, None, _POINT, pre_enqueue(pod)) is None
        except Exception as problem:
            self._faults.see(broken(name, _POINT, problem), f"pods are kept out, such as {pod.key}")
            return False
