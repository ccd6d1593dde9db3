"""Pods whose group is not there, or lacks members: they are not tried, and after a moment are told why."""

from collections.abc import Callable
from functools import partial
from typing import Final

from moorage.attempt import reporting
from moorage.attempt.failing import UNSCHEDULABLE
from moorage.attempt.statuses import StatusWriter
from moorage.attempt.world import World
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.queue import Place, SchedulingQueue

PATIENCE: Final = 2.0
"""Seconds: a group is often made together with its pods, and watches tell of kinds in any order."""


class MissingGroups:
    """Tells pods without their group (with `tells`), and those that a plugin keeps out with their group."""

    def __init__(
        self, *, world: World, cluster: ClusterState, queue: SchedulingQueue, statuses: StatusWriter, tells: bool
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._statuses = statuses
        self._groups = cluster.snapshot.groups
        self._waiting: set[str] = set()
        self._told: set[str] = set()
        #: By the path of the group: who was kept out last, by which plugin, and why.
        self._gated: dict[str, tuple[PodInfo, str, str]] = {}
        if tells:
            self._groups.watch(self._touched)

    def gated(self, pod: PodInfo, plugin: str, reason: str) -> None:
        """A plugin keeps out a member, and so its group. Members are made one after the other: it may pass."""
        path = self._groups.path_of(pod)
        if path not in self._gated:
            self._world.call_later(PATIENCE, partial(self._tell_of_gate, path))
        self._gated[path] = pod, plugin, reason

    def _tell_of_gate(self, path: str) -> None:
        pod, plugin, reason = self._gated.pop(path)
        root = self._groups.root_of(path)
        found = self._queue.find(root.path) if root is not None else None
        if found is not None and found[0] is Place.GATED and self._cluster.pending(pod.uid) is not None:
            self._world.record(reporting.gated(pod, plugin, reason))

    def _touched(self, path: str) -> None:
        if path not in self._waiting and self._groups.get(path) is None and self._groups.members(path).all:
            self._waiting.add(path)
            self._world.call_later(PATIENCE, self._telling(path))

    def _telling(self, path: str) -> Callable[[], None]:
        def tell() -> None:
            self._waiting.discard(path)
            if self._groups.get(path) is None:
                for uid, pod in self._groups.members(path).all.items():
                    if uid not in self._told and self._cluster.pending(uid) is not None:
                        self._told.add(uid)
                        self._tell(path, pod)
            self._told &= {queued.pod.uid for queued in self._queue.incomplete()}

        return tell

    def _tell(self, path: str, pod: PodInfo) -> None:
        note = f'waiting for PodGroup "{path.rpartition("/")[2]}" to be created'
        self._world.record(reporting.failed(pod, note))
        self._statuses.unscheduled(pod, UNSCHEDULABLE, note, None)
