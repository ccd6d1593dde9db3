"""What a pod that comes, changes or goes means for the snapshot and the queue."""

from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

from moorage.cluster.state import ClusterState
from moorage.columns import PodInfo
from moorage.errors import InputError, ObjectError
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.objects import Pod
from moorage.queue import SchedulingQueue, pod_events
from moorage.queue.moves import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE

UNSCHEDULED_POD_ADD: Final = ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD)


class PodEvents:
    """Handles pods as an informer tells them. Pods that ended count for nothing; neither do pods of other schedulers
    that have no node yet.

    `profiles` are the scheduler names that are ours. `reject_waiting` is asked, when an assumed pod is deleted, to end
    its wait at Permit; it says whether the pod waited there (then whoever waits forgets it). `on_change` is told of
    each pod without a node that changes, goes or is bound: whoever decides on it may have to begin anew.
    """

    def __init__(
        self,
        *,
        cluster: ClusterState,
        queue: SchedulingQueue,
        profiles: Container[str],
        reject_waiting: Callable[[str], bool],
        on_change: Callable[[str], None] = lambda _uid: None,
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._profiles = profiles
        self._reject_waiting = reject_waiting
        registered = queue.registered_actions()
        #: Whether somebody asks for pods without a node by that name; no built-in plugin does.
        self._siblings_listen = not queue.tells_of_pods and any(
            registered.get(resource, Action(0)) & Action.ADD
            for resource in (Resource.UNSCHEDULED_POD, Resource.UNSCHEDULABLE_POD)
        )
        self._on_change = on_change

    def added(self, new: Pod) -> None:
        """A pod appeared."""
        with _Reading(new):
            if new.is_terminal:
                return
            if new.spec.node_name:
                self._assign(new)
            elif new.spec.scheduler_name in self._profiles:
                self._enqueue(new)

    def updated(self, old: Pod, new: Pod) -> None:
        """A pod changed."""
        if new.is_terminal:
            self.deleted(old)
        elif new.spec.node_name:
            with _Reading(new):
                if old.spec.node_name:
                    self._update_assigned(new)
                else:
                    self._assign(new)
        elif new.spec.scheduler_name in self._profiles:
            with _Reading(new):
                self._update_pending(new)

    def deleted(self, old: Pod) -> None:
        """A pod is gone."""
        uid = old.metadata.uid
        pending = self._cluster.remove_pending(uid)
        if pending is None:
            if self._cluster.remove_assigned(uid) is not None:
                self._queue.move_on_event(ASSIGNED_POD_DELETE, old)
            return
        self._queue.delete(pending)
        self._on_change(uid)
        if self._cluster.is_assumed(uid):
            self._drop_assumed(pending)
        elif pending.pod.status.nominated_node_name:
            self._free_nomination(pending)

    def synced(self) -> None:
        """All pods there are have been told."""

    def _assign(self, new: Pod) -> None:
        pending = self._cluster.remove_pending(new.metadata.uid)
        assigned = self._cluster.set_assigned(new)
        self._queue.delete(pending or assigned)
        self._on_change(assigned.uid)
        self._queue.move_on_event(ASSIGNED_POD_ADD, None, new)

    def _update_assigned(self, new: Pod) -> None:
        before = self._cluster.counted(new.metadata.uid)
        after = self._cluster.set_assigned(new)
        if before is None:
            self._queue.move_on_event(ASSIGNED_POD_ADD, None, new)
            return
        for event in pod_events(before, after):
            self._queue.move_on_event(event, before.pod, new)

    def _enqueue(self, new: Pod) -> None:
        pending = self._cluster.snapshot.pods.info(new)
        _ = pending.request
        self._cluster.set_pending(pending)
        self._queue.add(pending)
        if self._siblings_listen:
            self._queue.move_on_event(UNSCHEDULED_POD_ADD, None, new, only=lambda other: other.uid != pending.uid)

    def _update_pending(self, new: Pod) -> None:
        before = self._cluster.pending(new.metadata.uid)
        if before is None:
            self._enqueue(new)
            return
        after = self._cluster.snapshot.pods.info(new)
        _ = after.request
        self._cluster.set_pending(after)
        if self._cluster.is_assumed(after.uid):
            if new.is_terminating and not before.pod.is_terminating:
                self._drop_assumed(after)
            return
        self._queue.update(before, after)
        self._on_change(after.uid)
        promised = before.pod.status.nominated_node_name
        if promised and promised != new.status.nominated_node_name:
            self._free_nomination(before)

    def _drop_assumed(self, pod: PodInfo) -> None:
        """A pod we have decided on is deleted before it was bound: its room is free at once."""
        assumed = self._cluster.counted(pod.uid) or pod
        if not self._reject_waiting(pod.uid):
            self._cluster.forget(pod.uid)
        self._queue.move_on_event(ASSIGNED_POD_DELETE, assumed.pod)

    def _free_nomination(self, pod: PodInfo) -> None:
        """A promised node is promised no more: that may help pods that had to stand back for it."""
        self._queue.move_on_event(ASSIGNED_POD_DELETE, pod.pod, only=lambda other: other.priority <= pod.priority)


class _Reading(AbstractContextManager["_Reading"]):
    """What a malformed pod fails on becomes an ObjectError that names it: one bad pod stops nobody else."""

    __slots__ = ("_pod",)

    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InputError):
            raise ObjectError(error.problem, where=f"Pod {self._pod.key}: {error.where}".rstrip(": ")) from error
