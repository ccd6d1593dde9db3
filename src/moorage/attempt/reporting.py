"""What people are told about a pod, in kube-scheduler's words."""

from moorage.attempt.world import WARNING, PodEvent
from moorage.columns import GroupInfo, PodInfo

_NOTE_BYTES = 1024
_CUT = " ..."


def scheduled(pod: PodInfo, node_name: str) -> PodEvent:
    """The pod was bound."""
    note = f"Successfully assigned {pod.key} to {node_name}"
    return PodEvent(pod.spec.scheduler_name, pod, "Scheduled", "Binding", note, repeats=False)


def failed(pod: PodInfo, message: str) -> PodEvent:
    """The pod got no node."""
    note = shortened(message)
    return PodEvent(pod.spec.scheduler_name, pod, "FailedScheduling", "Scheduling", note, kind=WARNING)


def gated(pod: PodInfo, plugin: str, reason: str) -> PodEvent:
    """A plugin keeps the pod out of the queue."""
    note = shortened(f'plugin "{plugin}" keeps it out of the queue: {reason}')
    return PodEvent(pod.spec.scheduler_name, pod, "SchedulingGated", "Scheduling", note)


def held(pod: PodInfo, note: str) -> PodEvent:
    """A plugin holds the pod at Permit."""
    return PodEvent(pod.spec.scheduler_name, pod, "WaitingOnPermit", "Scheduling", shortened(note))


def group_scheduled(profile: str, group: GroupInfo, example: PodInfo, count: int) -> PodEvent:
    """Members of the group are on their way to their nodes."""
    note = f"Placed {count} {'member' if count == 1 else 'members'}"
    return PodEvent(profile, example, "Scheduled", "Scheduling", note, group=group)


def group_failed(profile: str, group: GroupInfo, example: PodInfo, message: str) -> PodEvent:
    """The group was not placed."""
    return PodEvent(profile, example, "FailedScheduling", "Scheduling", shortened(message), kind=WARNING, group=group)


def runs_alone(profile: str, pod: PodInfo, note: str, group: GroupInfo | None = None) -> PodEvent:
    """A member runs without the others; about the group where that is given."""
    return PodEvent(profile, pod, "HalfBound", "Binding", shortened(note), kind=WARNING, group=group)


def preempted(profile: str, victim: PodInfo, note: str) -> PodEvent:
    """The victim has to leave for a pod of that profile."""
    return PodEvent(profile, victim, "Preempted", "Preempting", note)


def shortened(message: str) -> str:
    """The message, cut to what an event's note may hold."""
    encoded = message.encode()
    if len(encoded) <= _NOTE_BYTES:
        return message
    return encoded[: _NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT
