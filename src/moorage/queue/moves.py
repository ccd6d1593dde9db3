"""Why pods move between the queues: the special events, the names events have in metrics and logs, the counts."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.objects import KubeObject
from moorage.queue.record import Place, QueuedEntity

#: Reasons that are no cluster events.
SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"

#: Wildcards: they concern pods whichever plugins rejected them. Force-activate names its pod as the new object.
FORCE_ACTIVATE: Final = ClusterEvent(Resource.ANY, Action.ALL, "ForceActivate")
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(Resource.ANY, Action.ALL, "UnschedulableTimeout")

ASSIGNED_POD_ADD: Final = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
NODE_ADD: Final = ClusterEvent(Resource.NODE, Action.ADD)
NODE_DELETE: Final = ClusterEvent(Resource.NODE, Action.DELETE)

#: What kube-scheduler counts among the in-flight events for each pod that is being scheduled.
POD_POPPED: Final = "PodPopped"


class ObjectEvent(NamedTuple):
    """An event with its object, before and after."""

    event: ClusterEvent
    old: KubeObject | None = None
    new: KubeObject | None = None


def event_label(event: ClusterEvent) -> str:
    """The event in one word, as kube-scheduler's metrics name it: NodeAdd, AssignedPodUpdatePodLabel, ..."""
    return event.label or _LABELS.get((event.resource, event.action), event.resource)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


_LABELS: dict[tuple[Resource, Action], str] = {
    (resource, action): f"{resource}{_camel(name)}"
    for resource in Resource
    for name, action in Action.__members__.items()
}


class QueueCounts:
    """Running totals; hosts read them when metrics are collected."""

    def __init__(self) -> None:
        #: queue_incoming_pods_total: (queue, event label) -> pods that ever entered.
        self.incoming: Counter[tuple[str, str]] = Counter()
        #: unschedulable_pods: (plugin, profile) -> pods in the queue that the plugin rejected.
        self.unschedulable: Counter[tuple[str, str]] = Counter()

    def entered(self, place: Place, label: str) -> None:
        """A pod entered one of the queues. Gated pods count as unschedulable."""
        self.incoming["unschedulable" if place is Place.GATED else place, label] += 1

    def rejected(self, profile: str, plugins: Iterable[str]) -> None:
        """Plugins rejected a pod that is in the queue."""
        for plugin in plugins:
            self.unschedulable[plugin, profile] += 1

    def left(self, queued: QueuedEntity) -> None:
        """What plugins had rejected left the queue."""
        for member in queued.members:
            for plugin in member.rejecting_plugins:
                self.unschedulable[plugin, member.profile] -= 1
