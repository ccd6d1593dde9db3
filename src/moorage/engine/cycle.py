"""One pod's scheduling cycle, told once: for live decisions, explanations, dry runs and simulations alike.

    begin         PreFilter
    find          the node preemption promised the pod, if it fits: then nothing else is looked at;
                  otherwise Filter, then the extenders that filter
    choose        Score, the extenders that prioritize, and one of the best by the attempt's own chance
    fail          nothing fits: why, and whether preemption helps (PostFilter)

A cycle changes nothing. Where an extender has to be asked that has not answered yet it ends in the question.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from moorage.columns import PodInfo, Rows
from moorage.engine.asking import Answers, Question, Unanswered
from moorage.engine.filtering import Search
from moorage.engine.inquiry import Extra, Inquiry, Stale
from moorage.engine.lifting import OutOfRange
from moorage.engine.outcome import Failure, Placement
from moorage.engine.runner import Runner
from moorage.engine.sampling import sample, visited_rows, wanted_nodes
from moorage.engine.scoring import best_rows
from moorage.errors import ExtenderError, PluginError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses, fit_message
from moorage.framework.points import Nomination, PostFilterAnswer, Scores
from moorage.framework.status import Code

NO_NODES = "no nodes available to schedule pods"
EXTENDER = "Extender"
"""Who is to blame where extenders refused nodes: lifted by any event, since nobody knows what they look at."""

_SUCCESS, _REFUSED = Code.SUCCESS.label, Code.UNSCHEDULABLE.label

_NO_ROWS: Rows = np.zeros(0, dtype=np.intp)


class Witness(Protocol):
    """Whoever wants to know everything a cycle finds, even what it can do without."""

    def saw(self, cycle: "Cycle", rows: Rows, scores: Mapping[str, Scores], totals: Scores) -> None:
        """These rows fit; this is what each plugin and extender thinks of them."""


class Cycle:
    """A pod on its way to a node."""

    def __init__(
        self,
        runner: Runner,
        pod: PodInfo,
        answers: Answers,
        witness: Witness | None = None,
        *,
        within: Rows | None = None,
        makes_room: bool = True,
    ) -> None:
        """`within`: the only rows that are looked at. Without `makes_room` PostFilter is left out."""
        self.pod = pod
        self.runner = runner
        self._answers = answers
        self._witness = witness
        self._within = within
        self._makes_room = makes_room
        self._nodes = runner.snapshot.nodes
        self._search: Search | None = None
        self._inquiry: Inquiry | None = None
        #: The rows the search looked at, where it found enough before the end.
        self._visited: Rows | None = None
        #: Whether the node promised to the pod was taken, without a look at the others.
        self.took_promise = False
        self._next_start: int | None = None

    @property
    def search(self) -> Search:
        """What PreFilter left; only after `begin`."""
        assert self._search is not None, "begin() was not called"
        return self._search

    def run(self) -> Question | Placement | Failure:
        """The whole cycle. What a plugin or an extender breaks ends in a Failure that names it."""
        while True:
            try:
                return self._run()
            except Unanswered as unanswered:
                return unanswered.question
            except Stale:
                self._answers = self._answers.afresh()
            except (PluginError, ExtenderError) as error:
                return self._broken(error)

    def _run(self) -> Placement | Failure:
        if not len(self._nodes):
            return self.no_nodes()
        self._meet_extenders()
        if self.runner.timing is not None:
            self.runner.timing.begin_cycle()
        handle = self.runner.profile.handle
        handle.enter_cycle(self._inquiry)
        self.runner.chance.enter(self._answers.seed)
        try:
            if not self.begin():
                return self.fail()
            if self._is_simple():
                return self._choose_ranked()
            timing = self.runner.timing
            began = timing.clock() - self.search.seconds if timing is not None else 0.0
            rows = self._find()
            if timing is not None:
                timing.ran("Filter", _SUCCESS if len(rows) else _REFUSED, began)
            return self._choose(rows) if len(rows) else self.fail()
        finally:
            self.runner.chance.leave()
            handle.leave_cycle()

    def _meet_extenders(self) -> None:
        self._inquiry = None
        if self.runner.extenders:  # asked about anew where an earlier round went stale
            inquiry = Inquiry(self.pod, self.runner.extenders, self._nodes, self._answers)
            self._inquiry = None if inquiry.is_empty else inquiry
        self._visited, self._next_start, self.took_promise = None, self._answers.next_start, False

    # ------------------------------------------------------------------------------------------------- finding nodes

    def begin(self) -> bool:
        """Run PreFilter; False where it refused the pod."""
        self._search = self.runner.filtering.begin(self.pod)
        self._search.within = self._within
        return self._search.rejection is None

    def reach(self, node_name: str) -> CycleState:
        """Filter this one node for the sake of what plugins remember of it; the state for Reserve and what follows."""
        node = self._nodes.get(node_name)
        if node is not None:
            self.runner.filtering.fits(self.search, node)
        return self.search.state

    def _is_simple(self) -> bool:
        """Whether the columns kept for the pod's class hold the answer already."""
        return (
            self._witness is None
            and self._inquiry is None
            and self._within is None
            and self.runner.filtering.is_simple(self.search)
            and not self.pod.pod.status.nominated_node_name
            and self._wanted(len(self._nodes)) >= len(self._nodes)
        )

    def _wanted(self, nodes: int) -> int:
        percentage = self.runner.profile.percentage_of_nodes_to_score
        return wanted_nodes(nodes, percentage, adaptive=bool(self.runner.extenders))

    def _find(self) -> Rows:
        """The rows the pod may go to: the promised one alone if it fits, else as many as the profile wants scored."""
        promised = self._promised_rows()
        if len(promised):
            self.took_promise = True
            return promised
        rows = self._sampled(self.runner.filtering.feasible(self.search))
        return rows if self._inquiry is None else self._allowed(self._inquiry, rows)

    def _promised_rows(self) -> Rows:
        """The row of the node promised to the pod, if it fits there now, extenders included."""
        node = self._nodes.get(self.pod.pod.status.nominated_node_name)
        if node is None or (self._within is not None and node.row not in self._within):
            return _NO_ROWS
        if not self.runner.filtering.fits(self.search, node):
            return _NO_ROWS
        if self._inquiry is not None and not self._is_allowed(self._inquiry, node.name, node.row):
            return _NO_ROWS
        return np.array([node.row], dtype=np.intp)

    def _is_allowed(self, inquiry: Inquiry, node_name: str, row: int) -> bool:
        try:
            allowed = inquiry.filter([node_name], is_promised=True)
        except ExtenderError:
            return False  # as in kube-scheduler: all nodes are looked at instead
        if not allowed and node_name in inquiry.refusals:
            self.search.broken_promise = (row, inquiry.refusals.pop(node_name))
        return bool(allowed)

    def _sampled(self, rows: Rows) -> Rows:
        searched = self.runner.filtering.candidates(self.search)
        nodes = len(self._nodes) if self._within is None else len(self._within)
        if self._inquiry is not None and self._inquiry.has_begun:
            # The sample was taken when the question was asked: nodes that were not in it are out.
            if self._next_start is not None:
                self._visited = visited_rows(searched, self._answers.start, self._next_start, nodes)
            return rows
        found = sample(rows, searched, self._wanted(len(searched)), self._answers.start, nodes)
        if found is None:
            return rows
        self._visited, self._next_start = found.visited, found.next_start
        if self._inquiry is not None:
            self._inquiry.next_start = found.next_start
        return found.rows

    def _allowed(self, inquiry: Inquiry, rows: Rows) -> Rows:
        """Those of the rows that extenders allow."""
        if not len(rows):
            return rows
        names = self._names(rows)
        return self._rows_of(inquiry.filter(names), names, rows)

    def _names(self, rows: Rows) -> list[str]:
        infos = self._nodes.infos
        return [infos[row].name for row in rows.tolist()]

    def _rows_of(self, left: list[str], names: list[str], rows: Rows) -> Rows:
        """The rows of the names that are left of those that stand in `rows`."""
        if left is names:
            return rows
        row_of = self._nodes.row_of
        return np.array([row_of[name] for name in left], dtype=np.intp)

    # ----------------------------------------------------------------------------------------------------- choosing

    def _choose(self, rows: Rows) -> Placement:
        """Score the rows that fit and take one of the best."""
        extra: Extra | None = None
        if self._inquiry is not None and len(rows) > 1:
            names = self._names(rows)
            extra = self._inquiry.prioritize(names)
            rows = self._rows_of(extra.nodes, names, rows)
        if len(rows) == 1 and self._witness is None:
            return self._placed(int(rows[0]), 1)
        totals = self._totals(rows, {} if extra is None else extra.scores)
        best = best_rows(rows, totals)
        if extra is not None and extra.named is not None:
            # Nodes that some extender spoke of win a tie against those that none did.
            spoken_of = rows[(totals == totals.max()) & extra.named]
            best = spoken_of if len(spoken_of) else best
        return self._placed(self._one_of(best), len(rows))

    def _totals(self, rows: Rows, added: Mapping[str, Scores]) -> Scores:
        """The weighted scores of plugins, and what extenders add. For a witness each is worked out by itself."""
        scoring = self.runner.scoring
        if len(rows) == 1:
            return self._told_alone(rows)
        asked = [] if scoring.is_empty else scoring.prepare(self.search, rows)
        if self._witness is None:
            totals = (
                np.zeros(len(rows), dtype=np.int64) if scoring.is_empty else scoring.totals(self.search, rows, asked)
            )
            return sum(added.values(), totals)
        scores = {**scoring.by_plugin(self.search, rows), **added}
        totals = sum(scores.values(), np.zeros(len(rows), dtype=np.int64))
        self._witness.saw(self, rows, scores, totals)
        return totals

    def _told_alone(self, rows: Rows) -> Scores:
        """The score of the only node that fits: it makes no difference, so one that cannot be right does no harm."""
        totals = np.zeros(1, dtype=np.int64)
        assert self._witness is not None, "one node alone is not scored"
        try:
            self.runner.scoring.prepare(self.search, rows)
            scores = self.runner.scoring.by_plugin(self.search, rows)
        except OutOfRange:
            scores = {}
        totals = sum(scores.values(), totals)
        self._witness.saw(self, rows, scores, totals)
        return totals

    def _choose_ranked(self) -> Placement | Failure:
        """The quick way: the kept filters alone decided, and the kept scores are ranked already."""
        columns = self.search.columns
        rows = columns.first_rows()
        timing = self.runner.timing
        if timing is not None:
            timing.ran("Filter", _SUCCESS if len(rows) else _REFUSED, timing.clock() - self.search.seconds)
        if not len(rows):
            return self._fail_as_before()
        if len(rows) == 1 or self.runner.scoring.is_empty:
            return self._choose(rows)
        asked = self.runner.scoring.prepare(self.search, rows)
        if asked:
            row = self._one_of(best_rows(rows, self.runner.scoring.totals(self.search, rows, asked)))
        else:
            row = columns.scores.one_of_the_best(columns.stages[0].passing, self._answers.seed)
        return self._placed(row, len(rows))

    def _one_of(self, rows: Rows) -> int:
        return int(rows[self._answers.seed * len(rows) >> 64])

    def _placed(self, row: int, feasible: int) -> Placement:
        name = self._nodes.infos[row].name
        return Placement(self.pod, name, self.search.state, feasible, self._next_start, self._unasked())

    def _unasked(self) -> tuple[str, ...]:
        return () if self._inquiry is None else tuple(self._inquiry.unasked)

    # ------------------------------------------------------------------------------------------------------ failing

    def no_nodes(self) -> Failure:
        """There is nothing to search: retried on a timer, no plugin is to blame."""
        return Failure(self.pod, NO_NODES, nomination=Nomination(""))

    def _broken(self, error: PluginError | ExtenderError) -> Failure:
        return Failure(
            self.pod,
            str(error),
            is_error=True,
            nomination=Nomination(""),
            error=error,
            next_start=self._next_start,
            unasked=self._unasked(),
        )

    def diagnose(self) -> NodeStatuses:
        """Why each node that was looked at does not fit, in the words of the first plugin or the extender."""
        statuses = self.runner.filtering.diagnose(self.search, visited=self._visited)
        for name, status in self._inquiry.refusals.items() if self._inquiry is not None else ():
            node = self._nodes.get(name)
            if node is not None:
                statuses.assign(node.row, status)
        return statuses

    def fail(self) -> Failure:
        """Say why no node fits, and whether preemption can make one fit."""
        search = self.search
        statuses = self.diagnose()
        rejection = search.rejection
        message = fit_message(len(statuses.rows), statuses.histogram(), rejection.message if rejection else "")
        plugins = statuses.plugins() | search.blamed
        if self._inquiry is not None and self._inquiry.has_refused:
            plugins.add(EXTENDER)
        if rejection is not None and rejection.plugin:
            plugins.add(rejection.plugin)
        answer = self._post_filter(statuses)
        return Failure(
            self.pod,
            message,
            post_filter_message=answer.status.message if answer.status is not None else "",
            plugins=frozenset(plugins),
            pending=frozenset(statuses.plugins(Code.PENDING)),
            nomination=answer.nomination,
            effect=answer.effect,
            deallocated=answer.deallocated,
            pre_filter=rejection,
            statuses=statuses,
            cycle_state=search.state,
            next_start=self._next_start,
            unasked=self._unasked(),
        )

    def _fail_as_before(self) -> Failure:
        """The kept filters alone refused every node: until something they saw is touched, the next one fails alike."""
        if not self._makes_room:
            return self.fail()
        columns, until = self.search.columns, self.runner.post_filter_until(self.pod)
        key = (columns.revision, id(self._nodes.rows), until)
        if until is not None and columns.last_failure is not None and columns.last_failure[0] == key:
            known: Failure = columns.last_failure[1]
            return replace(known, pod=self.pod, cycle_state=self.search.state)
        failure = self.fail()
        has_room = failure.nomination is not None and failure.nomination.node_name
        # The rows are held with the failure, so that no other array takes their id.
        columns.last_failure = None if has_room else (key, failure)
        return failure

    def _post_filter(self, statuses: NodeStatuses) -> PostFilterAnswer:
        """What PostFilter makes of it."""
        if not self._makes_room:
            return PostFilterAnswer(None)
        if not self.runner.compiled.post_filters:
            return PostFilterAnswer(None, Nomination(""))
        answer = self.runner.post_filter(self.search.state, self.pod, statuses)
        if self._inquiry is not None:
            self._inquiry.insist()
        return answer
