"""The pods that no retry would help: rejected ones wait for an event, gated ones for their gate.

Pods are held by the plugins that rejected them, and under each plugin by what its hints read of a pod. Which plugins
an event concerns is known beforehand (moorage.queue.hints), so that it leads to some classes of pods and to no other
pod, and one answer does for a class.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from moorage.columns import PodInfo
from moorage.queue.record import QueuedEntity, QueuedGroup

#: (scheduler name, plugin name)
Holder = tuple[str, str]

#: What a plugin's hints read of a pod; None where they cannot share an answer with any other pod's.
LikenessOf = Callable[[Holder, QueuedEntity], Hashable | None]


@dataclass(slots=True, eq=False)
class AlikePods:
    """Pods of one priority that one plugin holds, and that its hints cannot tell apart; in order of arrival."""

    holder: Holder
    #: Whether this is one pod alone, for which every plugin that rejected it is asked.
    is_single: bool
    #: The number of the last event its pods were asked about.
    asked: int
    pods: dict[str, QueuedEntity] = field(default_factory=dict)


class UnschedulablePods:
    """unschedulablePods. A gated pod is found under its gating plugin alone, others under each rejecting plugin."""

    def __init__(self, likeness: LikenessOf) -> None:
        self._likeness = likeness
        self._pods: dict[str, QueuedEntity] = {}
        #: holder -> priority -> likeness -> pods
        self._held: dict[Holder, dict[int, dict[Hashable, AlikePods]]] = {}
        #: Where a pod stands, so that it is found again whatever becomes of it.
        self._places: dict[str, list[tuple[int, Hashable, AlikePods]]] = {}
        self._gated = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[QueuedEntity]:
        return iter(self._pods.values())

    @property
    def gated(self) -> int:
        """How many of the pods are gated."""
        return self._gated

    def get(self, key: str) -> QueuedEntity | None:
        """The pod under a key."""
        return self._pods.get(key)

    def add(self, queued: QueuedEntity, number: int) -> None:
        """Add a pod that is not here; events up to this number concern it no more.

        Some plugin must hold it, or no event would ever find it.
        """
        assert queued.key not in self._pods, f"{queued.key} is queued twice"
        holders = _holders(queued)
        assert holders, f"no plugin holds {queued.key}"
        queued.entered = number
        self._pods[queued.key] = queued
        self._gated += queued.is_gated
        self._places[queued.key] = [self._place(holder, queued) for holder in holders]

    def remove(self, key: str) -> QueuedEntity | None:
        """Take a pod out. None if it is not here."""
        queued = self._pods.pop(key, None)
        if queued is None:
            return None
        self._gated -= queued.is_gated
        for priority, likeness, alike in self._places.pop(key):
            del alike.pods[key]
            if not alike.pods:
                self._drop(priority, likeness, alike)
        return queued

    def holders(self, key: str) -> list[Holder]:
        """The plugins that hold a pod of this queue."""
        return [alike.holder for _, _, alike in self._places[key]]

    def renew(self, queued: QueuedEntity, pod: PodInfo) -> bool:
        """A pod that is here has changed. False, and nothing done, where it is now held with others than before."""
        before = queued.pod
        queued.pod = pod
        places = self._places[queued.key]
        if all(self._key(alike.holder, queued) == (priority, likeness) for priority, likeness, alike in places):
            return True
        queued.pod = before
        return False

    def priorities(self, holder: Holder) -> list[int]:
        """The priorities of the pods that a plugin holds."""
        return list(self._held.get(holder, ()))

    def alike(self, holder: Holder, priority: int) -> list[AlikePods]:
        """The pods of a priority that a plugin holds."""
        return list(self._held.get(holder, {}).get(priority, {}).values())

    def _place(self, holder: Holder, queued: QueuedEntity) -> tuple[int, Hashable, AlikePods]:
        priority, likeness = self._key(holder, queued)
        known = self._held.setdefault(holder, {}).setdefault(priority, {})
        alike = known.get(likeness)
        if alike is None:
            alike = known[likeness] = AlikePods(holder, _is_single(queued), queued.entered)
        alike.pods[queued.key] = queued
        return priority, likeness, alike

    def _key(self, holder: Holder, queued: QueuedEntity) -> tuple[int, Hashable]:
        is_single = _is_single(queued)
        likeness = None if is_single else self._likeness(holder, queued)
        return queued.pod.priority, (queued.key, is_single) if likeness is None else likeness

    def _drop(self, priority: int, likeness: Hashable, alike: AlikePods) -> None:
        priorities = self._held[alike.holder]
        del priorities[priority][likeness]
        if not priorities[priority]:
            del priorities[priority]
            if not priorities:
                del self._held[alike.holder]


def _is_single(queued: QueuedEntity) -> bool:
    """A plugin that only waits, and one that gates, are weighed against the others: that is asked pod by pod."""
    return isinstance(queued, QueuedGroup) or bool(queued.pending_plugins) or queued.is_gated


def _holders(queued: QueuedEntity) -> list[Holder]:
    profile = queued.profile
    if queued.is_gated:
        return [(profile, queued.gating_plugin)]
    return [(profile, plugin) for plugin in sorted(queued.rejecting_plugins)]
