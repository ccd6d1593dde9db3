"""From a cycle to a Decision: every refusal, every score, worked out in full."""

import numpy as np

from moorage.columns import PodInfo, Rows
from moorage.engine.cycle import Cycle
from moorage.engine.decision import Decision, Preemption
from moorage.engine.outcome import Failure
from moorage.engine.runner import Runner
from moorage.errors import PluginError
from moorage.framework.status import Status


def explain(runner: Runner, cycle: Cycle) -> Decision:
    """Run the cycle and keep everything it looked at. Changes nothing in the cluster."""
    try:
        return _explain(runner, cycle)
    except PluginError as error:
        return Decision(cycle.pod.key, message=str(error), error=error)


def _explain(runner: Runner, cycle: Cycle) -> Decision:
    if not len(runner.snapshot.nodes):
        return _refused(runner, cycle.pod, cycle.no_nodes())
    if not cycle.begin():
        return _refused(runner, cycle.pod, cycle.fail())
    rows = cycle.promised_rows()
    promised = len(rows) > 0
    if not promised:
        rows = cycle.feasible_rows()
    if not len(rows):
        return _refused(runner, cycle.pod, cycle.fail())
    return _scored(runner, cycle, rows, promised=promised)


def _scored(runner: Runner, cycle: Cycle, rows: Rows, *, promised: bool) -> Decision:
    nodes = runner.snapshot.nodes
    names = [nodes[row].name for row in rows.tolist()]
    runner.scoring.prepare(cycle.search, rows)
    by_plugin = runner.scoring.by_plugin(cycle.search, rows)
    total = np.zeros(len(rows), dtype=np.int64)
    for scores in by_plugin.values():
        total += scores
    scores_of = {name: {p: int(s[i]) for p, s in by_plugin.items()} for i, name in enumerate(names)}
    best = tuple(sorted(names[i] for i in np.flatnonzero(total == total.max()).tolist()))
    rejected = {} if promised else _rejected(runner, cycle)
    return Decision(
        cycle.pod.key,
        feasible=tuple(sorted(names)),
        rejected=rejected,
        scores=scores_of,
        totals=dict(zip(names, total.tolist(), strict=True)),
        best=best,
        chosen=best[0],
    )


def _rejected(runner: Runner, cycle: Cycle) -> dict[str, Status]:
    statuses = runner.filtering.diagnose(cycle.search)
    return {runner.snapshot.nodes[row].name: status for row, status in statuses.own()}


def _refused(runner: Runner, pod: PodInfo, failure: Failure) -> Decision:
    nodes = runner.snapshot.nodes
    rejected = {nodes[row].name: status for row, status in failure.statuses.own()} if failure.statuses else {}
    preemption = None
    if runner.profile.post_filters and failure.statuses is not None:
        nomination = failure.nomination
        if nomination is not None and nomination.node_name:
            victims = tuple(sorted(victim.key for victim in nomination.victims))
            preemption = Preemption(nomination.node_name, victims)
        else:
            preemption = Preemption("", (), failure.post_filter_message)
    return Decision(
        pod.key, rejected=rejected, message=failure.message, pre_filter=failure.pre_filter, preemption=preemption
    )
