"""What plugins say of nodes a caller names: filter, prioritize and preempt, over the cluster as it is known here.

The plugins are those that run in-process, run by the same machinery. Nothing here changes anything but `promises`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moorage.columns import NodeInfo, PodInfo, Rows
from moorage.engine.asking import MAX_EXTENDER_SCORE, ChosenVictims, FilterAnswer
from moorage.engine.filtering import Search
from moorage.engine.runner import Runner
from moorage.errors import MoorageError
from moorage.extender.promises import Promises
from moorage.framework.points import MAX_SCORE, Scope
from moorage.framework.status import Code, Status

_PER_POINT = MAX_SCORE // MAX_EXTENDER_SCORE


class Crowded(MoorageError):
    """No node passes, and some only for room promised to pods whose binding is not seen yet: worth another try soon."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Victims a caller proposes for one node."""

    pods: Sequence[PodInfo]
    violations: int = 0


class Decider:
    """Runs one profile of plugins. `promises` is None where who binds decides, and filters promise nothing."""

    def __init__(self, runner: Runner, promises: Promises | None = None) -> None:
        self._runner = runner
        self._nodes = runner.snapshot.nodes
        self._filtering = runner.filtering
        self._weights = sum(one.weight for one in runner.compiled.scores)
        # A plugin that looks at the node object alone says the same whoever else is on the way there.
        looks_at_pods = any(one.scope is not Scope.NODE for one in runner.compiled.filters)
        self._promises = promises if looks_at_pods or runner.compiled.pre_filters else None

    # -------------------------------------------------------------------------------------------------------- filter

    def filter(self, pod: PodInfo, names: Sequence[str]) -> FilterAnswer:
        """Which of the nodes pass. Raises Crowded where only promises stand in the way, PluginError what breaks."""
        if self._promises is not None:
            self._promises.withdraw(pod.uid)
        rows, unknown = self._rows(names)
        failed = {name: f'node "{name}" not found' for name in unknown}
        unresolvable: dict[str, str] = {}
        search = self._filtering.begin(pod)
        passing: Rows = np.zeros(0, dtype=np.intp)
        if search.rejection is None:
            self._narrow(search, rows)
            passing = self._filtering.feasible(search)
        if len(passing) < len(rows):
            statuses = self._filtering.diagnose(search)
            for row in set(rows) - set(passing.tolist()):
                status = statuses.get(row)
                into = unresolvable if status and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE else failed
                into[self._nodes[row].name] = _text(status)
        passed = [self._nodes[row].name for row in passing.tolist()]
        if self._promises is not None and passed:
            passed = self._keep_promises(search, passed, failed)
            self._promises.give(pod, passed)
        return FilterAnswer(frozenset(passed), failed, unresolvable)

    def _narrow(self, search: Search, rows: Sequence[int]) -> None:
        """Look at no other nodes than those asked about."""
        if len(rows) < len(self._nodes):
            asked = frozenset(self._nodes[row].name for row in rows)
            search.narrowed = asked if search.narrowed is None else asked & search.narrowed

    def _keep_promises(self, search: Search, passed: Sequence[str], failed: dict[str, str]) -> list[str]:
        """Those that pass even if everybody comes who was told they may."""
        assert self._promises is not None
        kept = []
        for name in passed:
            coming = self._promises.on(name)
            status = self._with(search, name, coming) if coming else None
            if status is None:
                kept.append(name)
            else:
                failed[name] = f"{_text(status)} (counting pods on their way)"
        if not kept:
            raise Crowded("the room left is promised to pods that are being bound: try again")
        return kept

    def _with(self, search: Search, name: str, others: Iterable[PodInfo]) -> Status | None:
        node = self._nodes.get(name)
        assert node is not None, "it passed a moment ago"
        crowded, state = node.copy(), search.state.clone()
        for other in others:
            self._filtering.add_pod(state, search.pod, other.bound_to(name), crowded)
        return self._filtering.filter_with_nominated(state, search.pod, crowded)

    def refusal(self, pod: PodInfo, node_name: str) -> tuple[Search, Status | None]:
        """Whether this one node would take the pod, with what plugins remember of it for Reserve and what follows."""
        search = self._filtering.begin(pod)
        node = self._nodes.get(node_name)
        if search.rejection is not None or node is None:
            return search, search.rejection or Status(Code.UNSCHEDULABLE, (f'node "{node_name}" not found',))
        if search.narrowed is not None and node_name not in search.narrowed:
            return search, Status(Code.UNSCHEDULABLE, ("node(s) didn't satisfy " + ", ".join(search.narrowed_by),))
        return search, self._filtering.filter_with_nominated(search.state, pod, node)

    # ---------------------------------------------------------------------------------------------------- prioritize

    def prioritize(self, pod: PodInfo, names: Sequence[str]) -> dict[str, int]:
        """Scores of 0 to 10, of several plugins their weighted mean. Raises PluginError."""
        known, _ = self._rows(names)
        rows = np.array(sorted(known), dtype=np.intp)
        search = self._filtering.begin(pod)
        if search.rejection is not None or not len(rows) or self._runner.scoring.is_empty:
            return dict.fromkeys(names, 0)
        asked = self._runner.scoring.prepare(search, rows)
        totals = self._runner.scoring.totals(search, rows, asked)
        unit = self._weights * _PER_POINT
        scores = dict.fromkeys(names, 0)
        for row, total in zip(rows.tolist(), totals.tolist(), strict=True):
            scores[self._nodes[row].name] = (2 * total + unit) // (2 * unit)
        return scores

    # ------------------------------------------------------------------------------------------------------- preempt

    def preempt(self, pod: PodInfo, candidates: Mapping[str, Candidate]) -> dict[str, ChosenVictims]:
        """The nodes on which the pod passes once the victims are gone; with more victims where these do not do."""
        search = self._filtering.begin(pod)
        if search.rejection is not None:
            return {}
        left = {}
        for name, candidate in candidates.items():
            node = self._nodes.get(name)
            victims = self._victims(search, node, candidate.pods) if node is not None else None
            if victims:
                left[name] = ChosenVictims(tuple(victim.uid for victim in victims), candidate.violations)
        return left

    def _victims(self, search: Search, node: NodeInfo, proposed: Sequence[PodInfo]) -> list[PodInfo] | None:
        """The victims proposed and, if those are not enough, the least important others; None where none are."""
        filtering, pod = self._filtering, search.pod
        state, copy = search.state.clone(), node.copy()
        for victim in proposed:
            filtering.remove_pod(state, pod, victim, copy)
        if filtering.filter_with_nominated(state, pod, copy) is None:
            return list(proposed)
        others = [other for other in copy.pods.values() if other.priority < pod.priority]
        for other in others:
            filtering.remove_pod(state, pod, other, copy)
        if filtering.filter_with_nominated(state, pod, copy) is not None:
            return None
        more = []
        for other in sorted(others, key=lambda one: (-one.priority, one.started)):
            filtering.add_pod(state, pod, other, copy)
            if filtering.filter_with_nominated(state, pod, copy) is not None:
                filtering.remove_pod(state, pod, other, copy)
                more.append(other)
        return [*proposed, *more]

    def _rows(self, names: Iterable[str]) -> tuple[list[int], list[str]]:
        rows, unknown = [], []
        for name in dict.fromkeys(names):
            node = self._nodes.get(name)
            if node is None:
                unknown.append(name)
            else:
                rows.append(node.row)
        return rows, unknown


def _text(status: Status | None) -> str:
    return status.message if status is not None else "refused"
