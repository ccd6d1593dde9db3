"""What the plugins of each profile say about events: which ones concern them, and whether one helps a given pod."""

import enum
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from moorage.columns import PodInfo
from moorage.config import DEFAULT_FEATURES, Features
from moorage.config.gates import GENERIC_WORKLOAD, NODE_TAINTS_WAKE_ALL
from moorage.errors import PluginError
from moorage.framework.answers import broken, definition, is_async
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, HintFunction, ReadsOfPod, Resource, on
from moorage.framework.faults import Faults
from moorage.framework.status import Status
from moorage.queue.moves import ObjectEvent, event_label
from moorage.queue.record import QueuedEntity, QueuedGroup, QueuedPod
from moorage.queue.unschedulable import Holder

#: The point at which faults are told.
_POINT: Final = "QueueingHint"

#: The name under which extenders reject pods; the runner registers it, with None, where extenders are configured.
EXTENDER: Final = "Extender"

#: Everything that can happen, for extenders and for plugins that do not say what concerns them. Pod groups come on
#: top where they are enabled.
ALL_EVENTS: Final[tuple[EventHint, ...]] = tuple(
    on(resource, Action.ALL)
    for resource in (
        Resource.POD,
        Resource.NODE,
        Resource.PERSISTENT_VOLUME,
        Resource.PERSISTENT_VOLUME_CLAIM,
        Resource.CSI_NODE,
        Resource.CSI_DRIVER,
        Resource.CSI_STORAGE_CAPACITY,
        Resource.STORAGE_CLASS,
        Resource.RESOURCE_CLAIM,
        Resource.DEVICE_CLASS,
    )
)

PreEnqueueFunction = Callable[[PodInfo], Status | None]

#: (plugin, event label, "Queue" | "QueueSkip" | "Error", seconds): called after each hint, for metrics.
HintObserver = Callable[[str, str, str, float], None]


@dataclass(frozen=True)
class ProfileHints:
    """What the queue needs to know of a profile."""

    #: Plugin name -> what its events_to_register says; None for a plugin without that method.
    registrations: Mapping[str, Sequence[EventHint] | None] = field(default_factory=dict)
    #: The PreEnqueue plugins by name, in the order they are asked.
    pre_enqueue: Sequence[tuple[str, PreEnqueueFunction]] = ()


class Requeue(enum.Enum):
    """What an event means for a pod that plugins rejected."""

    SKIP = "stay"
    AFTER_BACKOFF = "be tried again once back-off is over"
    IMMEDIATELY = "be tried again at once"


