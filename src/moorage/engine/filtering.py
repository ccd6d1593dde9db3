"""PreFilter and Filter for one pod: which nodes fit, and why the others do not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows, Snapshot
from moorage.engine.kept import ClassColumns, KeptClasses
from moorage.engine.lifting import NodeFilter
from moorage.engine.profiles import CompiledProfile
from moorage.framework.answers import blame, broken, check_nothing, verdict
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.points import NodeNames, PreFilterExtensions, Scope
from moorage.framework.status import SKIP, Code, Status, unresolvable

_NOTHING_KEPT: Final[Mapping[str, Status | NodeNames | None]] = {}


@dataclass(slots=True)
class Search:
    """One pod's search for a node, between PreFilter and the end of Filter."""

    pod: PodInfo
    state: CycleState
    columns: ClassColumns
    #: Why PreFilter ended the search, if it did.
    rejection: Status | None = None
    #: Nodes that PreFilter narrowed the search to, and who did; None for all.
    narrowed: frozenset[str] | None = None
    narrowed_by: list[str] = field(default_factory=list)
    #: What is said of the other nodes, where a plugin says it.
    narrowed_because: str = ""
    #: The rows that count at all; None for all there are.
    within: Rows | None = None
    #: How long kept filters took, where that is measured.
    seconds: float = 0.0
    #: The node promised to the pod is looked at before all others: its row and why it was refused.
    broken_promise: tuple[int, Status] | None = None

    @property
    def blamed(self) -> set[str]:
        """The plugins known to stand in the way before all nodes are looked at."""
        refused = self.broken_promise[1].plugin if self.broken_promise is not None else ""
        return {*self.narrowed_by, refused} - {""}


