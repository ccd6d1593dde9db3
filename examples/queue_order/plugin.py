"""Orders the queue by deadline: what has to be done first is tried first."""

from typing import ClassVar, Final

from moorage.framework import PodInfo

DEADLINE: Final = "example.com/deadline"
"""The annotation: seconds since the epoch."""
_NEVER: Final = float("inf")


class EarliestDeadline:
    """Priority first, as everywhere; among equals the earliest deadline, then who has waited longest."""

    name: ClassVar = "EarliestDeadline"

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float, float]:
        """Smaller goes first. A deadline that is no number counts as none: a queue must not stumble over one pod."""
        return -pod.priority, _deadline(pod), timestamp


def _deadline(pod: PodInfo) -> float:
    try:
        deadline = float(pod.annotations.get(DEADLINE, ""))
    except ValueError:
        return _NEVER
    return deadline if deadline == deadline else _NEVER  # NaN is neither before nor after anything
