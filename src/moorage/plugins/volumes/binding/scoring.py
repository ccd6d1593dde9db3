"""Nodes by how much of their storage would be used, along a broken line (gate StorageCapacityScoring)."""

import math
from collections.abc import Callable, Sequence

from moorage.config import UtilizationShapePoint
from moorage.framework.points import MAX_SCORE
from moorage.objects import PersistentVolume
from moorage.plugins.volumes.binding.claims import requested_size
from moorage.plugins.volumes.binding.finding import PodVolumes
from moorage.values.quantity import parse_quantity, whole

#: Points of a shape are scored from 0 to this.
_SHAPE_SCALE = 10


class StorageScore:
    """The mean over storage classes of the shape at requested/capacity."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        self._line = broken_line([(point.utilization, point.score * (MAX_SCORE // _SHAPE_SCALE)) for point in shape])

    def of(self, volumes: PodVolumes) -> int:
        """The score of a node that would serve the pod like this; 0 where there is nothing to go by."""
        usage = _static_usage(volumes) if volumes.bindings else _dynamic_usage(volumes)
        if not usage:
            return 0
        total = sum(self._of_class(requested, capacity) for requested, capacity in usage.values())
        return math.floor(total / len(usage) + 0.5)

    def _of_class(self, requested: int, capacity: int) -> int:
        if capacity == 0 or requested > capacity:
            return self._line(100)
        return self._line(requested * 100 // capacity)


def broken_line(points: Sequence[tuple[int, int]]) -> Callable[[int], int]:
    """The line through the points in whole numbers, rounded toward zero; level before the first and after the last."""

    def at(utilization: int) -> int:
        for index, (right, score) in enumerate(points):
            if utilization <= right:
                if index == 0:
                    return score
                left, before = points[index - 1]
                return before + math.trunc((score - before) * (utilization - left) / (right - left))
        return points[-1][1]

    return at


def _static_usage(volumes: PodVolumes) -> dict[str, tuple[int, int]]:
    usage: dict[str, tuple[int, int]] = {}
    for claim, volume in volumes.bindings:
        name = volume.spec.storage_class_name
        requested, capacity = usage.get(name, (0, 0))
        usage[name] = (requested + whole(requested_size(claim) or 0), capacity + _capacity(volume))
    return usage


def _dynamic_usage(volumes: PodVolumes) -> dict[str, tuple[int, int]]:
    usage: dict[str, tuple[int, int]] = {}
    for claim, pool in volumes.provisions:
        if pool is None:
            continue
        name = pool.storage_class_name
        requested, _ = usage.get(name, (0, 0))
        # Claims of a class share the pool: its capacity counts once.
        capacity = whole(parse_quantity(pool.capacity if pool.capacity is not None else 0))
        usage[name] = (requested + whole(requested_size(claim) or 0), capacity)
    return usage


def _capacity(volume: PersistentVolume) -> int:
    return whole(parse_quantity(volume.spec.capacity.get("storage", 0)))
