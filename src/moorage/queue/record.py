"""A pod in the queue, and what the queue remembers of it between attempts."""

import enum
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
class QueuedPod:
    """A pod that waits to be scheduled, or is being scheduled. The queue changes it, everybody else reads it.

    The plugin sets are replaced, never changed, and only while the pod is in none of the queues: they decide which
    events find it there.
    """

    pod: PodInfo
    #: When it entered the queue, or came back after its last attempt: what the queue is ordered by.
    timestamp: float
    key: str = field(init=False)
    #: The scheduler name the pod asks for.
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
    #: The number of the last event that came before it became unschedulable.
    entered: int = 0
    #: When its back-off ends, once computed for the last attempt.
    backoff_expiry: float | None = None
    #: Whether it was last moved because it had waited too long, and when that was.
    was_flushed: bool = False
    flush_timestamp: float = 0.0

    def __post_init__(self) -> None:
        self.key = self.pod.key
        self.profile = self.pod.spec.scheduler_name

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
