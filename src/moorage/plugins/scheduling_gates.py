"""SchedulingGates: a pod stays out of the queue while spec.schedulingGates names anything."""

from collections.abc import Sequence

from moorage.columns import PodInfo
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.status import Status, unresolvable
from moorage.objects import Pod


class SchedulingGates:
    """PreEnqueue."""

    def __init__(self, _args: object, _handle: Handle) -> None: ...

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keep the pod out until its last gate is removed."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> Sequence[EventHint]:
        """Only the removal of the pod's own last gate helps."""
        return (on(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _is_own_update),)


def _is_own_update(pod: PodInfo, _old: Pod, new: Pod) -> Hint:
    return Hint.QUEUE if new.metadata.uid == pod.uid else Hint.SKIP
