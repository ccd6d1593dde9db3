"""Verdicts kept per pod class, brought up to date from the logs of changes.

Plugins that look at one node alone (Scope.NODE, Scope.NODE_AND_PODS) answer the same for every pod of a class until
that node changes. So each class keeps a column of verdicts for each such filter (and of scores: see `ranking`), and a
decision re-evaluates only the rows touched since the class was last used. Placing a pod touches one row.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeTable, PodClass, PodInfo, Rows
from moorage.engine.lifting import FEW_ROWS, NodeFilter
from moorage.engine.profiles import CompiledProfile
from moorage.engine.ranking import KeptScores
from moorage.errors import PluginError
from moorage.framework.answers import broken
from moorage.framework.cycle_state import CycleState
from moorage.framework.points import NodeNames, Scope
from moorage.framework.status import Code, Status

#: How many cells (rows times classes) the caches of one profile may hold before the class used longest ago goes.
MOST_CELLS = 32_000_000
#: On a small cluster many classes have few cells, but each costs something all the same.
MOST_CLASSES = 1_000


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
    #: For kept filters: rows of live nodes that all of them pass, and that those pass which pods do not move.
    passing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    passing_by_node: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    #: The kept filters that pods on the node move.
    moving: list[KeptFilter] = field(default_factory=list)

    def keep(self, one: KeptFilter) -> None:
        """Add a filter to a stage of kept ones."""
        self.kept.append(one)
        if one.filter.scope is Scope.NODE_AND_PODS:
            self.moving.append(one)


class ClassColumns:
    """What is kept for one pod class in one profile."""

    def __init__(self, profile: CompiledProfile, pod: PodInfo, nodes: NodeTable) -> None:
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
        self._kept_stages = [stage for stage in self.stages if stage.asked is None]
        #: The filters without which the first stage, a kept one, decides alone; None where it never does.
        self.unless_skipped = self._others_than_the_first()
        self.scores = KeptScores(profile, pod, nodes, self.state)
        self._capacity = 0
        self._pods_read = 0
        self._nodes_read = 0
        self._first_rows: Rows | None = None
        #: Moves whenever a verdict changes.
        self.revision = 0
        #: What became of the last pod of the class that fitted nowhere, for as long as its key says so.
        self.last_failure: tuple[Hashable, Any] | None = None

    def _run_pre_filters(self) -> dict[str, Status | NodeNames | None]:
        kept = {one.name for one in self._profile.filters if one.is_kept}
        answers: dict[str, Status | NodeNames | None] = {}
        for one in self._profile.pre_filters:
            if one.name in kept:
                try:
                    answers[one.name] = one.plugin.pre_filter(self.state, self._pod, self._nodes)
                except BaseException as error:
                    raise broken(one.name, "PreFilter", error) from error
        return answers

    def _make_stages(self) -> list[FilterStage]:
        stages: list[FilterStage] = []
        for one in self._profile.filters:
            if not one.is_kept:
                stages.append(FilterStage(asked=one))
            elif one.name not in self.skipped_filters:
                if not stages or stages[-1].asked is not None:
                    stages.append(FilterStage())
                stages[-1].keep(KeptFilter(one, np.zeros(0, dtype=np.int16)))
        if not any(stage.asked is None for stage in stages):
            # Live rows must come from somewhere, even if no filter is kept.
            stages.insert(0, FilterStage())
        return stages

    def _others_than_the_first(self) -> frozenset[str] | None:
        first, *others = self.stages
        asked = [stage.asked for stage in others]
        names = frozenset(one.name for one in asked if one is not None)
        return names if first.asked is None and None not in asked else None

    # ------------------------------------------------------------------------------------------------- catching up

    def catch_up(self) -> None:
        """Re-evaluate the rows touched since the last call, or all of them."""
        nodes = self._nodes
        pods = nodes.pod_rows.since(self._pods_read)
        touched = nodes.node_changes.since(self._nodes_read)
        if pods is None or touched is None or self._capacity != nodes.capacity or len(touched) > len(nodes) // 4:
            self._rebuild()
        else:
            if len(touched):
                self._nodes_changed(np.unique(touched))
            if len(pods):
                self._pods_changed(pods)
        self._pods_read = nodes.pod_rows.position
        self._nodes_read = nodes.node_changes.position

    def _rebuild(self) -> None:
        self._capacity = self._nodes.capacity
        self.revision += 1
        for stage in self._kept_stages:
            stage.passing = np.zeros(self._capacity, dtype=bool)
            stage.passing_by_node = np.zeros(self._capacity, dtype=bool)
            for one in stage.kept:
                one.codes = np.zeros(self._capacity, dtype=np.int16)
        self._evaluate(self._nodes.rows, Scope.NODE)
        self.forget_scores()

    def _nodes_changed(self, rows: Rows) -> None:
        self._first_rows = None
        for stage in self._kept_stages:
            stage.passing[rows] = False
        live = rows[self._nodes.alive[rows]]
        self._evaluate(live, Scope.NODE)
        self.scores.nodes_changed(live)

    def _pods_changed(self, touched: Rows) -> None:
        alive = self._nodes.alive
        passing = self._kept_stages[0].passing
        if len(touched) <= FEW_ROWS:
            live = [row for row in touched.tolist() if alive[row]]
            for row in live:
                self._evaluate_one(row)
            self.scores.few_pods_changed(live, passing)
        else:
            rows = touched if self._nodes.is_complete else touched[alive[touched]]
            self._evaluate(rows, Scope.NODE_AND_PODS)
            self.scores.pods_changed(rows, passing)

    def _evaluate(self, rows: Rows, scope: Scope) -> None:
        """The verdicts on live rows whose nodes (NODE: all filters) or pods changed."""
        for stage in self._kept_stages:
            if scope is Scope.NODE:
                by_node = np.ones(len(rows), dtype=bool)
                for one in stage.kept:
                    if one.filter.scope is Scope.NODE:
                        self._judge(one, rows, by_node)
                stage.passing_by_node[rows] = by_node
            passing = stage.passing_by_node.take(rows)
            for one in stage.moving:
                self._judge(one, rows, passing)
            if scope is Scope.NODE or np.count_nonzero(passing != stage.passing.take(rows)):
                stage.passing[rows] = passing
                self._first_rows = None

    def _judge(self, one: KeptFilter, rows: Rows, passing: NDArray[np.bool_]) -> None:
        """Keep one filter's verdicts on these rows, and take those that it refuses out of `passing`."""
        codes = one.filter.refusals(self.state, self._pod, self._nodes, rows)
        before = one.codes.take(rows)
        if np.count_nonzero(before if codes is None else before != codes):
            one.codes[rows] = 0 if codes is None else codes
            self.revision += 1
        if codes is not None:
            passing &= codes == 0

    def _evaluate_one(self, row: int) -> None:
        """The verdicts on one live row whose pods changed."""
        for stage in self._kept_stages:
            fits = bool(stage.passing_by_node[row])
            for one in stage.moving:
                code = one.filter.one_code(self.state, self._pod, self._nodes, row)
                if one.codes[row] != code:
                    one.codes[row] = code
                    self.revision += 1
                fits = fits and not code
            if stage.passing[row] != fits:
                stage.passing[row] = fits
                self._first_rows = None

    def forget_scores(self) -> None:
        """Drop the kept scores: a plugin broke while they were made."""
        self.scores = KeptScores(self._profile, self._pod, self._nodes, self.state)

    # ----------------------------------------------------------------------------------------------------- reading

    def first_rows(self) -> Rows:
        """The rows that pass the first kept stage, ascending. Do not change it."""
        if self._first_rows is None:
            passing = np.flatnonzero(self._kept_stages[0].passing)
            # The very array of all rows where all pass: readers compare by identity and save themselves work.
            self._first_rows = self._nodes.rows if len(passing) == len(self._nodes) else passing
        return self._first_rows


