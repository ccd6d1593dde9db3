"""How full a node should be: the three scoring strategies of NodeResourcesFit, for one node and for many."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from moorage.config.args import ScoringStrategy, UtilizationShapePoint
from moorage.framework.points import MAX_SCORE, Scores
from moorage.plugins.node_resources.demand import Amounts, Share, ShareColumn, all_offered
from moorage.values.int64 import HIGHEST, divided, wrapped

#: A shape's scores go to 10, the framework's to 100.
SHAPE_SCALE = 10


class Strategy:
    """The weighted mean of a score for each resource."""

    def __init__(self, one: Callable[[int, int], int], many: Callable[[Amounts, Amounts], Scores]) -> None:
        self._one = one
        self._many = many

    def score(self, shares: Sequence[Share]) -> int:
        """The score of one node."""
        total = weights = 0
        for _, requested, allocatable, weight in shares:
            total += self._one(requested, allocatable) * weight
            weights += weight
        if 0 <= total <= HIGHEST and weights > 0:
            return total // weights
        return divided(wrapped(total), weights) if weights else 0

    def score_many(self, columns: Sequence[ShareColumn], count: int) -> Scores:
        """The scores of `count` rows."""
        total = np.zeros(count, dtype=np.int64)
        if columns and all_offered(columns):
            for column in columns:
                score = self._many(column.requested, column.allocatable)
                total += score if column.weight == 1 else score * column.weight
            mean: Scores = total // sum(column.weight for column in columns)
            return mean
        weights = np.zeros(count, dtype=np.int64)
        for column in columns:
            offered = column.allocatable > 0
            total += np.where(offered, self._many(column.requested, _nonzero(column.allocatable)), 0) * column.weight
            weights += offered * column.weight
        return total // _nonzero(weights)


class RatioStrategy:
    """RequestedToCapacityRatio: a broken line over utilization; resources that score nothing are left out."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        points = [(point.utilization, point.score * SHAPE_SCALE) for point in shape]
        self._by_percent = np.array([broken_line(points, percent) for percent in range(101)], dtype=np.int64)
        self._percent_list: list[int] = self._by_percent.tolist()

    def score(self, shares: Sequence[Share]) -> int:
        """The score of one node."""
        total = weights = 0
        for _, requested, allocatable, weight in shares:
            percent = 100
            if requested <= allocatable:
                percent = divided(wrapped(requested * 100), allocatable)
            # The line is flat beyond its ends, where numbers that wrapped may lie.
            score = self._percent_list[min(max(percent, 0), 100)]
            if score > 0:
                total += score * weight
                weights += weight
        return (2 * total + weights) // (2 * weights) if weights else 0

    def score_many(self, columns: Sequence[ShareColumn], count: int) -> Scores:
        """The scores of `count` rows."""
        total = np.zeros(count, dtype=np.int64)
        weights = np.zeros(count, dtype=np.int64)
        for column in columns:
            percent = np.clip(column.requested * 100 // _nonzero(column.allocatable), 0, 100)
            score = np.where(column.allocatable > 0, self._by_percent[percent], 0)
            total += score * column.weight
            weights += (score > 0) * column.weight
        return (2 * total + weights) // _nonzero(2 * weights)


def make_strategy(strategy: ScoringStrategy) -> Strategy | RatioStrategy:
    """The strategy that the plugin's arguments name; they were validated before."""
    match strategy.type:
        case "MostAllocated":
            return MOST_ALLOCATED
        case "RequestedToCapacityRatio":
            assert strategy.requested_to_capacity_ratio is not None
            return RatioStrategy(strategy.requested_to_capacity_ratio.shape)
        case _:
            return Strategy(_least, _least_many)


def broken_line(points: Sequence[tuple[int, int]], at: int) -> int:
    """The value of a broken line at a point, flat beyond its ends, truncated toward zero between points."""
    if at <= points[0][0]:
        return points[0][1]
    for (left, left_value), (right, right_value) in pairwise(points):
        if at <= right:
            rise = (right_value - left_value) * (at - left)
            step = abs(rise) // (right - left)
            return left_value + (step if rise >= 0 else -step)
    return points[-1][1]


def _least(requested: int, allocatable: int) -> int:
    if requested > allocatable:
        return 0
    left = (allocatable - requested) * MAX_SCORE
    return left // allocatable if left <= HIGHEST and allocatable > 0 else divided(wrapped(left), allocatable)


def _least_many(requested: Amounts, allocatable: Amounts) -> Scores:
    scores: Scores = np.maximum(allocatable - requested, 0) * MAX_SCORE // allocatable
    return scores


def _most(requested: int, allocatable: int) -> int:
    return divided(wrapped(min(requested, allocatable) * MAX_SCORE), allocatable)


def _most_many(requested: Amounts, allocatable: Amounts) -> Scores:
    scores: Scores = np.minimum(requested, allocatable) * MAX_SCORE // allocatable
    return scores


#: How full nodes are, the fuller the better.
MOST_ALLOCATED: Final = Strategy(_most, _most_many)


def _nonzero(column: Amounts) -> Amounts:
    return np.maximum(column, 1)
