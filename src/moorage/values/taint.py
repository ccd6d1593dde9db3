"""Taints and tolerations."""

from collections.abc import Iterable, Sequence

from moorage.objects import DeviceTaint, Taint, Toleration
from moorage.values.selector import parse_int64

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"

_COMPARISONS = ("Lt", "Gt")

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
        case "Lt" | "Gt":
            asked, there = _number(toleration.value), _number(taint.value)
            if asked is None or there is None:
                return False
            return there < asked if toleration.operator == "Lt" else there > asked
        case _:
            return False


def _number(text: str) -> int | None:
    """A decimal integer in its shortest form, else None."""
    number = parse_int64(text)
    return number if number is not None and str(number) == text else None


def without_comparisons(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    """Those that count where the gate for the operators Lt and Gt is off."""
    if not any(one.operator in _COMPARISONS for one in tolerations):
        return tolerations
    return tuple(one for one in tolerations if one.operator not in _COMPARISONS)


def tolerates_device(toleration: Toleration, taint: DeviceTaint) -> bool:
    """The same for a taint of a device, which knows no comparisons."""
    return toleration.operator not in _COMPARISONS and tolerates(
        toleration, Taint(key=taint.key, value=taint.value, effect=taint.effect)
    )


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
