"""The scheduling queue: which pod is tried next, and which event lets a rejected one try again."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from moorage.columns import PodInfo
from moorage.columns.nominations import Nominations
from moorage.config import DEFAULT_FEATURES, Features
from moorage.config.gates import GANG_SCHEDULING, GENERIC_WORKLOAD, QUEUED_POD_GROUPS, SCHEDULER_POP_FROM_BACKOFF_Q
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.framework.faults import Faults
from moorage.framework.points import QueueSort, QueueSortByLess
from moorage.framework.status import Status
from moorage.objects import KubeObject
from moorage.queue.active import ActiveQueue, QueueOrder
from moorage.queue.asking import Asking, Stop, never
from moorage.queue.backoff import BackoffQueue
from moorage.queue.deriving import pod_events, pod_resources
from moorage.queue.gating import Gates, ObserveGates, TellGate
from moorage.queue.groups import Group, Groups, native_path
from moorage.queue.hints import HintBook, HintObserver, ProfileHints, Requeue
from moorage.queue.inflight import InFlightPods
from moorage.queue.moves import (
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    POP_FROM_BACKOFF,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
    ObjectEvent,
    QueueCounts,
    event_label,
)
from moorage.queue.places import Places
from moorage.queue.record import NO_PLUGINS, Place, QueuedEntity, QueuedGroup, QueuedPod
from moorage.queue.unschedulable import UnschedulablePods

#: Pods moved between two looks at the clock.
_MOVES_A_LOOK: Final = 32

#: How often pods that have waited too long are looked for, in seconds.
FLUSH_INTERVAL: Final = 30.0


class SchedulingQueue:
    """Pods without a node, each in exactly one place: active, backing off, unschedulable, gated, or in flight.

    `now` is wall-clock seconds and must not go backwards: a host hands in a clock that starts at wall time and
    advances steadily. Nothing here waits; `next_deadline` says when to call the flushes.
    """

    def __init__(
        self,
        *,
        profiles: Mapping[str, ProfileHints],
        queue_sort: QueueSort | QueueSortByLess,
        nominations: Nominations,
        now: Callable[[], float],
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        max_unschedulable: float = 300.0,
        features: Features = DEFAULT_FEATURES,
        holds_groups: bool = False,
        path_of: Callable[[PodInfo], str] = native_path,
        groups_rest: bool = False,
        least_backoff: Callable[[QueuedEntity], float] | None = None,
        puts_off: bool = False,
        faults: Faults | None = None,
        observe_hint: HintObserver | None = None,
        tell_gate: TellGate | None = None,
        observe_gates: ObserveGates | None = None,
    ) -> None:
        """`profiles` by scheduler name. With `puts_off` hints are asked by `work`, in slices; else at once.

        With `holds_groups` members of pod groups wait with their group, and `pop_entity` gives them together;
        `path_of` says which group a pod is in, "" for none. With `groups_rest` a group that fits nowhere is tried again
        when something happened that may help, as a pod is; else after each back-off, as kube-scheduler does.
        `least_backoff` is how long something waits at least after a refusal.
        """
        self.faults = faults or Faults()
        order = QueueOrder(queue_sort, self.faults)
        self.profiles = frozenset(profiles)
        self._nominations = nominations
        self._now = now
        self._max_unschedulable = max_unschedulable
        #: Members of pod groups are retried by back-off alone.
        self._pod_groups = GENERIC_WORKLOAD in features
        self._pods_are = pod_resources(features)
        self._pod_added = ClusterEvent(self._pods_are.other, Action.ADD)
        #: Whether a pod that is added is an event for others.
        self.tells_of_pods = not groups_rest and (
            holds_groups
            or GANG_SCHEDULING in features
            or (QUEUED_POD_GROUPS in features and GENERIC_WORKLOAD in features)
        )
        #: Whether members of groups wait together.
        self.holds_groups = holds_groups
        self._path_of = path_of
        self._updated = event_label(ClusterEvent(self._pods_are.own, Action.UPDATE))
        self._flush_due = now() + FLUSH_INTERVAL
        self._cycle = 0
        self.counts = QueueCounts()
        self._hints = HintBook(profiles, now, features=features, faults=self.faults, observe=observe_hint)
        gates = Gates(profiles, self.counts, self.faults, tell_gate, observe_gates, now, asks_all=not groups_rest)
        self._active = ActiveQueue(order)
        #: When nothing else is ready, rejected pods are tried before their back-off is over.
        self._pop_from_backoff = SCHEDULER_POP_FROM_BACKOFF_Q in features
        self._backoff = BackoffQueue(
            order,
            now,
            initial=initial_backoff,
            maximum=max_backoff,
            by_second=self._pop_from_backoff,
            least=least_backoff,
        )
        self._unschedulable = UnschedulablePods(self._hints.likeness)
        self._puts_off = puts_off
        self._asking = Asking(self._unschedulable, self._hints, self._wake)
        #: Pods that have waited too long and are still to be woken.
        self._overdue: deque[QueuedEntity] = deque()
        self._is_flushing = False
        self._in_flight = InFlightPods()
        self._places = Places(
            active=self._active,
            backoff=self._backoff,
            unschedulable=self._unschedulable,
            gates=gates,
            counts=self.counts,
            now=now,
            last_event=lambda: self._asking.number,
            gates_first=self._pop_from_backoff,
        )
        self._groups = (
            Groups(
                self._places,
                now,
                path_of,
                added=event_label(self._pod_added),
                updated=self._updated,
                rest=groups_rest,
            )
            if holds_groups
            else None
        )
        self._groups_rest = groups_rest and holds_groups

    # Pods come, change and go.

    def add(self, pod: PodInfo) -> None:
        """A new pod without a node. It takes the place of any pod of the same name.

        Where there are gangs it is an event, too: the pod may be what others of its group waited for.
        """
        self._enqueue_new(pod, event_label(self._pod_added))
        if self.tells_of_pods:
            self.move_on_event(self._pod_added, None, pod.pod)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod without a node has changed. A pod that is not known counts as new."""
        events = pod_events(old, new, self._pods_are.own)
        if new.uid in self._in_flight:
            for event in events:
                self._in_flight.record(ObjectEvent(event, old.pod, new.pod))
            return
        key = new.key
        if self._groups is not None and self._path_of(new):
            if (member := self._groups.outside(new)) is not None:
                member.pod = new
                self._follow_nomination(old, new)
                return
            key = self._groups.root_of(new) or key
        for queue in (self._active, self._backoff):
            queued = queue.get(key)
            if queued is not None and _renew(queued, new):
                queue.update(queued)
                self._follow_nomination(old, new)
                return
        queued = self._unschedulable.get(key)
        if queued is None:
            self._enqueue_new(new, self._updated)
        else:
            self._update_unschedulable(queued, old, new, events)

    def delete(self, pod: PodInfo) -> None:
        """The pod is gone, or has a node. One in flight stays so until `done`."""
        self._nominations.forget(pod)
        if self._groups is not None and self._path_of(pod):
            member = self._groups.discard(pod)
            if member is not None:
                self.counts.left(member)
            return
        found = self.find(pod.key)
        if found is not None and found[1].pod.uid == pod.uid:
            self._places.remove(pod.key)

    # The scheduling cycle takes pods and brings them back.

    def pop(self, stop: Stop = never) -> QueuedPod | None:
        """Take the next pod to try, where no groups are held: `pop_entity`."""
        queued = self.pop_entity(stop)
        assert queued is None or isinstance(queued, QueuedPod), f"{queued.key} is tried as a group"
        return queued

    def pop_entity(self, stop: Stop = never) -> QueuedEntity | None:
        """Take what is tried next, None if there is nothing: from activeQ, or early from the rejected in back-off.

        Before it is taken, pods of higher priority are asked about every event; None, too, where `stop` ends that.
        Each pod is in flight until `done` or `return_unschedulable` is called for it; a group, until `return_group`.
        """
        while True:
            if not self._ask_above_the_first(stop):
                return None
            queued = self._active.pop()
            if queued is None:
                queued = self._backoff.pop_rejected() if self._pop_from_backoff else None
                if queued is None:
                    return None
                self.counts.entered(Place.ACTIVE, POP_FROM_BACKOFF)
            # A pod added again while it is in flight is dropped: the one in flight speaks for it.
            if self._depart(queued):
                return queued

    def pop_specific(self, pod: PodInfo) -> QueuedPod | None:
        """Take this pod, backing off or not. None if it is gated, in flight or not here."""
        self._activate(pod)
        queued = self._active.remove(pod.key)
        return queued if isinstance(queued, QueuedPod) and self._depart(queued) else None

    def pop_group(self, root: str) -> QueuedGroup | None:
        """Take this group, whatever it waits for but a gate. None if it is gated, in flight or not here."""
        found = self.find(root)
        if found is None or found[0] is Place.GATED:
            return None
        taken = self._places.take(root)
        assert taken is not None, "it was found"
        entity = taken[0]
        return entity if isinstance(entity, QueuedGroup) and self._depart(entity) else None

    def return_unschedulable(
        self,
        queued: QueuedPod,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        *,
        pod: PodInfo | None = None,
    ) -> Place | None:
        """Bring back a popped pod that got no node, with the plugins that rejected it: none if its cycle broke.

        `pod` is the pod as it is now. Answers where it waits; None if a pod of its name is queued already.
        """
        if pod is not None:
            queued.pod = pod
        uid = queued.pod.uid
        if self._groups is not None and self._path_of(queued.pod):
            self._count_failure(queued, unschedulable_plugins, pending_plugins)
            if self._groups_rest and self._has_missed(queued):
                self._groups.missed(queued.pod)
            self._in_flight.done(uid)
            self._groups.add(queued)
            found = self.find(self._groups.root_of(queued.pod) or "")
            return found[0] if found else None
        place = None if self.find(queued.key) else self._take_back(queued, unschedulable_plugins, pending_plugins)
        self._in_flight.done(uid)
        return place

    def return_group(
        self, group: QueuedGroup, status: Status | None, plugins: frozenset[str] = NO_PLUGINS
    ) -> Place | None:
        """Bring back a popped group, after those of its pods that got no node. `status` is how its cycle came out.

        `plugins` are those that stood in the way: where groups rest, theirs are the events that help. Where they do not
        a success lets the pods that are left be tried again at once. Answers where they wait, None if none is left.
        """
        assert self._groups is not None, "groups are not held"
        return self._groups.come_back(group, status, plugins)

    def done(self, uid: str) -> None:
        """A popped pod will not come back, or its binding has begun: events no longer concern it."""
        self._in_flight.done(uid)

    # Groups come, change and go.

    def set_group(self, group: Group) -> None:
        """A group is there, or has changed. Nothing where groups are not held."""
        if self._groups is not None:
            self._groups.set(group)

    def remove_group(self, path: str) -> None:
        """A group is gone. Nothing where groups are not held."""
        if self._groups is not None:
            self._groups.remove(path)

    def incomplete(self) -> list[QueuedPod]:
        """The pods that wait for their group, or one above it, to be there."""
        return [] if self._groups is None else list(self._groups.incomplete())

    # Events and clocks move pods.

    def move_on_event(
        self,
        event: ClusterEvent,
        old: KubeObject | None = None,
        new: KubeObject | None = None,
        *,
        only: Callable[[PodInfo], bool] | None = None,
    ) -> int:
        """Something happened: wake the pods it may help, of those `only` picks. Answers how many were woken so far."""
        happened = ObjectEvent(event, old, new)
        if event.is_wildcard:
            return self._wake_all([one for one in self._unschedulable if only is None or only(one.pod)], happened)
        holders = self._hints.concerns(event)
        if not holders:
            return 0
        self._asking.put_down(happened, holders, only)
        # Pods in flight are concerned from now on, whenever the others are asked.
        self._in_flight.record(happened)
        return 0 if self._puts_off else self._asking.ask()

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Move pods to activeQ at once, gates permitting. Pods in flight are tried again should they come back."""
        for pod in pods:
            if not self._activate(pod) and pod.uid in self._in_flight:
                self._in_flight.record(ObjectEvent(FORCE_ACTIVATE, new=pod.pod))

    @property
    def has_work(self) -> bool:
        """Whether `work` has something to do."""
        return self._is_flushing or bool(self._overdue) or self._asking.highest is not None

    def work(self, stop: Stop = never) -> None:
        """Do what was put off, or not finished, until `stop` says so."""
        if self._is_flushing:
            self.flush_backoff(stop)
        while self._overdue and not stop():
            self._wake_overdue()
        self._asking.ask(stop)

    @property
    def last_event(self) -> int:
        """The number of the last event that may have helped somebody."""
        return self._asking.number

    def ask_about(self, key: str, after: int) -> tuple[int, bool]:
        """Ask about what waits under a key alone, and the events after a number, before it is its turn.

        Answers the number of the last event, and whether one woke it.
        """
        queued = self._unschedulable.get(key)
        helped = queued is not None and self._asking.number > after and self._asking.settle(queued, after)
        return self._asking.number, helped

    def flush_backoff(self, stop: Stop = never) -> int:
        """Move the pods whose back-off is over to activeQ, until `stop` says so. Answers how many."""
        self._is_flushing = True
        moved = 0
        while not (moved % _MOVES_A_LOOK == _MOVES_A_LOOK - 1 and stop()):
            queued = self._backoff.pop_completed()
            if queued is None:
                self._is_flushing = False
                break
            self._places.leave_backoff(queued, BACKOFF_COMPLETE)
            moved += 1
        return moved

    def flush_unschedulable(self) -> int:
        """Every 30 seconds, wake the pods that no event has woken for 5 minutes. Answers how many were woken so far.

        Hints may be wrong, and gates may open without an event.
        """
        now = self._now()
        if now < self._flush_due:
            return 0
        self._flush_due += FLUSH_INTERVAL * (math.floor((now - self._flush_due) / FLUSH_INTERVAL) + 1)
        overdue = [queued for queued in self._unschedulable if now - queued.waiting_since > self._max_unschedulable]
        for queued in overdue:
            queued.was_flushed = True
            queued.flush_timestamp = now
        if not overdue:
            return 0
        if not self._puts_off:
            return self._wake_all(overdue, ObjectEvent(UNSCHEDULABLE_TIMEOUT))
        self._overdue.extend(overdue)
        self._in_flight.record(ObjectEvent(UNSCHEDULABLE_TIMEOUT))
        return 0

    def next_deadline(self) -> float | None:
        """When to call flush_backoff and flush_unschedulable next. None if only events can change anything."""
        deadlines = [] if (completion := self._backoff.next_completion()) is None else [completion]
        if len(self._unschedulable):
            deadlines.append(self._flush_due)
        return min(deadlines, default=None)

    # Nominations.

    def nominate(self, pod: PodInfo, node_name: str | None) -> None:
        """Promise the pod a node, or none (""). With None its own status decides."""
        node_name = pod.pod.status.nominated_node_name if node_name is None else node_name
        self._nominations.forget(pod)
        if node_name and not pod.spec.node_name:
            self._nominations.nominate(pod, node_name)

    # What others may look at.

    @property
    def has_ready(self) -> bool:
        """Whether `pop` has something to give."""
        return len(self._active) > 0 or (self._pop_from_backoff and self._backoff.has_rejected)

    @property
    def scheduling_cycle(self) -> int:
        """How many pods were popped so far."""
        return self._cycle

    def find(self, key: str) -> tuple[Place, QueuedEntity] | None:
        """Something queued by its key (`namespace/name` of a pod), and where. None for what is in flight or unknown."""
        return self._places.find(key)

    def pods(self) -> list[tuple[Place, QueuedEntity]]:
        """Everything queued, and where: ready ones in the order they will be popped, then the others."""
        return self._places.all()

    def in_flight(self) -> list[PodInfo]:
        """The pods that were popped and are not done."""
        return self._in_flight.pods()

    def pending(self) -> dict[Place, int]:
        """How many pods are in each place: the pending_pods metric."""
        gated = self._unschedulable.gated
        return {
            Place.ACTIVE: len(self._active),
            Place.BACKOFF: len(self._backoff),
            Place.UNSCHEDULABLE: len(self._unschedulable) - gated,
            Place.GATED: gated,
        }

    def in_flight_counts(self) -> Mapping[str, int]:
        """The inflight_events metric: recorded events by label, and pods in flight."""
        return self._in_flight.counts()

    def registered_actions(self) -> dict[Resource, Action]:
        """What the plugins of all profiles want to hear of."""
        return self._hints.actions()

    # How pods move.

    def _enqueue_new(self, pod: PodInfo, label: str) -> None:
        if pod.spec.scheduler_name not in self.profiles:
            raise ValueError(f"pod {pod.key} asks for {pod.spec.scheduler_name!r}, which is none of our profiles")
        queued = QueuedPod(pod, self._now())
        if self._groups is not None and self._path_of(pod):
            self.nominate(pod, None)
            self._groups.add(queued)
            return
        if pod.key in self._places and (former := self._places.remove(pod.key)) is not None:
            self._nominations.forget(former.pod)
        if self._places.admit_active(queued, label) is Place.ACTIVE:
            self.nominate(pod, None)

    def _update_unschedulable(
        self, queued: QueuedEntity, old: PodInfo, new: PodInfo, events: Iterable[ClusterEvent]
    ) -> None:
        if isinstance(queued, QueuedGroup):
            if not _renew(queued, new):
                self._enqueue_new(new, self._updated)
                return
        elif not self._unschedulable.renew(queued, new):
            # What hints read of it has changed: events from before concern it as it was.
            if self._asking.settle(queued):
                self.update(old, new)
                return
            self._unschedulable.remove(queued.key)
            queued.pod = new
            self._unschedulable.add(queued, self._asking.number)
        self._follow_nomination(old, new)
        for event in events:
            verdict = self._hints.judge(queued, ObjectEvent(event, old.pod, new.pod))
            if verdict is not Requeue.SKIP:
                self._unschedulable.remove(queued.key)
                if self._places.requeue(queued, verdict, event_label(event)) in (Place.ACTIVE, Place.BACKOFF):
                    return

    def _depart(self, queued: QueuedEntity) -> bool:
        queued.attempts += 1
        self.counts.left(queued)
        if isinstance(queued, QueuedGroup):
            for member in queued.queued:
                member.attempts += 1
            queued.queued = [member for member in queued.queued if member.pod.uid not in self._in_flight]
        members = queued.members
        if not members or members[0].pod.uid in self._in_flight:
            return False
        for member in members:
            self._in_flight.depart(member.pod)
        if self._groups is not None and isinstance(queued, QueuedGroup):
            self._groups.departed(queued)
        self._cycle += 1
        return True

    def _take_back(self, queued: QueuedPod, unschedulable: Iterable[str], pending: Iterable[str]) -> Place:
        self._count_failure(queued, unschedulable, pending)
        return self._places.requeue(queued, self._verdict_on_return(queued), SCHEDULE_ATTEMPT_FAILURE)

    def _count_failure(self, queued: QueuedPod, unschedulable: Iterable[str], pending: Iterable[str]) -> None:
        queued.unschedulable_plugins = frozenset(unschedulable)
        queued.pending_plugins = frozenset(pending)
        if queued.rejecting_plugins:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp = self._now()
        queued.backoff_expiry = None
        queued.was_flushed = False
        queued.flush_timestamp = 0.0
        self.counts.rejected(queued.profile, queued.rejecting_plugins)

    def _verdict_on_return(self, queued: QueuedPod) -> Requeue:
        if not queued.rejecting_plugins:
            return Requeue.AFTER_BACKOFF
        if self._pod_groups and queued.pod.spec.scheduling_group is not None:
            return Requeue.AFTER_BACKOFF
        events = self._in_flight.events_since_departure(queued.pod.uid)
        return Requeue.AFTER_BACKOFF if events is None else self._hints.judge_all(queued, events)

    def _has_missed(self, queued: QueuedPod) -> bool:
        """Whether something happened, while the pod was in flight, that may help it."""
        if not queued.rejecting_plugins:
            return False
        events = self._in_flight.events_since_departure(queued.pod.uid)
        return events is None or self._hints.judge_all(queued, events) is not Requeue.SKIP

    def _wake(self, queued: QueuedEntity, happened: ObjectEvent, verdict: Requeue) -> bool:
        """An event helps an unschedulable pod. Whether it may be tried now; a gate may hold it back."""
        self._unschedulable.remove(queued.key)
        return self._places.requeue(queued, verdict, event_label(happened.event)) in (Place.ACTIVE, Place.BACKOFF)

    def _wake_all(self, waiting: Iterable[QueuedEntity], happened: ObjectEvent) -> int:
        """A wildcard: for these pods, whoever rejected them."""
        woken = 0
        for queued in waiting:
            verdict = self._hints.judge(queued, happened)
            if verdict is not Requeue.SKIP and self._unschedulable.get(queued.key) is queued:
                woken += self._wake(queued, happened, verdict)
        self._in_flight.record(happened)
        return woken

    def _wake_overdue(self) -> None:
        queued = self._overdue.popleft()
        if queued.was_flushed and self._unschedulable.get(queued.key) is queued:
            self._wake(queued, ObjectEvent(UNSCHEDULABLE_TIMEOUT), Requeue.AFTER_BACKOFF)

    def _ask_above_the_first(self, stop: Stop) -> bool:
        """Ask about the pods that may come before the next one. Whether there was time for it."""
        while (highest := self._asking.highest) is not None:
            first = self._active.peek() or (self._backoff.peek_rejected() if self._pop_from_backoff else None)
            if first is None or first.pod.priority >= highest:
                return True
            if stop():
                return False
            self._asking.ask(stop, above=first.pod.priority)
        return True

    def _activate(self, pod: PodInfo) -> bool:
        label = event_label(FORCE_ACTIVATE)
        key = pod.key
        if self._groups is not None and self._path_of(pod):
            key = self._groups.root_of(pod) or key
        if (queued := self._backoff.remove(key)) is not None:
            return self._places.leave_backoff(queued, label) is Place.ACTIVE
        if (queued := self._unschedulable.remove(key)) is not None:
            return self._places.admit_active(queued, label) is Place.ACTIVE
        return False

    def _follow_nomination(self, old: PodInfo, new: PodInfo) -> None:
        """A promise that was made here and that the API server has not seen yet outlives an update of the pod."""
        told = old.pod.status.nominated_node_name or new.pod.status.nominated_node_name
        held = self._nominations.node_of(old)
        self._nominations.forget(old)
        self.nominate(new, new.pod.status.nominated_node_name if told else held)


def _renew(queued: QueuedEntity, pod: PodInfo) -> bool:
    """Take over a new version of a pod, or of a member. False where it is no member."""
    member = next((one for one in queued.members if one.pod.uid == pod.uid), None)
    if isinstance(queued, QueuedGroup):
        if member is not None:
            member.pod = pod
            queued.sort()
        return member is not None
    queued.pod = pod
    return True
