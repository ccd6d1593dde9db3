"""Soft constraints: the fewer matching pods a node's domains hold, the better the node."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.columns.counts import CountTables, DomainCounts
from moorage.columns.domains import EACH_NODE
from moorage.columns.labels import ABSENT
from moorage.columns.tallies import Tally
from moorage.framework.points import MAX_SCORE, Scores
from moorage.plugins.topology_spread.constraints import Constraint, keys_of
from moorage.plugins.topology_spread.defaults import HOSTNAME

Mask = NDArray[np.bool_]
_Floats = NDArray[np.float64]


class SoftPlan:
    """The soft constraints of pods that are alike, with the tables they need.

    With `require_all` a node that lacks one of the topology keys is left out: its pods do not count and it scores 0.
    Otherwise (the built-in defaults) it only lacks that constraint's share of the score. Hostname constraints count the
    pods on the node itself, whatever the policies say.
    """

    def __init__(
        self,
        constraints: Sequence[Constraint],
        pod: PodInfo,
        nodes: NodeTable,
        tables: CountTables,
        *,
        require_all: bool,
    ) -> None:
        self.constraints = tuple(constraints)
        self.keys = keys_of(constraints)
        self.require_all = require_all
        self.counts: list[DomainCounts] = [self._table(one, pod, nodes, tables) for one in constraints]

    def _table(self, one: Constraint, pod: PodInfo, nodes: NodeTable, tables: CountTables) -> DomainCounts:
        selected: dict[Tally, int] = {nodes.tallies.selected(one.selection(pod.namespace)): 1}
        if one.topology_key == HOSTNAME:
            return tables.table(EACH_NODE, selected)
        keys = self.keys if self.require_all else frozenset[str]()
        return tables.table(one.topology(pod, keys, absent_is_empty=not self.require_all), selected)


class SoftState:
    """What Score and NormalizeScore read in one cycle: the plan, and what depends on which rows fit."""

    __slots__ = ("_fitting", "_nodes", "_weights", "plan")

    def __init__(self, plan: SoftPlan, nodes: NodeTable, rows: Rows) -> None:
        self.plan = plan
        self._nodes = nodes
        self._fitting = _Fitting(plan, nodes, rows)
        self._weights = [math.log(size + 2) for size in self._fitting.sizes()]

    def score(self, node: NodeInfo) -> int:
        """The score of one node, not normalised."""
        plan = self.plan
        if plan.require_all and not all(key in node.labels for key in plan.keys):
            return 0
        total = 0.0
        for constraint, table, weight in zip(plan.constraints, plan.counts, self._weights, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                continue
            is_own = constraint.topology_key == HOSTNAME
            domain = node.row if is_own else self._nodes.label(constraint.topology_key).find(value)
            total += table.count(domain) * weight + (constraint.max_skew - 1)
        return _round(total)

    def scores(self, rows: Rows) -> Scores:
        """The scores of many rows, not normalised."""
        fitting = self._among(rows)
        total = np.zeros(len(rows))
        for index, weight in enumerate(self._weights):
            total += fitting.shares(index, weight)
        if fitting.ignored is not None:
            total[fitting.ignored] = 0.0
        return _round_all(total)

    def normalize(self, scores: Scores, rows: Rows) -> Scores:
        """Turn the scores round and bring them into 0..100; ignored rows get 0."""
        ignored = self._among(rows).ignored
        counted = scores if ignored is None else scores[~ignored]
        if not len(counted):
            return np.zeros_like(scores)
        lowest, highest = int(counted.min()), max(int(counted.max()), 0)
        if highest == 0:
            normal = np.full_like(scores, MAX_SCORE)
        else:  # numbers this small divide exactly enough in floating point for the cut to a whole number
            normal = (((highest + lowest - scores) * MAX_SCORE) / highest).astype(np.int64)
        if ignored is not None:
            normal[ignored] = 0
        return normal

    def _among(self, rows: Rows) -> "_Fitting":
        return self._fitting if rows is self._fitting.rows else _Fitting(self.plan, self._nodes, rows)


class _Fitting:
    """Some rows, and where they lie."""

    __slots__ = ("_columns", "_ids", "_plan", "ignored", "rows")

    def __init__(self, plan: SoftPlan, nodes: NodeTable, rows: Rows) -> None:
        self.rows = rows
        self._plan = plan
        self._columns = [nodes.label(one.topology_key) for one in plan.constraints]
        #: For each constraint the id of the label's value on each row.
        self._ids = [column.ids.take(rows) for column in self._columns]
        #: Which rows score 0 for want of a label; None where none does.
        self.ignored = self._lacking() if plan.require_all else None

    def sizes(self) -> list[int]:
        """For each constraint, how many domains the rows that are not ignored lie in."""
        return [self._size(index) for index in range(len(self._ids))]

    def shares(self, index: int, weight: float) -> _Floats:
        """What one constraint adds to the score of each row."""
        ids, constraint, table = self._ids[index], self._plan.constraints[index], self._plan.counts[index]
        if constraint.topology_key == HOSTNAME:
            own: _Floats = np.multiply(table.counts.take(self.rows), weight, dtype=np.float64)
            own += constraint.max_skew - 1
            if _some_absent(ids):
                own[ids == ABSENT] = 0.0
            return own
        by_domain: _Floats = np.multiply(table.counts, weight, dtype=np.float64)
        by_domain += constraint.max_skew - 1
        by_domain[-1] = 0.0  # what a row without the label finds
        shares: _Floats = by_domain.take(ids)
        return shares

    def _lacking(self) -> Mask | None:
        lacking: Mask | None = None
        for ids in self._ids:
            if _some_absent(ids):
                lacking = ids == ABSENT if lacking is None else lacking | (ids == ABSENT)
        return lacking

    def _size(self, index: int) -> int:
        ids = self._ids[index] if self.ignored is None else self._ids[index][~self.ignored]
        if self._plan.constraints[index].topology_key == HOSTNAME:
            return len(ids)
        if not self._plan.require_all:
            empty = self._columns[index].find("")
            ids = np.where(ids == ABSENT, len(self._columns[index].values) if empty == ABSENT else empty, ids)
        return int(np.count_nonzero(np.bincount(ids)))


def _some_absent(ids: Rows) -> bool:
    return bool(len(ids)) and bool(ids.min() == ABSENT)


def _round(number: float) -> int:
    """To the nearest whole number, halves away from zero."""
    whole = math.trunc(number)
    rest = number - whole
    return whole + (rest >= 0.5) - (rest <= -0.5)


def _round_all(numbers: _Floats) -> Scores:
    whole = np.trunc(numbers)
    rest = numbers - whole
    whole += rest >= 0.5
    whole -= rest <= -0.5
    return whole.astype(np.int64)
