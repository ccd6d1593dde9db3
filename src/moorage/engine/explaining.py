"""From a cycle to a Decision: every refusal, every score, worked out in full."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from moorage.columns import PodInfo, Rows
from moorage.engine.asking import Answers
from moorage.engine.cycle import Cycle
from moorage.engine.decision import Decision, Preemption
from moorage.engine.outcome import Failure, Placement
from moorage.engine.runner import Runner
from moorage.framework.answers import blame
from moorage.framework.cycle_state import CycleState
from moorage.framework.points import Explaining, Scores
from moorage.framework.status import Status

#: Nodes whose refusal is gone into.
_MOST_EXPLAINED = 100


@dataclass(slots=True)
class _Notes:
    """What the cycle found on its way to a node: its Witness."""

    names: list[str] = field(default_factory=list)
    rejected: dict[str, Status] = field(default_factory=dict)
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    best: tuple[str, ...] = ()

    def saw(self, cycle: Cycle, rows: Rows, scores: Mapping[str, Scores], totals: Scores) -> None:
        """These rows fit: write down how good each is, and why the others do not."""
        nodes = cycle.runner.snapshot.nodes
        names = self.names = [nodes[row].name for row in rows.tolist()]
        if not cycle.took_promise:
            self.rejected = {nodes[row].name: status for row, status in cycle.diagnose().own()}
        self.scores = {name: {p: int(s[i]) for p, s in scores.items()} for i, name in enumerate(names)}
        self.totals = dict(zip(names, totals.tolist(), strict=True))
        self.best = tuple(sorted(names[i] for i in np.flatnonzero(totals == totals.max()).tolist()))


def explain(runner: Runner, pod: PodInfo, answers: Answers) -> Decision:
    """Run a cycle and keep everything it looked at. Changes nothing; extenders that did not answer are left out."""
    notes = _Notes()
    outcome = Cycle(runner, pod, replace(answers, may_ask=False), notes).run()
    if isinstance(outcome, Failure):
        return _refused(runner, outcome)
    assert isinstance(outcome, Placement), "nothing may be asked"
    return Decision(
        pod.key,
        feasible=tuple(sorted(notes.names)),
        rejected=notes.rejected,
        why_not=_why_not(runner, pod, outcome.state, notes.rejected),
        scores=notes.scores,
        totals=notes.totals,
        best=notes.best,
        chosen=notes.best[0],
        unasked=outcome.unasked,
    )


def _why_not(
    runner: Runner, pod: PodInfo, state: CycleState | None, rejected: Mapping[str, Status]
) -> dict[str, Sequence[Mapping[str, Any]]]:
    """What plugins can tell of the nodes they refused; of the first few by name, for it takes time."""
    told: dict[str, Sequence[Mapping[str, Any]]] = {}
    for name, status in sorted(rejected.items()):
        plugin = runner.profile.plugins.get(status.plugin)
        node = runner.snapshot.nodes.get(name)
        if state is not None and node is not None and isinstance(plugin, Explaining) and len(told) < _MOST_EXPLAINED:
            with blame(status.plugin, "Filter"):
                if reasons := plugin.why_not(state, pod, node):
                    told[name] = reasons
    return told


def _refused(runner: Runner, failure: Failure) -> Decision:
    if failure.is_error:
        return Decision(failure.pod.key, message=failure.message, error=failure.error, unasked=failure.unasked)
    nodes = runner.snapshot.nodes
    rejected = {nodes[row].name: status for row, status in failure.statuses.own()} if failure.statuses else {}
    preemption = None
    if runner.compiled.post_filters and failure.statuses is not None:
        nomination = failure.nomination
        if nomination is not None and nomination.node_name:
            # Who is going already is not evicted again.
            evicted = (victim for victim in nomination.victims if not victim.pod.is_terminating)
            victims = tuple(sorted(victim.key for victim in evicted))
            preemption = Preemption(nomination.node_name, victims, deallocated=failure.deallocated)
        else:
            preemption = Preemption("", (), failure.post_filter_message, failure.deallocated)
    return Decision(
        failure.pod.key,
        rejected=rejected,
        why_not=_why_not(runner, failure.pod, failure.cycle_state, rejected),
        message=failure.message,
        pre_filter=failure.pre_filter,
        preemption=preemption,
        unasked=failure.unasked,
    )
