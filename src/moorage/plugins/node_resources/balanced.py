"""NodeResourcesBalancedAllocation: prefers nodes whose resources the pod uses more evenly."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config.args import NodeResourcesBalancedAllocationArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.points import MAX_SCORE, Scope, Scores
from moorage.framework.status import SKIP, Status
from moorage.plugins.node_resources.demand import Amounts, Demand, DeviceOffers, Share, ShareColumn, all_offered
from moorage.values.int64 import divided, truncated, wrapped

_STATE = "NodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocation:
    """Score by how much the pod evens out the shares of resources in use: about 75 if not at all."""

    args_type = NodeResourcesBalancedAllocationArgs
    score_scope = Scope.NODE_AND_PODS

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._resources = args.resources
        self._devices = DeviceOffers(handle.snapshot) if "DRAExtendedResource" in handle.features else None

    def kept_while(self, pod: PodInfo) -> object:
        """Scores of resources that devices stand for change with the devices."""
        return self._devices.stamp(pod, self._resources) if self._devices is not None else None

    def pre_score(self, state: CycleState, pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """Skip for pods that ask for none of the resources, or all of them would pile up on one node."""
        # As kube-scheduler does it, unlike Filter: what a resize in place has come to counts.
        asked = pod.request.amounts
        demand = Demand(
            self._resources,
            [asked.get(one.name, 0) for one in self._resources],
            with_defaults=False,
            devices=self._devices,
        )
        if demand.is_nothing:
            return SKIP
        state.write(_STATE, demand)
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """The change of balance on one node."""
        demand: Demand = state.read(_STATE)
        return _change(demand.shares(node))

    def score_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The same for many rows."""
        demand: Demand = state.read(_STATE)

        def many(some: Rows) -> Scores:
            return self._change_many(demand.columns(nodes, some), some)

        return demand.score_each(nodes, rows, _change, many)

    def _change_many(self, columns: Sequence[ShareColumn], rows: Rows) -> Scores:
        if len(columns) == 2 and all_offered(columns):
            return _change_of_two(*columns)
        after = _balance_many([(one.requested, one.allocatable) for one in columns], len(rows))
        before = _balance_many([(one.used, one.allocatable) for one in columns], len(rows))
        return MAX_SCORE // 2 + (MAX_SCORE // 2 + after - before) // 2


def _change(shares: Sequence[Share]) -> int:
    """The change of balance on one node."""
    after = _balance([min(1.0, float(requested) / float(allocatable)) for _, requested, allocatable, _ in shares])
    before = _balance([min(1.0, float(used) / float(allocatable)) for used, _, allocatable, _ in shares])
    return MAX_SCORE // 2 + divided(wrapped(MAX_SCORE // 2 + after - before), 2)


def _balance(fractions: Sequence[float]) -> int:
    """100 when all shares are equal, less the further they are apart."""
    count = len(fractions)
    deviation = 0.0
    if count == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif count > 2:
        total = 0.0
        for one in fractions:
            total += one
        mean = total / count
        squares = 0.0
        for one in fractions:
            squares += (one - mean) * (one - mean)
        deviation = math.sqrt(squares / count)
    return truncated((1 - deviation) * MAX_SCORE)


def _change_of_two(first: ShareColumn, second: ShareColumn) -> Scores:
    """The score in the usual case by far: two resources, cpu and memory, and every node offers both."""
    # Two lines at once, before and with the pod, in place: what this costs is the number of array operations.
    apart = _fractions(first)
    np.subtract(apart, _fractions(second), out=apart)
    np.abs(apart, out=apart)
    np.multiply(apart, 0.5, out=apart)
    np.subtract(1, apart, out=apart)
    np.multiply(apart, MAX_SCORE, out=apart)
    before, after = apart.astype(np.int64)
    change: Scores = after - before
    change += MAX_SCORE // 2 + MAX_SCORE
    change //= 2
    return change


def _fractions(column: ShareColumn) -> NDArray[np.float64]:
    """The share in use on each row, before and with the pod."""
    lines = np.empty((2, len(column.used)))
    np.divide(column.used, column.allocatable, out=lines[0])
    np.divide(column.requested, column.allocatable, out=lines[1])
    return np.minimum(lines, 1.0, out=lines)


def _balance_many(shares: Sequence[tuple[Amounts, Amounts]], count: int) -> Scores:
    """The same in columns: a row leaves out the resources it does not offer, in the same order of additions."""
    offered = [allocatable > 0 for _, allocatable in shares]
    fractions: list[NDArray[np.float64]] = [
        np.where(there, np.minimum(1.0, amount / np.maximum(allocatable, 1)), 0.0)
        for there, (amount, allocatable) in zip(offered, shares, strict=True)
    ]
    number = np.zeros(count, dtype=np.int64)
    total = np.zeros(count)
    for there, fraction in zip(offered, fractions, strict=True):
        number += there
        total += fraction
    mean = total / np.maximum(number, 1)
    squares = np.zeros(count)
    apart = np.zeros(count)
    sign = np.ones(count)
    for there, fraction in zip(offered, fractions, strict=True):
        squares += np.where(there, (fraction - mean) * (fraction - mean), 0.0)
        apart += np.where(there, sign * fraction, 0.0)
        sign = np.where(there, -sign, sign)
    deviation = np.where(number > 2, np.sqrt(squares / np.maximum(number, 1)), 0.0)
    deviation = np.where(number == 2, np.abs(apart / 2), deviation)
    return ((1 - deviation) * MAX_SCORE).astype(np.int64)
