"""One pod's scheduling cycle, step by step.

    begin            PreFilter
    promised_rows    the node preemption promised the pod, if it fits: then nothing else is looked at
    feasible_rows    Filter
    (the host asks extenders here)
    choose           Score, and a random one of the best
    fail             nothing fits: why, and whether preemption helps (PostFilter)

`run` does all of it where no extender is involved.
"""

from random import Random

import numpy as np

from moorage.columns import PodInfo, Rows
from moorage.engine.outcome import Failure, Placement
from moorage.engine.runner import Runner
from moorage.engine.sampling import Sampling
from moorage.errors import PluginError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses, fit_message
from moorage.framework.filtering import Search
from moorage.framework.points import Nomination, Scores
from moorage.framework.scoring import best_rows, one_of_the_best
from moorage.framework.status import Code

NO_NODES = "no nodes available to schedule pods"


class Cycle:
    """A pod on its way to a node."""

    def __init__(self, runner: Runner, pod: PodInfo, random: Random, sampling: Sampling) -> None:
        self.pod = pod
        self._runner = runner
        self._random = random
        self._sampling = sampling
        self._nodes = runner.snapshot.nodes
        self._search: Search | None = None

    @property
    def search(self) -> Search:
        """What PreFilter left; only after `begin`."""
        assert self._search is not None, "begin() was not called"
        return self._search

    def run(self) -> Placement | Failure:
        """The whole cycle. What a plugin breaks ends in a Failure that names it."""
        try:
            return self._run()
        except PluginError as error:
            return Failure(self.pod, str(error), is_error=True, nomination=Nomination(""))

    def _run(self) -> Placement | Failure:
        if not len(self._nodes):
            return self.no_nodes()
        if not self.begin():
            return self.fail()
        if self._is_simple():
            return self._choose_ranked()
        rows = self.promised_rows()
        if not len(rows):
            rows = self.feasible_rows()
        return self.choose(rows) if len(rows) else self.fail()

    # ------------------------------------------------------------------------------------------------- finding nodes

    def begin(self) -> bool:
        """Run PreFilter; False where it refused the pod."""
        self._search = self._runner.filtering.begin(self.pod)
        return self._search.rejection is None

    def promised_rows(self) -> Rows:
        """The row of the node promised to the pod, if it fits there now."""
        node = self._nodes.get(self.pod.pod.status.nominated_node_name)
        if node is not None and self._runner.filtering.fits(self.search, node):
            return np.array([node.row], dtype=np.intp)
        return np.zeros(0, dtype=np.intp)

    def reach(self, node_name: str) -> CycleState:
        """Filter this one node for the sake of what plugins remember of it; the state for Reserve and what follows."""
        node = self._nodes.get(node_name)
        if node is not None:
            self._runner.filtering.fits(self.search, node)
        return self.search.state

    def feasible_rows(self) -> Rows:
        """The rows of the nodes that fit, or of as many as the profile wants scored."""
        rows = self._runner.filtering.feasible(self.search)
        return self._sampling.sample(rows, self._nodes.rows, self._runner.profile.percentage_of_nodes_to_score)

    def _is_simple(self) -> bool:
        """Whether the columns kept for the pod's class hold the answer already."""
        return (
            self._runner.filtering.is_simple(self.search)
            and not self.pod.pod.status.nominated_node_name
            and not 1 <= self._runner.profile.percentage_of_nodes_to_score <= 99
        )

    # ----------------------------------------------------------------------------------------------------- choosing

    def choose(self, rows: Rows, bonus: Scores | None = None) -> Placement:
        """Score the rows that fit and take one of the best; `bonus` is what extenders add."""
        if len(rows) == 1:
            return self._placed(int(rows[0]), 1)
        if self._runner.scoring.is_empty and bonus is None:
            return self._placed(self._one_of(rows), len(rows))
        asked = self._runner.scoring.prepare(self.search, rows)
        totals = self._runner.scoring.totals(self.search, rows, asked)
        if bonus is not None:
            totals = totals + bonus
        return self._placed(self._one_of(best_rows(rows, totals)), len(rows))

    def _choose_ranked(self) -> Placement | Failure:
        """The quick way: the kept filters alone decided, and the kept scores are ranked already."""
        columns = self.search.columns
        rows = columns.first_rows()
        if not len(rows):
            return self.fail()
        if len(rows) == 1 or self._runner.scoring.is_empty:
            return self.choose(rows)
        asked = self._runner.scoring.prepare(self.search, rows)
        if asked:
            row = self._one_of(best_rows(rows, self._runner.scoring.totals(self.search, rows, asked)))
        else:
            ranked = columns.scores.ranked(columns.stages[0].passing)
            row = one_of_the_best(ranked[: len(self._nodes.infos)], self._random)
        return self._placed(row, len(rows))

    def _one_of(self, rows: Rows) -> int:
        return int(rows[0] if len(rows) == 1 else rows[self._random.randrange(len(rows))])

    def _placed(self, row: int, feasible: int) -> Placement:
        return Placement(self.pod, self._nodes.infos[row].name, self.search.state, feasible)

    # ------------------------------------------------------------------------------------------------------ failing

    def no_nodes(self) -> Failure:
        """There is nothing to search: retried on a timer, no plugin is to blame."""
        return Failure(self.pod, NO_NODES, nomination=Nomination(""))

    def fail(self, statuses: NodeStatuses | None = None, extra_plugins: frozenset[str] = frozenset()) -> Failure:
        """Say why no node fits, and whether preemption can make one fit."""
        search = self.search
        if statuses is None:
            statuses = self._runner.filtering.diagnose(search)
        rejection = search.rejection
        message = fit_message(len(self._nodes), statuses.histogram(), rejection.message if rejection else "")
        plugins = statuses.plugins() | search.blamed | extra_plugins
        if rejection is not None and rejection.plugin:
            plugins.add(rejection.plugin)
        nomination: Nomination | None = Nomination("")
        post_filter_message = ""
        if self._runner.profile.post_filters:
            answer = self._runner.post_filter(search.state, self.pod, statuses)
            nomination = answer.nomination
            post_filter_message = answer.status.message if answer.status is not None else ""
        return Failure(
            self.pod,
            message,
            post_filter_message=post_filter_message,
            plugins=frozenset(plugins),
            pending=frozenset(statuses.plugins(Code.PENDING)),
            nomination=nomination,
            pre_filter=rejection,
            statuses=statuses,
        )
