"""Why pods move between the queues: the special events, and the names events have in metrics and logs."""

from typing import Final, NamedTuple

from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.objects import KubeObject

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