class HintBook:
    """The registrations of all profiles, arranged by event."""

    def __init__(
        self,
        profiles: Mapping[str, ProfileHints],
        now: Callable[[], float],
        *,
        features: Features = DEFAULT_FEATURES,
        faults: Faults | None = None,
        observe: HintObserver | None = None,
    ) -> None:
        every = (*ALL_EVENTS, on(Resource.POD_GROUP, Action.ALL)) if GENERIC_WORKLOAD in features else ALL_EVENTS
        taints_wake_all = NODE_TAINTS_WAKE_ALL in features
        self._registered = {
            name: _registered(profile.registrations, every, taints_wake_all) for name, profile in profiles.items()
        }
        self._reads = {
            (profile, plugin): reads
            for profile, registered in self._registered.items()
            for plugin, reads in _reads(registered).items()
        }
        self._now = now
        self._faults = faults or Faults()
        self._observe = observe
        # Incoming events are of few kinds: what each kind matches is worked out when it is first met.
        self._hints: dict[tuple[str, Resource, Action], tuple[tuple[str, HintFunction | None], ...]] = {}
        self._holders: dict[tuple[Resource, Action], tuple[Holder, ...]] = {}

    def concerns(self, event: ClusterEvent) -> tuple[Holder, ...]:
        """The plugins, by profile, that registered for this event."""
        kind = (event.resource, event.action)
        known = self._holders.get(kind)
        if known is None:
            found = {
                (profile, plugin): None for profile in self._registered for plugin, _ in self._hints_for(profile, event)
            }
            known = self._holders[kind] = tuple(found)
        return known

    def actions(self) -> dict[Resource, Action]:
        """What some plugin wants to hear of: the kinds to watch, each with the actions that matter."""
        wanted: dict[Resource, Action] = {}
        for registered in self._registered.values():
            for _, one in registered:
                wanted[one.event.resource] = wanted.get(one.event.resource, Action(0)) | one.event.action
        return wanted

    def likeness(self, holder: Holder, queued: QueuedEntity) -> Hashable | None:
        """What the hints of a plugin read of the pod; None where one of them does not say."""
        reads = self._reads.get(holder)
        if reads is None:
            return None
        try:
            likeness: tuple[Hashable, ...] = ()
            for read in reads:  # called from this frame, so that a fault is told with the plugin's line
                likeness = (*likeness, read(queued.pod))
            hash(likeness)
        except BaseException as problem:
            outcome = f"its hints are asked for each pod, such as {queued.key}"
            self._faults.see(broken(holder[1], _POINT, problem), outcome)
            return None
        return likeness

    def ask(self, holder: Holder, pod: PodInfo, happened: ObjectEvent) -> bool:
        """Whether the event may have changed a plugin's mind, for the pod and all that are like it."""
        profile, plugin = holder
        return any(
            self._says_queue(plugin, hint, pod, happened)
            for name, hint in self._hints_for(profile, happened.event)
            if name == plugin
        )

    def judge(self, queued: QueuedEntity, happened: ObjectEvent) -> Requeue:
        """The best that this event means for a pod, or for any member of a group."""
        verdict = Requeue.SKIP
        members = queued.members
        if isinstance(queued, QueuedGroup) and queued.unschedulable_plugins:
            members = self._examples(queued)
        for member in members:
            answer = self._judge_pod(member, happened)
            if answer is Requeue.IMMEDIATELY:
                return answer
            if answer is Requeue.AFTER_BACKOFF:
                verdict = answer
        return verdict

    def _examples(self, group: QueuedGroup) -> list[QueuedPod]:
        """Of a group that rests: one member for all that are alike and were refused by the same plugins; and one for
        the plugins that refused the group as a whole."""
        if group.examples is None:
            found: dict[Hashable, QueuedPod] = {}
            for member in group.queued:
                if member.rejecting_plugins:
                    pod = member.pod
                    key = (pod.pod_class, pod.label_group, pod.affinity_class, member.rejecting_plugins)
                    alike = key if not pod.spec.volumes and not pod.spec.resource_claims else member.key
                    found.setdefault(alike, member)
            by_members = frozenset(name for one in found.values() for name in one.rejecting_plugins)
            as_whole = QueuedPod(group.queued[0].pod, group.timestamp)
            as_whole.unschedulable_plugins = group.unschedulable_plugins - by_members
            group.examples = [*found.values(), as_whole] if as_whole.unschedulable_plugins else list(found.values())
        return group.examples

    def _judge_pod(self, queued: QueuedPod, happened: ObjectEvent) -> Requeue:
        """Ask the plugins that rejected the pod whether this event may have changed their mind."""
        if not queued.rejecting_plugins:
            return Requeue.AFTER_BACKOFF
        event, _, new = happened
        if event.is_wildcard:
            # A wildcard with a pod is meant for that pod alone.
            meant = new is None or new.metadata.uid == queued.pod.uid
            return Requeue.AFTER_BACKOFF if meant else Requeue.SKIP
        verdict = Requeue.SKIP
        for plugin, hint in self._hints_for(queued.profile, event):
            is_pending = plugin in queued.pending_plugins
            if not is_pending and plugin not in queued.unschedulable_plugins:
                continue
            if not self._says_queue(plugin, hint, queued.pod, happened):
                continue
            if is_pending:
                return Requeue.IMMEDIATELY
            if not queued.pending_plugins:
                return Requeue.AFTER_BACKOFF
            verdict = Requeue.AFTER_BACKOFF
        return verdict

    def judge_all(self, queued: QueuedEntity, events: Iterable[ObjectEvent]) -> Requeue:
        """The best that any of these events means for the pod."""
        verdict = Requeue.SKIP
        for happened in events:
            answer = self.judge(queued, happened)
            if answer is Requeue.IMMEDIATELY or (answer is Requeue.AFTER_BACKOFF and not queued.pending_plugins):
                return answer
            if answer is Requeue.AFTER_BACKOFF:
                verdict = answer
        return verdict

    def _hints_for(self, profile: str, event: ClusterEvent) -> tuple[tuple[str, HintFunction | None], ...]:
        kind = (profile, event.resource, event.action)
        known = self._hints.get(kind)
        if known is None:
            known = self._hints[kind] = tuple(
                (plugin, one.hint) for plugin, one in self._registered[profile] if one.event.matches(event)
            )
        return known

    def _says_queue(self, plugin: str, hint: HintFunction | None, pod: PodInfo, happened: ObjectEvent) -> bool:
        started = self._now() if self._observe else 0.0
        try:
            answer = hint(pod, happened.old, happened.new) if hint else Hint.QUEUE
            if not isinstance(answer, Hint):
                shown = "is async, and nothing is awaited there" if is_async(answer) else f"answered {answer!r}"
                raise PluginError(plugin, _POINT, f"{shown}; expected a Hint", where=definition(hint))
        except BaseException as problem:
            # A pod tried once too often does no harm; one that sleeps because of a bug does.
            self._faults.see(broken(plugin, _POINT, problem), f"pods are requeued, such as {pod.key}")
            answer = None
        if self._observe:
            result = answer.value if answer else "Error"
            self._observe(plugin, event_label(happened.event), result, self._now() - started)
        return answer is not Hint.SKIP


def _registered(
    registrations: Mapping[str, Sequence[EventHint] | None], every: Sequence[EventHint], taints_wake_all: bool
) -> list[tuple[str, EventHint]]:
    """`taints_wake_all`: whoever waits for new nodes waits for changes to taints, too."""
    registered: list[tuple[str, EventHint]] = []
    for plugin, own in registrations.items():
        events = every if own is None else own
        registered.extend((plugin, one) for one in events)
        if not taints_wake_all:
            continue
        if _wants_node(events, Action.ADD) and not _wants_node(events, Action.UPDATE_NODE_TAINT):
            # kube-scheduler adds this one unasked, so that a node that becomes ready counts like a new one.
            registered.append((plugin, on(Resource.NODE, Action.UPDATE_NODE_TAINT)))
    return registered


def _reads(registered: Iterable[tuple[str, EventHint]]) -> dict[str, tuple[ReadsOfPod, ...] | None]:
    """What the hints of each plugin read of a pod; None for a plugin with a hint that does not say."""
    declared: dict[str, dict[ReadsOfPod | None, None]] = {}
    for plugin, one in registered:
        known = declared.setdefault(plugin, {})
        if one.hint is not None:
            known[one.reads] = None
    return {
        plugin: None if None in reads else tuple(read for read in reads if read is not None)
        for plugin, reads in declared.items()
    }


def _wants_node(events: Iterable[EventHint], action: Action) -> bool:
    return any(one.event.resource is Resource.NODE and one.event.action & action for one in events)
