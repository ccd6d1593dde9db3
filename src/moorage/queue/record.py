"""What waits in the queue, a pod or a group of pods, and what the queue remembers of it between attempts."""

import enum
import math
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from moorage.columns import PodInfo

NO_PLUGINS: frozenset[str] = frozenset()


class Place(enum.StrEnum):
    """Where a queued pod is, named as the `queue` label of kube-scheduler's metrics names it."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"


@dataclass(slots=True, eq=False)
class QueuedEntity(ABC):
    """What waits to be scheduled, or is being scheduled: the unit of order, back-off, hints and gates.

    The queue changes it, everybody else reads it. The plugin sets are replaced, never changed, and only while it is in
    none of the queues: they decide which events find it there.
    """

    #: The pod; or the one that stands for a group where plugins sort, with the priority of the group.
    pod: PodInfo
    #: When it entered the queue, or came back after its last attempt: what the queue is ordered by.
    timestamp: float
    key: str = field(init=False)
    #: The scheduler name it asks for.
    profile: str = field(init=False)
    attempts: int = 0
    #: How often plugins rejected it, and how often in a row it came back because something broke.
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    #: When it first became ready to be tried: the start of its scheduling latency.
    initial_attempt_timestamp: float | None = None
    unschedulable_plugins: frozenset[str] = NO_PLUGINS
    pending_plugins: frozenset[str] = NO_PLUGINS
    #: The PreEnqueue plugin that keeps it out, "" if none does.
    gating_plugin: str = ""
    #: What was last said of why it waits, at a gate or at Permit: it is said again only where that changes.
    told: str = ""
    #: The number of the last event that came before it became unschedulable.
    entered: int = 0
    #: When its back-off ends, once computed for the last attempt.
    backoff_expiry: float | None = None
    #: When an idle scheduler last took it before its back-off was over.
    taken_early_at: float = -math.inf
    #: Whether it was last moved because it had waited too long, and when that was.
    was_flushed: bool = False
    flush_timestamp: float = 0.0

    def __post_init__(self) -> None:
        self.key = self.pod.key
        self.profile = self.pod.spec.scheduler_name

    @property
    @abstractmethod
    def members(self) -> Sequence["QueuedPod"]:
        """The pods that are tried together, in order."""

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin keeps it out."""
        return bool(self.gating_plugin)

    @property
    def rejecting_plugins(self) -> frozenset[str]:
        """Every plugin an event must convince before the pod is tried again."""
        return self.unschedulable_plugins | self.pending_plugins if self.pending_plugins else self.unschedulable_plugins

    @property
    def waiting_since(self) -> float:
        """Since when it has waited without being tried or flushed."""
        return max(self.timestamp, self.flush_timestamp)


@dataclass(slots=True, eq=False)
class QueuedPod(QueuedEntity):
    """A pod by itself, or a member of a group."""

    @property
    def members(self) -> Sequence["QueuedPod"]:
        """The pod itself."""
        return (self,)


@dataclass(slots=True, eq=False)
class QueuedGroup(QueuedEntity):
    """Pods that are scheduled together or not at all. It has at least one member while it is in a queue."""

    #: The path of the PodGroup, or of the topmost CompositePodGroup: `podgroups/namespace/name`.
    root: str = ""
    queued: list[QueuedPod] = field(default_factory=list)
    #: Members to ask hints about, one for all that are alike; None while that is not worked out.
    examples: list[QueuedPod] | None = None

    def __post_init__(self) -> None:
        self.key = self.root
        self.profile = self.pod.spec.scheduler_name

    @property
    def members(self) -> Sequence[QueuedPod]:
        """Those of higher priority first, then those that were tried more often, then those that came first."""
        return self.queued

    def add(self, member: QueuedPod) -> None:
        """A pod joins."""
        if self.queued and self.order(member) < self.order(self.queued[-1]):
            insort(self.queued, member, key=self.order)
        else:
            self.queued.append(member)
        self.examples = None

    def take(self, uid: str) -> QueuedPod | None:
        """A pod leaves. None if it is no member."""
        found = next((member for member in self.queued if member.pod.uid == uid), None)
        if found is not None:
            self.queued.remove(found)
            self.examples = None
        return found

    def sort(self) -> None:
        """Members have changed."""
        self.queued.sort(key=self.order)
        self.examples = None

    @staticmethod
    def order(member: QueuedPod) -> tuple[int, int, float, str]:
        """Where a member stands: smaller goes first."""
        return -member.pod.priority, -member.attempts, member.timestamp, member.pod.name
