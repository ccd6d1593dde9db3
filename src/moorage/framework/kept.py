"""Verdicts and scores kept per pod class, brought up to date from the logs of changes.

Plugins that look at one node alone (Scope.NODE, Scope.NODE_AND_PODS) answer the same for every pod of a class until
that node changes. So each class keeps a column of verdicts for each such filter and a column of summed scores, and a
decision re-evaluates only the rows touched since the class was last used. Placing a pod touches one row.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeTable, PodClass, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.lifting import FEW_ROWS, NodeFilter, NodeScore, blame
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import NodeNames, Scope, Scores
from moorage.framework.profile import Named, Profile
from moorage.framework.status import Code, Status

#: How many cells (rows times classes) the caches of one profile may hold before the class used longest ago goes.
MOST_CELLS = 20_000_000


@dataclass(slots=True)
class KeptFilter:
    """One filter's verdicts for one class: ids of the filter's statuses, 0 where the pod fits."""

    filter: NodeFilter
    codes: NDArray[np.int16]


@dataclass(slots=True)
class FilterStage:
    """Neighbouring filters that are kept together, or one filter that is asked in every cycle."""

    kept: list[KeptFilter] = field(default_factory=list)
    asked: NodeFilter | None = None
    #: For kept filters: rows of live nodes that all of them pass.
    passing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))


@dataclass(slots=True)
class KeptRaw:
    """A normalised plugin's raw scores for one class; `constant` where every live row has the same."""

    score: NodeScore
    normalize: NormalizeByMax
    raw: Scores
    constant: int | None = None


