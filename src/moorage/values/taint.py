"""Taints and tolerations."""

from collections.abc import Iterable, Sequence

from moorage.objects import DeviceTaint, Taint, Toleration

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether this toleration puts up with this taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:  # Lt and Gt exist only behind a feature gate that is off
            return False


def tolerates_device(toleration: Toleration, taint: DeviceTaint) -> bool:
    """The same for a taint of a device."""
    return tolerates(toleration, Taint(key=taint.key, value=taint.value, effect=taint.effect))


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of the tolerations puts up with the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def first_untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps the pod off the node (NoSchedule or NoExecute), if any."""
    for taint in taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, tolerations):
            return taint
    return None


def count_unpreferred(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> int:
    """How many PreferNoSchedule taints the tolerations (already cut to that effect) leave untolerated."""
    return sum(taint.effect == PREFER_NO_SCHEDULE and not tolerated(taint, tolerations) for taint in taints)
