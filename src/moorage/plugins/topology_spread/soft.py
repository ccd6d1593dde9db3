"""Soft constraints: the fewer matching pods a node's domains hold, the better the node."""

import math
from collections.abc import Sequence
from functools import lru_cache

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
#: Where raw scores lie within so narrow a range, looking up is quicker than dividing.
_FEW_SCORES = 1024
#: The raw score that kube-scheduler marks ignored rows with.
_IGNORED = -1


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
        self.has_whole_skews = all(one.max_skew > 0 for one in constraints)
        #: Whether every node has every topology key; good for one version of the topology.
        self.is_complete = False
        self._version = -1
        self._fitting: _Fitting | None = None

    def refresh(self, nodes: NodeTable, tables: CountTables) -> None:
        """Bring everything up to date at the start of a cycle."""
        for table in self.counts:
            tables.use(table)
        if self._version != nodes.topology_version:
            self._version = nodes.topology_version
            self.is_complete = not any((nodes.label(key).ids[nodes.rows] == ABSENT).any() for key in self.keys)
            self._fitting = None

    def fitting(self, nodes: NodeTable, rows: Rows) -> "_Fitting":
        """Where these rows lie; not found out again while the same rows fit."""
        if self._fitting is None or self._fitting.rows is not rows:
            self._fitting = _Fitting(self, nodes, rows)
        return self._fitting

    def _table(self, one: Constraint, pod: PodInfo, nodes: NodeTable, tables: CountTables) -> DomainCounts:
        selected: dict[Tally, int] = {nodes.tallies.selected(one.selection(pod.namespace)): 1}
        if one.topology_key == HOSTNAME:
            return tables.table(EACH_NODE, selected)
        keys = self.keys if self.require_all else frozenset[str]()
        return tables.table(one.topology(pod, keys, absent_is_empty=not self.require_all), selected)


class SoftState:
    """What Score and NormalizeScore read in one cycle: the plan, and what depends on which rows fit."""

    __slots__ = ("_nodes", "_weights", "plan")

    def __init__(self, plan: SoftPlan, nodes: NodeTable, rows: Rows) -> None:
        self.plan = plan
        self._nodes = nodes
        self._weights = [math.log(size + 2) for size in plan.fitting(nodes, rows).sizes]

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
        fitting = self.plan.fitting(self._nodes, rows)
        total = fitting.shares(0, self._weights[0])
        for index in range(1, len(self._weights)):
            total += fitting.shares(index, self._weights[index])
        if fitting.ignored is not None:
            total[fitting.ignored] = 0.0
        # A skew is at least 1 and a pod weighs at least ln 3, unless the object is malformed.
        return _round_natural(total) if self.plan.has_whole_skews else _round_all(total)

    def normalize(self, scores: Scores, rows: Rows) -> Scores:
        """Turn the scores round and bring them into 0..100; ignored rows get 0."""
        ignored = self.plan.fitting(self._nodes, rows).ignored
        counted = scores if ignored is None else scores[~ignored]
        if not len(counted):
            return np.zeros_like(scores)
        lowest, highest = int(counted.min()), max(int(counted.max()), 0)
        if lowest < 0:
            # QUIRK: what an absurd maxSkew brings to -1 reads as if the row were to be ignored.
            ignored = scores == _IGNORED if ignored is None else ignored | (scores == _IGNORED)
        if ignored is None and highest - lowest < _FEW_SCORES:
            return _turned_table(lowest, highest).take(scores - lowest)
        normal = _turn_round(scores, lowest, highest)
        if ignored is not None:
            normal[ignored] = 0
        return normal


class _Fitting:
    """Some rows, and where they lie."""

    __slots__ = ("_ids", "_nodes", "_plan", "ignored", "rows", "sizes")

    def __init__(self, plan: SoftPlan, nodes: NodeTable, rows: Rows) -> None:
        self.rows = rows
        self._plan = plan
        self._nodes = nodes
        self._ids: dict[str, Rows] = {}
        #: Which rows score 0 for want of a label; None where none does.
        self.ignored = self._lacking() if plan.require_all and not plan.is_complete else None
        #: For each constraint, how many domains the rows that are not ignored lie in.
        self.sizes = [self._size(one.topology_key) for one in plan.constraints]

    def ids(self, key: str) -> Rows:
        """The id of a label's value on each row."""
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = self._nodes.pick(self._nodes.label(key).ids, self.rows)
        return known

    def shares(self, index: int, weight: float) -> _Floats:
        """What one constraint adds to the score of each row."""
        constraint, table = self._plan.constraints[index], self._plan.counts[index]
        key, least = constraint.topology_key, constraint.max_skew - 1
        if key == HOSTNAME:
            own: _Floats = np.multiply(self._nodes.pick(table.counts, self.rows), weight, dtype=np.float64)
            own += least
            if not self._plan.is_complete:
                own[self.ids(key) == ABSENT] = 0.0
            return own
        by_domain: _Floats = np.multiply(table.counts, weight, dtype=np.float64)
        by_domain += least
        by_domain[-1] = 0.0  # what a row without the label finds
        shares: _Floats = by_domain.take(self.ids(key))
        return shares

    def _lacking(self) -> Mask:
        lacking: Mask = np.zeros(len(self.rows), dtype=bool)
        for key in self._plan.keys:
            lacking |= self.ids(key) == ABSENT
        return lacking

    def _size(self, key: str) -> int:
        if key == HOSTNAME:
            return len(self.rows) - (0 if self.ignored is None else int(np.count_nonzero(self.ignored)))
        ids = self.ids(key) if self.ignored is None else self.ids(key)[~self.ignored]
        if not self._plan.require_all and not self._plan.is_complete:
            column = self._nodes.label(key)
            empty = column.find("")
            ids = np.where(ids == ABSENT, len(column.values) if empty == ABSENT else empty, ids)
        return int(np.count_nonzero(np.bincount(ids)))


def _turn_round(scores: Scores, lowest: int, highest: int) -> Scores:
    """Normalise scores that lie between these, so that the lowest comes out best."""
    if highest == 0:
        return np.full_like(scores, MAX_SCORE)
    # Whole numbers this small divide in floating point well enough for the cut that follows to be exact.
    turned: Scores = ((highest + lowest - scores) * MAX_SCORE / highest).astype(np.int64)
    return turned


@lru_cache(maxsize=256)
def _turned_table(lowest: int, highest: int) -> Scores:
    """The normalised score for every raw one from the lowest on."""
    return _turn_round(np.arange(lowest, highest + 1, dtype=np.int64), lowest, highest)


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


def _round_natural(numbers: _Floats) -> Scores:
    """The same, quicker, for numbers that are 0 or at least 0.5: just below 0.5 the sum would round up."""
    numbers += 0.5
    return numbers.astype(np.int64)
