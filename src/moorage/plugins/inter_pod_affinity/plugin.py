"""The plugin: finds the plan for a pod and asks it."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.columns.counts import CountTables
from moorage.columns.recent import RecentlyUsed
from moorage.config.args import InterPodAffinityArgs
from moorage.config.gates import ANY_ANTI_AFFINITY_WAKES, NAMESPACE_SELECTORS_UNROLLED
from moorage.errors import InputError
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.points import Scores, Verdicts
from moorage.framework.status import SKIP, Status, error, unresolvable
from moorage.objects import Namespace, Node, Pod
from moorage.plugins.inter_pod_affinity import hints
from moorage.plugins.inter_pod_affinity.filtering import FilterPlan, FilterState
from moorage.plugins.inter_pod_affinity.rules import STATUSES
from moorage.plugins.inter_pod_affinity.scoring import ScorePlan, normalize

_FILTER_STATE = "PreFilterInterPodAffinity"
_SCORE_STATE = "PreScoreInterPodAffinity"

P = TypeVar("P")


class InterPodAffinity:
    """Required terms filter, preferred ones score; those of pods already there count as well."""

    args_type = InterPodAffinityArgs
    default_weight = 2
    skips_alike = True
    reads = (Namespace,)

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        self._hard_weight = args.hard_pod_affinity_weight
        self._ignores_preferred_of_existing = args.ignore_preferred_terms_of_existing_pods
        self._unrolled = NAMESPACE_SELECTORS_UNROLLED in handle.features
        self._any_wakes = ANY_ANTI_AFFINITY_WAKES in handle.features
        self._snapshot = handle.snapshot
        self._tables = CountTables(handle.snapshot.nodes)
        self._namespaces_version = -1
        self._filter_plans: RecentlyUsed[FilterPlan] = RecentlyUsed(handle.snapshot.nodes)
        self._score_plans: RecentlyUsed[ScorePlan] = RecentlyUsed(handle.snapshot.nodes)

    # ------------------------------------------------------------------------------------------------------ filtering

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Status | None:
        """Bring the counts up to date; skip where neither the pod nor any other has a required term that matters."""
        if pod.affinity_class is None and not nodes.held_terms.has_anti_affinity:
            return SKIP
        try:
            plan = self._plan(self._filter_plans, pod, self._make_filter_plan)
        except InputError as bad:
            return unresolvable(f"parsing pod: {bad}")
        plan.refresh()
        if plan.is_idle:
            return SKIP
        state.write(_FILTER_STATE, FilterState(plan, nodes))
        return None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a node that is far from what the pod wants or near what it, or another pod, does not."""
        required: FilterState = state.read(_FILTER_STATE)
        return required.verdict(node.labels)

    def filter_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows."""
        required: FilterState = state.read(_FILTER_STATE)
        return Verdicts(nodes.pick(required.row_codes(), rows).astype(np.intp), STATUSES)

    def add_pod(self, state: CycleState, _pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Count a pod that a dry run adds."""
        required: FilterState = state.read(_FILTER_STATE)
        required.change(added, node, 1)

    def remove_pod(self, state: CycleState, _pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Stop counting a pod that a dry run removes."""
        required: FilterState = state.read(_FILTER_STATE)
        required.change(removed, node, -1)

    # -------------------------------------------------------------------------------------------------------- scoring

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeTable, _rows: Rows) -> Status | None:
        """Bring the weights up to date; skip where no term adds to any score."""
        if pod.affinity_class is None and not nodes.held_terms.has_scored:
            return SKIP
        if self._ignores_preferred_of_existing and not _has_preferred_terms(pod):
            return SKIP
        try:
            plan = self._plan(self._score_plans, pod, self._make_score_plan)
        except InputError as bad:
            return error(f"failed to parse pod: {bad}")
        plan.refresh()
        if plan.is_idle:
            return SKIP
        state.write(_SCORE_STATE, plan)
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """The weights of the terms that speak for the node, less those against it."""
        plan: ScorePlan = state.read(_SCORE_STATE)
        return plan.score(node.labels)

    def score_nodes(self, state: CycleState, _pod: PodInfo, _nodes: NodeTable, rows: Rows) -> Scores:
        """The same for many rows."""
        plan: ScorePlan = state.read(_SCORE_STATE)
        return plan.scores(rows)

    def normalize_scores(self, _state: CycleState, _pod: PodInfo, scores: Scores, _rows: Rows) -> Scores:
        """From the lowest to the highest score."""
        return normalize(scores)

    # --------------------------------------------------------------------------------------------------------- events

    def events_to_register(self) -> Sequence[EventHint]:
        """Pods with a node, and nodes."""
        return (
            on(
                Resource.POD,
                Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE,
                self._after_pod,
                reads=_terms_and_labels,
            ),
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._after_node, reads=_terms_and_labels),
        )

    def _after_pod(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        try:
            return hints.after_pod(pod, old, new, any_wakes=self._any_wakes)
        except InputError:
            return Hint.QUEUE  # the next cycle says what is wrong with the pod

    def _after_node(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        try:
            return hints.after_node(pod, old, new)
        except InputError:
            return Hint.QUEUE  # the next cycle says what is wrong with the pod

    # ---------------------------------------------------------------------------------------------------------- plans

    def _plan(self, plans: RecentlyUsed[P], pod: PodInfo, make: Callable[[PodInfo], P]) -> P:
        """The plan of pods like this one."""
        version = self._snapshot.objects.version(Namespace)
        if self._namespaces_version != version:
            self._namespaces_version = version
            self._filter_plans.clear()
            self._score_plans.clear()
        return plans.get((pod.affinity_class, pod.label_group), make, pod)

    def _make_filter_plan(self, pod: PodInfo) -> FilterPlan:
        return FilterPlan(pod, self._snapshot, self._tables, unrolled=self._unrolled)

    def _make_score_plan(self, pod: PodInfo) -> ScorePlan:
        return ScorePlan(pod, self._snapshot, self._tables, self._hard_weight, unrolled=self._unrolled)


def _has_preferred_terms(pod: PodInfo) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and any(
        one is not None and one.preferred_during_scheduling_ignored_during_execution
        for one in (affinity.pod_affinity, affinity.pod_anti_affinity)
    )


def _terms_and_labels(pod: PodInfo) -> Hashable:
    """What the hints read of a waiting pod."""
    return pod.affinity_class, pod.label_group
