"""NodeAffinity: nodeSelector, required and preferred node affinity, and what the profile adds to them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.columns.selecting import matching_affinity, matching_any_term, matching_term
from moorage.config.args import NodeAffinityArgs
from moorage.errors import InputError
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on, spec_of_pod
from moorage.framework.handle import Handle
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import NodeNames, Scope, Scores, Verdicts
from moorage.framework.status import SKIP, Status, error, unresolvable
from moorage.objects import Node, NodeSelectorTerm
from moorage.values.nodeselector import Term, TermSelector, compile_preferred, required_terms

NOT_ENFORCED = unresolvable("node(s) didn't match scheduler-enforced node affinity")
NOT_MATCHED = unresolvable("node(s) didn't match Pod's node affinity/selector")
CONFLICT = unresolvable("pod affinity terms conflict")

_STATE = "NodeAffinity"


@dataclass(frozen=True, slots=True)
class _Wishes:
    """Preferred terms with their weights, the profile's and the pod's."""

    terms: tuple[tuple[int, Term], ...]


class NodeAffinity:
    """Filter on required affinity; Score by the weights of the preferred terms that match."""

    args_type = NodeAffinityArgs
    default_weight = 2
    filter_scope = Scope.NODE
    score_scope = Scope.NODE
    normalize_scores = NormalizeByMax()

    def __init__(self, args: NodeAffinityArgs, _handle: Handle) -> None:
        added = args.added_affinity
        self._enforced: TermSelector | None = required_terms(added)
        self._added_wishes = (
            compile_preferred(added.preferred_during_scheduling_ignored_during_execution) if added else ()
        )

    def pre_filter(self, _state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | NodeNames | None:
        """Skip without requirements; narrow to the named nodes where every alternative names some."""
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        if required is None and not pod.spec.node_selector and self._enforced is None:
            return SKIP
        if required is None or not required.node_selector_terms:
            return None
        named = [_named_nodes(term) for term in required.node_selector_terms]
        names: set[str] = set()
        for one in named:
            if one is None:
                return None
            names |= one
        return NodeNames(frozenset(names)) if names else CONFLICT

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a node outside the profile's or the pod's own requirements."""
        if self._enforced is not None and not self._enforced.matches(node.name, node.labels):
            return NOT_ENFORCED
        return None if pod.pod_class.node_affinity.matches(node.name, node.labels) else NOT_MATCHED

    def filter_nodes(self, _state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same by label columns."""
        codes = np.zeros(len(rows), dtype=np.intp)
        codes[~matching_affinity(nodes, pod.pod_class.node_affinity, rows)] = 2
        if self._enforced is not None:
            codes[~matching_any_term(nodes, self._enforced.terms, rows)] = 1
        return Verdicts(codes, (NOT_ENFORCED, NOT_MATCHED))

    def pre_score(self, state: CycleState, pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """Skip where neither the pod nor the profile prefers anything."""
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        wanted = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        if not wanted and not self._added_wishes:
            return SKIP
        try:
            wishes = compile_preferred(wanted)
        except InputError as bad:
            return error(bad.problem)
        state.write(_STATE, _Wishes(self._added_wishes + wishes))
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """The weights of the matching terms added up."""
        wishes: _Wishes = state.read(_STATE)
        return sum(weight for weight, term in wishes.terms if term.matches(node.name, node.labels))

    def score_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The same by label columns."""
        wishes: _Wishes = state.read(_STATE)
        scores = np.zeros(len(rows), dtype=np.int64)
        for weight, term in wishes.terms:
            scores[matching_term(nodes, term, rows)] += weight
        return scores

    def events_to_register(self) -> Sequence[EventHint]:
        """A node that matches, and did not before."""
        return (on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._after_node, reads=spec_of_pod),)

    def _after_node(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        if new is None:
            return Hint.SKIP
        name, labels = new.metadata.name, new.metadata.labels
        wanted = pod.pod_class.node_affinity
        if self._enforced is not None and not self._enforced.matches(name, labels):
            return Hint.SKIP
        matched_before = old is not None and wanted.matches(name, old.metadata.labels)
        return Hint.QUEUE if wanted.matches(name, labels) and not matched_before else Hint.SKIP


def _named_nodes(term: NodeSelectorTerm) -> set[str] | None:
    """The names an alternative is limited to by metadata.name In; None where it is not."""
    names: set[str] | None = None
    for item in term.match_fields:
        if item.key == "metadata.name" and item.operator == "In":
            names = set(item.values) if names is None else names & set(item.values)
    return names