class KeptClasses:
    """The columns of the classes in use, those used longest ago dropped first."""

    def __init__(self, profile: CompiledProfile, nodes: NodeTable) -> None:
        self._profile = profile
        self._nodes = nodes
        self._columns: OrderedDict[PodClass, ClassColumns] = OrderedDict()
        #: Plugins whose answers depend on more than the node and its pods: they say when that has changed.
        self._kept_while = [
            (name, one.kept_while) for name, one in profile.configured.plugins.items() if hasattr(one, "kept_while")
        ]
        self._stamps: dict[PodClass, list[object]] = {}

    def of(self, pod: PodInfo) -> ClassColumns:
        """The columns of the pod's class, up to date."""
        stamp = []
        for name, kept_while in self._kept_while:
            try:
                stamp.append(kept_while(pod))
            except BaseException as error:
                raise broken(name, "Filter", error) from error
        columns = self._columns.get(pod.pod_class)
        if columns is None or self._stamps[pod.pod_class] != stamp:
            self._stamps[pod.pod_class] = stamp
            columns = self._columns[pod.pod_class] = ClassColumns(self._profile, pod, self._nodes)
            while len(self._columns) > max(16, min(MOST_CLASSES, MOST_CELLS // self._nodes.capacity)):
                gone, _ = self._columns.popitem(last=False)
                del self._stamps[gone]
        else:
            self._columns.move_to_end(pod.pod_class)
        try:
            columns.catch_up()
        except PluginError:
            del self._columns[pod.pod_class], self._stamps[pod.pod_class]  # nothing half done is kept
            raise
        return columns


def _is_skip(answer: Status | NodeNames | None) -> bool:
    return isinstance(answer, Status) and answer.code is Code.SKIP