class ClassColumns:
    """What is kept for one pod class in one profile."""

    def __init__(self, profile: Profile, pod: PodInfo, nodes: NodeTable) -> None:
        self._profile = profile
        self._nodes = nodes
        self._pod = pod
        self.state = CycleState()
        #: What kept plugins answered at PreFilter, by name: None, SKIP, a rejection, or node names.
        self.pre_filter_answers = self._run_pre_filters()
        self.skipped_filters = frozenset(n for n, answer in self.pre_filter_answers.items() if _is_skip(answer))
        #: Whether none of them rejected the pod or narrowed the nodes.
        self.is_plain = all(answer is None or _is_skip(answer) for answer in self.pre_filter_answers.values())
        self.stages = self._make_stages()
        self._scores: list[NodeScore] | None = None
        self.skipped_scores: frozenset[str] = frozenset()
        self._raws: list[KeptRaw] = []
        self._capacity = 0
        self._pods_read = 0
        self._nodes_read = 0
        self._key: Hashable = None
        #: Weighted sum of the kept scores that need no normalising; `fixed` is the part only node changes touch.
        self._fixed: Scores = np.zeros(0, dtype=np.int64)
        self._base: Scores = np.zeros(0, dtype=np.int64)
        self._ranked: Scores | None = None
        self._ranked_for: tuple[int, ...] = ()

    # ---------------------------------------------------------------------------------------------- PreFilter, once

    def _run_pre_filters(self) -> dict[str, Status | NodeNames | None]:
        kept = {one.name for one in self._profile.filters if one.is_kept}
        answers: dict[str, Status | NodeNames | None] = {}
        for one in self._profile.pre_filters:
            if one.name in kept:
                with blame(one.name, "PreFilter"):
                    answers[one.name] = one.plugin.pre_filter(self.state, self._pod, self._nodes)
        return answers

    def _make_stages(self) -> list[FilterStage]:
        stages: list[FilterStage] = []
        for one in self._profile.filters:
            if not one.is_kept:
                stages.append(FilterStage(asked=one))
            elif one.name not in self.skipped_filters:
                if not stages or stages[-1].asked is not None:
                    stages.append(FilterStage())
                stages[-1].kept.append(KeptFilter(one, np.zeros(0, dtype=np.int16)))
        if not any(stage.asked is None for stage in stages):
            # Live rows must come from somewhere, even if no filter is kept.
            stages.insert(0, FilterStage())
        return stages

    # ------------------------------------------------------------------------------------------------- catching up

    def catch_up(self) -> None:
        """Re-evaluate the rows touched since the last call, or all of them."""
        nodes = self._nodes
        pods = nodes.pod_changes.since(self._pods_read)
        touched = nodes.node_changes.since(self._nodes_read)
        if pods is None or touched is None or self._capacity != nodes.capacity or len(touched) > len(nodes) // 4:
            self._rebuild()
        else:
            if touched:
                self._refresh(sorted(set(touched)), Scope.NODE)
            if pods:
                self._refresh({change.row for change in pods}, Scope.NODE_AND_PODS)
        self._pods_read = nodes.pod_changes.position
        self._nodes_read = nodes.node_changes.position

    def _rebuild(self) -> None:
        self._capacity = self._nodes.capacity
        for stage in self.stages:
            stage.passing = np.zeros(self._capacity, dtype=bool)
            for one in stage.kept:
                one.codes = np.zeros(self._capacity, dtype=np.int16)
        self._refresh_filters(self._nodes.rows, Scope.NODE)
        self._scores_stale()

    def _refresh(self, touched: Iterable[int], scope: Scope) -> None:
        rows = np.fromiter(touched, dtype=np.intp)
        live = rows[self._nodes.alive[rows]]
        if len(live) < len(rows):
            for stage in self.stages:
                stage.passing[rows] = False
            if self._ranked is not None:
                self._ranked[rows] = -1
        if scope is Scope.NODE:
            self._refresh_filters(live, scope)
            self._scores_stale()
        else:
            self._refresh_filters(live, scope)
            self._refresh_scores(live)

    def _refresh_filters(self, rows: Rows, scope: Scope) -> None:
        """Evaluate the filters that such a change concerns; a change of the node concerns all."""
        for stage in self.stages:
            if stage.asked is not None:
                continue
            for one in stage.kept:
                if scope is Scope.NODE or one.filter.scope is Scope.NODE_AND_PODS:
                    one.codes[rows] = one.filter.many(self.state, self._pod, self._nodes, rows)
            if len(rows) <= FEW_ROWS:
                for row in rows.tolist():
                    stage.passing[row] = not any(one.codes[row] for one in stage.kept)
            else:
                passing = np.ones(len(rows), dtype=bool)
                for one in stage.kept:
                    passing &= one.codes[rows] == 0
                stage.passing[rows] = passing

    # ------------------------------------------------------------------------------------------------------ scores

    def prepare_scores(self, feasible: Rows) -> None:
        """Run PreScore of the kept plugins (once for the class) and make the columns of scores current."""
        if self._scores is None:
            self._scores = self._run_pre_scores(feasible)
        key = tuple(one.kept_until(self._nodes) for one in self._scores)
        if len(self._base) != self._capacity or key != self._key:
            self._key = key
            self._rebuild_scores(self._scores)

    def _run_pre_scores(self, feasible: Rows) -> list[NodeScore]:
        by_name: dict[str, Named] = {one.name: one for one in self._profile.pre_scores}
        skipped = set()
        for score in self._profile.scores:
            prepare = by_name.get(score.name)
            if score.is_kept and prepare is not None:
                with blame(score.name, "PreScore"):
                    answer = prepare.plugin.pre_score(self.state, self._pod, self._nodes, feasible)
                if answer is not None and answer.code is Code.SKIP:
                    skipped.add(score.name)
        self.skipped_scores = frozenset(skipped)
        return [one for one in self._profile.scores if one.is_kept and one.name not in skipped]

    def _scores_stale(self) -> None:
        self._base = np.zeros(0, dtype=np.int64)
        self._ranked = None

    def _rebuild_scores(self, scores: list[NodeScore]) -> None:
        rows = self._nodes.rows
        self._fixed = np.zeros(self._capacity, dtype=np.int64)
        self._base = np.zeros(self._capacity, dtype=np.int64)
        self._raws = []
        for one in scores:
            raw = one.many(self.state, self._pod, self._nodes, rows)
            if isinstance(one.normalize, NormalizeByMax):
                column = np.zeros(self._capacity, dtype=np.int64)
                column[rows] = raw
                constant = int(raw[0]) if len(raw) and (raw == raw[0]).all() else None
                self._raws.append(KeptRaw(one, one.normalize, column, constant))
            elif one.scope is Scope.NODE:
                self._fixed[rows] += raw * one.weight
            else:
                self._base[rows] += raw * one.weight
        self._base += self._fixed
        self._ranked = None

    def _refresh_scores(self, rows: Rows) -> None:
        if self._scores is None or len(self._base) != self._capacity:
            return
        if any(one.score.scope is Scope.NODE_AND_PODS for one in self._raws):
            self._scores_stale()
            return
        moving = [one for one in self._scores if one.normalize is None and one.scope is Scope.NODE_AND_PODS]
        base = self._fixed[rows]
        for one in moving:
            base += one.many(self.state, self._pod, self._nodes, rows) * one.weight
        if self._ranked is not None:
            self._rerank(rows, base)
        self._base[rows] = base

    # ----------------------------------------------------------------------------------------------------- ranking

    def totals(self, rows: Rows) -> Scores:
        """The weighted sum of the kept scores of `rows`, normalised among them."""
        total: Scores = self._base[rows]
        for one in self._raws:
            raw = one.raw[rows]
            total += one.normalize.scale(raw, int(raw.max())) * one.score.weight
        return total

    def ranked(self) -> Scores:
        """Totals of all rows, -1 where the kept filters (all in one stage) refuse the pod. Do not change it."""
        passing = self.stages[0].passing
        highest = tuple(
            one.constant if one.constant is not None else int(one.raw.max(where=passing, initial=0))
            for one in self._raws
        )
        if self._ranked is None or highest != self._ranked_for:
            ranked = self._base.copy()
            for one, top in zip(self._raws, highest, strict=True):
                ranked += one.normalize.scale(one.raw, top) * one.score.weight
            ranked[~passing] = -1
            self._ranked, self._ranked_for = ranked, highest
        return self._ranked

    def _rerank(self, rows: Rows, base: Scores) -> None:
        """Bring the ranking of a few rows up to date: their normalised part is as before, their base moved."""
        assert self._ranked is not None
        passing = self.stages[0].passing[rows]
        total = base.copy()
        for one, top in zip(self._raws, self._ranked_for, strict=True):
            total += one.normalize.scale(one.raw[rows], top) * one.score.weight
        total[~passing] = -1
        self._ranked[rows] = total


class KeptClasses:
    """The columns of the classes in use, those used longest ago dropped first."""

    def __init__(self, profile: Profile, nodes: NodeTable) -> None:
        self._profile = profile
        self._nodes = nodes
        self._columns: OrderedDict[PodClass, ClassColumns] = OrderedDict()

    def of(self, pod: PodInfo) -> ClassColumns:
        """The columns of the pod's class, up to date as to filters."""
        columns = self._columns.get(pod.pod_class)
        if columns is None:
            columns = self._columns[pod.pod_class] = ClassColumns(self._profile, pod, self._nodes)
            while len(self._columns) > max(16, MOST_CELLS // self._nodes.capacity):
                self._columns.popitem(last=False)
        else:
            self._columns.move_to_end(pod.pod_class)
        columns.catch_up()
        return columns


def _is_skip(answer: Status | NodeNames | None) -> bool:
    return isinstance(answer, Status) and answer.code is Code.SKIP