class Filtering:
    """Runs the PreFilter and Filter plugins of a profile."""

    def __init__(self, profile: CompiledProfile, snapshot: Snapshot) -> None:
        self._profile = profile
        self._snapshot = snapshot
        self._nodes: NodeTable = snapshot.nodes
        self._classes = KeptClasses(profile, snapshot.nodes)
        kept = {one.name for one in profile.filters if one.is_kept}
        self._asked_pre_filters = [one for one in profile.pre_filters if one.name not in kept]
        self._node_filters = [one for one in profile.filters if one.scope is Scope.NODE]
        self._extensions = [one for one in profile.pre_filters if isinstance(one.plugin, PreFilterExtensions)]

    # --------------------------------------------------------------------------------------------------- PreFilter

    def begin(self, pod: PodInfo) -> Search:
        """Run PreFilter. The search may be over already: see `rejection`."""
        timing = self._profile.timing
        began = timing.clock() if timing is not None else 0.0
        columns = self._classes.of(pod)
        search = Search(pod, CycleState(columns.state), columns)
        if timing is not None:
            # The verdicts and scores that were kept have been brought up to date.
            asked = timing.clock()
            search.seconds = asked - began
        skipped = set(columns.skipped_filters)
        kept = _NOTHING_KEPT if columns.is_plain else columns.pre_filter_answers
        for one in self._asked_pre_filters if columns.is_plain else self._profile.pre_filters:
            if kept and one.name in kept:
                answer = kept[one.name]
            else:
                try:
                    answer = one.plugin.pre_filter(search.state, pod, self._nodes)
                except BaseException as error:
                    raise broken(one.name, "PreFilter", error) from error
            if answer is None:
                continue
            if answer is SKIP:
                skipped.add(one.name)
                continue
            if isinstance(answer, NodeNames):
                self._narrow(search, one.name, answer)
            elif (status := verdict(one.name, one.plugin, "PreFilter", answer)) is None:
                continue
            elif status.code is Code.SKIP:
                skipped.add(one.name)
            else:
                search.rejection = status
            if search.rejection is not None and search.rejection.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                break
        search.state.skipped_filters = frozenset(skipped)
        if timing is not None and self._asked_pre_filters:
            timing.status("PreFilter", search.rejection, asked)
        return search

    def columns_of(self, pod: PodInfo) -> ClassColumns:
        """What is kept for the pod's class, up to date, as `begin` finds it."""
        return self._classes.of(pod)

    def _narrow(self, search: Search, plugin: str, answer: NodeNames) -> None:
        search.narrowed_by.append(plugin)
        search.narrowed = answer.names if search.narrowed is None else search.narrowed & answer.names
        search.narrowed_because = search.narrowed_because or answer.reason
        if not search.narrowed and search.rejection is None:
            by = sorted(search.narrowed_by)
            text = f"plugin(s) [{' '.join(by)}] simultaneously" if len(by) > 1 else f"plugin {by[0]}"
            search.rejection = unresolvable(f"node(s) didn't satisfy {text}")

    # ------------------------------------------------------------------------------------------------------ Filter

    def is_simple(self, search: Search) -> bool:
        """Whether the kept filters alone decide: nothing narrowed, nobody nominated, no filter to ask."""
        if search.narrowed is not None or len(self._snapshot.nominations):
            return False
        unless_skipped = search.columns.unless_skipped
        return unless_skipped is not None and unless_skipped <= search.state.skipped_filters

    def feasible(self, search: Search) -> Rows:
        """The rows of the nodes that fit, ascending."""
        first, *stages = search.columns.stages
        if search.narrowed is None and first.asked is None and search.within is None:
            rows = search.columns.first_rows()
        else:
            rows, stages = self.candidates(search), search.columns.stages
        promised = self._promised_rows(search.pod)
        for stage in stages:
            if stage.asked is None:
                rows = rows[stage.passing[rows]]
            elif len(rows) and stage.asked.name not in search.state.skipped_filters:
                rows = stage.asked.fitting(search.state, search.pod, self._nodes, rows)
        if promised:
            rows = np.array([row for row in rows.tolist() if self._fits_promised(search, row, promised)], dtype=np.intp)
        return rows

    def fits(self, search: Search, node: NodeInfo) -> bool:
        """Whether the node promised to the pod fits."""
        refusal = self.filter_with_nominated(search.state, search.pod, node)
        search.broken_promise = None if refusal is None else (node.row, refusal)
        return refusal is None

    def diagnose(self, search: Search, visited: Rows | None = None) -> NodeStatuses:
        """Why each node does not fit: the first filter that refused it, in running order.

        `visited` are the rows that were looked at, where those were not all.
        """
        every = self._nodes.rows if search.within is None else search.within
        if search.rejection is not None:
            return NodeStatuses(every, absent=search.rejection)
        absent = None
        if search.narrowed is not None:
            by = " ".join(sorted(search.blamed))
            absent = unresolvable(search.narrowed_because or f"node(s) didn't satisfy plugin(s) [{by}]")
        statuses = NodeStatuses(every, absent)
        if search.broken_promise is not None:
            statuses.assign(*search.broken_promise)
        rows = self.candidates(search)
        if visited is not None:
            rows = np.intersect1d(rows, visited, assume_unique=True)
        for row in self._promised_rows(search.pod) & set(rows.tolist()):
            status = self.filter_with_nominated(search.state, search.pod, self._nodes[row])
            if status is not None:
                statuses.assign(row, status)
            rows = rows[rows != row]
        for stage in search.columns.stages:
            if stage.asked is None:
                for kept in stage.kept:
                    rows = self._record(statuses, rows, kept.filter, kept.codes[rows].astype(np.intp))
            elif len(rows) and stage.asked.name not in search.state.skipped_filters:
                codes = stage.asked.many(search.state, search.pod, self._nodes, rows)
                rows = self._record(statuses, rows, stage.asked, codes)
        return statuses

    def _record(self, statuses: NodeStatuses, rows: Rows, filter_: NodeFilter, codes: Rows) -> Rows:
        refused = codes != 0
        if refused.any():
            statuses.assign_all(rows[refused], codes[refused], filter_.statuses)
            rows = rows[~refused]
        return rows

    def candidates(self, search: Search) -> Rows:
        """The rows that are searched, ascending: all, or those that PreFilter narrowed the search to."""
        if search.narrowed is None:
            return self._nodes.rows if search.within is None else search.within
        found = (self._nodes.get(name) for name in search.narrowed)
        rows = np.array(sorted(node.row for node in found if node is not None), dtype=np.intp)
        return rows if search.within is None else np.intersect1d(rows, search.within, assume_unique=True)

    # ------------------------------------------------------------------------------------------------ nominated pods

    def _promised_rows(self, pod: PodInfo) -> set[int]:
        """Rows promised to other pods of at least the same priority."""
        rows = set()
        for name in self._snapshot.nominations.nodes():
            node = self._nodes.get(name)
            if node is not None and self._promised_to(pod, name):
                rows.add(node.row)
        return rows

    def _promised_to(self, pod: PodInfo, node_name: str) -> list[PodInfo]:
        return [
            other
            for other in self._snapshot.nominations.on(node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def _fits_promised(self, search: Search, row: int, promised: set[int]) -> bool:
        if row not in promised:
            return True
        return self.filter_with_nominated(search.state, search.pod, self._nodes[row]) is None

    # ------------------------------------------------------------------------------- one node: FilterRunner of Handle

    def filter_with_nominated(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """The verdict on one node: first with the pods promised it, then (they may never come) without them."""
        promised = self._promised_to(pod, node.name) if len(self._snapshot.nominations) else []
        if promised:
            crowded, crowded_state = node.copy(), state.clone()
            for other in promised:
                self.add_pod(crowded_state, pod, other, crowded)
            refusal = self._filter_one(crowded_state, pod, crowded)
            if refusal is not None:
                return refusal
        return self._filter_one(state, pod, node)

    def _filter_one(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        for one in self._profile.filters:
            if one.name not in state.skipped_filters:
                refusal = one.one(state, pod, self._nodes, node)
                if refusal is not None:
                    return refusal
        return None

    def needs_alone(self, state: CycleState) -> Mapping[str, int] | None:
        """What must be free on a node for the pod to fit, if other pods matter in no other way; None if they do."""
        needs: dict[str, int] = {}
        for one in self._profile.filters:
            if one.name in state.skipped_filters or one.scope is Scope.NODE:
                continue
            if one.needs is None:
                return None
            with blame(one.name, "Filter"):
                needs.update(one.needs(state))
        return needs

    def suits(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:
        """Whether the node object itself is fine and nobody else of importance was promised the node."""
        if len(self._snapshot.nominations) and self._promised_to(pod, node.name):
            return False
        return all(
            one.one(state, pod, self._nodes, node) is None
            for one in self._node_filters
            if one.name not in state.skipped_filters
        )

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Add a pod to a copied node and tell the plugins."""
        node.add_pod(added)
        self.tell_added(state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Remove a pod from a copied node and tell the plugins."""
        node.remove_pod(removed)
        self.tell_removed(state, pod, removed, node)

    def tell_added(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Tell the plugins of a pod that now counts on a node."""
        for one in self._extensions:
            if one.name not in state.skipped_filters:
                with blame(one.name, "AddPod"):
                    check_nothing(one.name, one.plugin, "AddPod", one.plugin.add_pod(state, pod, added, node))

    def tell_removed(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Tell the plugins of a pod that counts on a node no more."""
        for one in self._extensions:
            if one.name not in state.skipped_filters:
                with blame(one.name, "RemovePod"):
                    check_nothing(one.name, one.plugin, "RemovePod", one.plugin.remove_pod(state, pod, removed, node))
