"""Groups in the queue: a member waits with its group, and a group is one thing that is tried, backs off and is gated.

A group is known by its path, `podgroups/namespace/name`; one that stands in others (`compositepodgroups/...`) is queued
with the topmost of them. A pod whose group, or any above it, is not there is incomplete: in no queue, and not tried.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from moorage.columns import PodInfo
from moorage.framework.status import Status
from moorage.queue.hints import Requeue
from moorage.queue.moves import SCHEDULE_ATTEMPT_FAILURE
from moorage.queue.places import Places
from moorage.queue.record import NO_PLUGINS, Place, QueuedGroup, QueuedPod


@dataclass(frozen=True, slots=True)
class Group:
    """What the queue needs to know of a group."""

    path: str
    priority: int = 0
    #: The path of the group that it stands in, "" if in none.
    parent: str = ""


class Groups:
    """The groups there are, and their pods that wait outside of the queues."""

    def __init__(
        self,
        places: Places,
        now: Callable[[], float],
        path_of: Callable[[PodInfo], str],
        *,
        added: str,
        updated: str,
        rest: bool = False,
    ) -> None:
        """`path_of` says which group a pod is in. `added` and `updated` are what the comings and changes of pods are
        called where they move something. With `rest` a group that fits nowhere waits for an event; else it is tried
        again after each back-off, as kube-scheduler does.
        """
        self._rest = rest
        #: Groups in flight for whose members something happened that may help.
        self._missed: set[str] = set()
        self._places = places
        self._now = now
        self._path_of = path_of
        self._added = added
        self._updated = updated
        self._known: dict[str, Group] = {}
        #: Pods by the path of their group: those that lack one, and those whose group is being tried.
        self._incomplete: dict[str, dict[str, QueuedPod]] = {}
        self._pending: dict[str, dict[str, QueuedPod]] = {}
        self._in_flight: set[str] = set()

    # Groups come, change and go.

    def set(self, group: Group) -> None:
        """A group is there, or has changed. Pods that waited for it are queued."""
        self._known[group.path] = group
        root = self._root_of(group.path)
        if root is None:
            return
        self._renew(root)
        for path in [path for path in self._incomplete if self._root_of(path) == root]:
            for member in self._incomplete.pop(path).values():
                self.add(member)

    def remove(self, path: str) -> None:
        """A group is gone: its pods are incomplete."""
        root = self._root_of(path)
        self._known.pop(path, None)
        if root is None:
            return
        taken = self._places.take(root)
        if taken is None:
            for left in [left for left in self._pending if self._root_of(left) is None]:
                self._incomplete.setdefault(left, {}).update(self._pending.pop(left))
            return
        entity, verdict = taken
        assert isinstance(entity, QueuedGroup)
        for member in [one for one in entity.queued if self._root_of(self._path_of(one.pod)) is None]:
            entity.queued.remove(member)
            self._incomplete.setdefault(self._path_of(member.pod), {})[member.key] = member
        if entity.queued:
            self._places.requeue(entity, verdict, self._updated)

    def _renew(self, root: str) -> None:
        """The priority of a queued group may have changed."""
        found = self._places.find(root)
        if found is None:
            return
        place, entity = found
        entity.pod = _standing_for(entity.members[0].pod, self._known[root].priority)
        if place is Place.ACTIVE:
            self._places.active.update(entity)
        elif place is Place.BACKOFF:
            self._places.backoff.update(entity)

    # Pods come, change and go.

    def add(self, member: QueuedPod) -> None:
        """A pod comes, or comes back: it joins its group, whatever that is doing."""
        path = self._path_of(member.pod)
        root = self._root_of(path)
        if root is None:
            self._incomplete.setdefault(path, {})[member.key] = member
            return
        if self._rest and not member.consecutive_errors and self._places.join_gated(root, member, self._added):
            return
        taken = self._places.take(root)
        if taken is not None:
            entity, verdict = taken
            assert isinstance(entity, QueuedGroup)
            entity.add(member)
            if self._rest and member.consecutive_errors:
                self._requeue_broken(entity, member)
            elif self._rest and verdict is Requeue.IMMEDIATELY:
                self._places.put_back(entity, member, self._added)
            else:
                # One more member may be what a group waited for that rests.
                may_help = self._rest and verdict is Requeue.SKIP
                self._places.requeue(entity, Requeue.AFTER_BACKOFF if may_help else verdict, self._added)
        elif root in self._in_flight:
            self._pending.setdefault(path, {})[member.key] = member
        else:
            entity = self._make(root, member)
            if self._rest and member.consecutive_errors:
                self._requeue_broken(entity, member)
            else:
                self._places.admit_active(entity, self._added)

    def _requeue_broken(self, entity: QueuedGroup, member: QueuedPod) -> None:
        """A member comes back whose attempt broke, such as one that was not bound: no event helps, only time."""
        entity.consecutive_errors = max(entity.consecutive_errors, member.consecutive_errors)
        entity.unschedulable_plugins = NO_PLUGINS
        entity.timestamp = member.timestamp
        entity.backoff_expiry = None
        self._places.requeue(entity, Requeue.AFTER_BACKOFF, self._added)

    def outside(self, pod: PodInfo) -> QueuedPod | None:
        """The pod, if it is incomplete, or its group is being tried."""
        path, key = self._path_of(pod), pod.key
        return self._incomplete.get(path, {}).get(key) or self._pending.get(path, {}).get(key)

    def root_of(self, pod: PodInfo) -> str | None:
        """The path of what the pod is queued with; None where a group is missing."""
        return self._root_of(self._path_of(pod))

    def discard(self, pod: PodInfo) -> QueuedPod | None:
        """The pod is gone; the others stay where they are. None if it was not here."""
        path = self._path_of(pod)
        for outside in (self._incomplete, self._pending):
            if (member := outside.get(path, {}).get(pod.key)) is not None:
                del outside[path][pod.key]
                if not outside[path]:
                    del outside[path]
                return member
        root = self._root_of(path)
        taken = self._places.take(root) if root is not None else None
        if taken is None:
            return None
        entity, verdict = taken
        assert isinstance(entity, QueuedGroup)
        member = entity.take(pod.uid)
        if entity.queued:
            self._places.requeue(entity, verdict, self._added)
        return member

    # The scheduling cycle takes groups and brings them back.

    def departed(self, entity: QueuedGroup) -> None:
        """The group is being tried: its pods gather outside until `come_back`."""
        self._in_flight.add(entity.root)

    def missed(self, pod: PodInfo) -> None:
        """Something happened while the pod was in flight that may help it."""
        root = self.root_of(pod)
        if root is not None:
            self._missed.add(root)

    def come_back(
        self, entity: QueuedGroup, status: Status | None, plugins: frozenset[str] = NO_PLUGINS
    ) -> Place | None:
        """The group was tried, and came out with that status; the pods that got no node are back already. `plugins`
        are those that stood in the way.

        Answers where they wait; None if none does.
        """
        self._in_flight.discard(entity.root)
        missed = entity.root in self._missed
        self._missed.discard(entity.root)
        paths = [path for path in self._pending if self._root_of(path) == entity.root]
        members = [member for path in paths for member in self._pending.pop(path).values()]
        if not members:
            return None
        tried = {member.pod.uid for member in entity.queued}
        again = any(member.pod.uid in tried for member in members)
        self._count(entity, status, keeps_time=again)
        entity.queued = sorted(members, key=QueuedGroup.order)
        entity.examples = None
        entity.pod = _standing_for(entity.queued[0].pod, self._known[entity.root].priority)
        succeeded = status is None or status.is_success
        verdict = Requeue.IMMEDIATELY if succeeded else Requeue.AFTER_BACKOFF
        if self._rest and plugins and (succeeded or (status is not None and status.is_rejection)):
            entity.unschedulable_plugins = plugins
            verdict = Requeue.AFTER_BACKOFF if missed else Requeue.SKIP
            if succeeded:
                entity.unschedulable_count = 1
                entity.timestamp = self._now()
        elif self._rest:
            entity.unschedulable_plugins = NO_PLUGINS
        return self._places.requeue(entity, verdict, SCHEDULE_ATTEMPT_FAILURE)

    def _count(self, entity: QueuedGroup, status: Status | None, *, keeps_time: bool) -> None:
        if status is None or status.is_success:
            entity.unschedulable_count = entity.consecutive_errors = 0
        elif status.is_rejection:
            entity.unschedulable_count += 1
            entity.consecutive_errors = 0
        else:
            entity.consecutive_errors += 1
        succeeded = status is None or status.is_success
        if not (succeeded and keeps_time):
            entity.timestamp = self._now()
        entity.backoff_expiry = None
        entity.was_flushed = False
        entity.flush_timestamp = 0.0

    # What others may look at.

    def incomplete(self) -> Iterator[QueuedPod]:
        """The pods that lack a group."""
        return (member for members in self._incomplete.values() for member in members.values())

    def _make(self, root: str, member: QueuedPod) -> QueuedGroup:
        standing = _standing_for(member.pod, self._known[root].priority)
        group = QueuedGroup(standing, member.timestamp, root=root)
        group.initial_attempt_timestamp = member.initial_attempt_timestamp
        group.add(member)
        return group

    def _root_of(self, path: str) -> str | None:
        for _ in range(len(self._known) + 1):
            group = self._known.get(path)
            if group is None:
                return None
            if not group.parent:
                return path
            path = group.parent
        return None


def native_path(pod: PodInfo) -> str:
    """The path of the group that spec.schedulingGroup names, "" for none."""
    group = pod.spec.scheduling_group
    return f"podgroups/{pod.namespace}/{group.pod_group_name}" if group is not None and group.pod_group_name else ""


def _standing_for(pod: PodInfo, priority: int) -> PodInfo:
    """The pod with that priority."""
    return pod if pod.priority == priority else pod.with_priority(priority)
