"""The pods that no retry would help: rejected ones wait for an event, gated ones for their gate.

Pods are indexed by the plugin that holds them, for each profile. Which plugins an event concerns is known beforehand
(moorage.queue.hints), so an event looks at the pods of those plugins and at no other.
"""

from collections.abc import Iterable, Iterator, Mapping

from moorage.queue.record import QueuedPod

#: (scheduler name, plugin name)
Holder = tuple[str, str]

_NOBODY: Mapping[str, QueuedPod] = {}


class UnschedulablePods:
    """unschedulablePods. A gated pod is found under its gating plugin alone, others under each rejecting plugin."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        self._held: dict[Holder, dict[str, QueuedPod]] = {}
        self._gated = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    @property
    def gated(self) -> int:
        """How many of the pods are gated."""
        return self._gated

    def get(self, key: str) -> QueuedPod | None:
        """The pod under a key."""
        return self._pods.get(key)

    def add(self, queued: QueuedPod) -> None:
        """Add a pod that is not here. Some plugin must hold it, or no event would ever find it."""
        assert queued.key not in self._pods, f"{queued.key} is queued twice"
        self._pods[queued.key] = queued
        self._gated += queued.is_gated
        holders = _holders(queued)
        assert holders, f"no plugin holds {queued.key}"
        for holder in holders:
            self._held.setdefault(holder, {})[queued.key] = queued

    def remove(self, key: str) -> QueuedPod | None:
        """Take a pod out. None if it is not here."""
        queued = self._pods.pop(key, None)
        if queued is None:
            return None
        self._gated -= queued.is_gated
        for holder in _holders(queued):
            held = self._held[holder]
            del held[key]
            if not held:
                del self._held[holder]
        return queued

    def held_by(self, holders: Iterable[Holder]) -> list[QueuedPod]:
        """The pods that any of these plugins holds, each once."""
        found: dict[str, QueuedPod] = {}
        for holder in holders:
            found.update(self._held.get(holder, _NOBODY))
        return list(found.values())


def _holders(queued: QueuedPod) -> list[Holder]:
    profile = queued.profile
    if queued.is_gated:
        return [(profile, queued.gating_plugin)]
    return [(profile, plugin) for plugin in sorted(queued.rejecting_plugins)]
