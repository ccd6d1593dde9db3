"""The plugin: finds the plan for a pod and asks it."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.columns.counts import CountTables
from moorage.columns.recent import RecentlyUsed
from moorage.config.args import PodTopologySpreadArgs
from moorage.errors import InputError
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.points import Scores, Verdicts
from moorage.framework.status import SKIP, Status, error
from moorage.objects import Node, Pod, ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.plugins.topology_spread import hints
from moorage.plugins.topology_spread.constraints import HARD, SOFT, Constraint, compile_constraints
from moorage.plugins.topology_spread.defaults import SYSTEM_DEFAULTS, DefaultSelectors
from moorage.plugins.topology_spread.hard import HardPlan, HardState
from moorage.plugins.topology_spread.soft import SoftPlan, SoftState

_FILTER_STATE = "PreFilterPodTopologySpread"
_SCORE_STATE = "PreScorePodTopologySpread"

_encode = msgspec.msgpack.Encoder().encode


class PodTopologySpread:
    """Keeps matching pods evenly spread: hard constraints filter, soft ones score."""

    args_type = PodTopologySpreadArgs
    default_weight = 2
    skips_alike = True
    reads = (ReplicaSet, ReplicationController, Service, StatefulSet)

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._is_system_defaulted = args.defaulting_type == "System"
        self._defaults = SYSTEM_DEFAULTS if self._is_system_defaulted else args.default_constraints
        self._has_default = {
            action: any(one.when_unsatisfiable == action for one in self._defaults) for action in (HARD, SOFT)
        }
        self._nodes = handle.snapshot.nodes
        self._selectors = DefaultSelectors(handle.snapshot.objects)
        self._tables = CountTables(handle.snapshot.nodes)
        self._hard_plans: RecentlyUsed[HardPlan | None] = RecentlyUsed(handle.snapshot.nodes)
        self._soft_plans: RecentlyUsed[SoftPlan | None] = RecentlyUsed(handle.snapshot.nodes)

    # ------------------------------------------------------------------------------------------------------ filtering

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Status | None:
        """Bring the counts of the hard constraints up to date; skip where there are none."""
        try:
            plan = self._hard_plan(pod)
        except InputError as bad:
            return error(f"get constraints from pod: obtaining pod's hard topology spread constraints: {bad}")
        if plan is None:
            return SKIP
        plan.refresh(self._tables)
        state.write(_FILTER_STATE, HardState(plan, nodes))
        return None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a node without the label, or in a domain that holds too many already."""
        hard: HardState = state.read(_FILTER_STATE)
        return hard.verdict(node.labels)

    def filter_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows."""
        hard: HardState = state.read(_FILTER_STATE)
        return Verdicts(nodes.pick(hard.row_codes(), rows).astype(np.intp), hard.plan.statuses)

    def add_pod(self, state: CycleState, _pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Count a pod that a dry run adds."""
        hard: HardState = state.read(_FILTER_STATE)
        hard.change(added, node, 1)

    def remove_pod(self, state: CycleState, _pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Stop counting a pod that a dry run removes."""
        hard: HardState = state.read(_FILTER_STATE)
        hard.change(removed, node, -1)

    # -------------------------------------------------------------------------------------------------------- scoring

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Status | None:
        """Bring the counts of the soft constraints up to date; skip where there are none."""
        try:
            plan = self._soft_plan(pod)
        except InputError as bad:
            return error(f"calculating preScoreState: obtaining pod's soft topology spread constraints: {bad}")
        if plan is None:
            return SKIP
        plan.refresh(nodes, self._tables)
        state.write(_SCORE_STATE, SoftState(plan, nodes, rows))
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """How many matching pods the node's domains hold, weighted; to be turned round."""
        soft: SoftState = state.read(_SCORE_STATE)
        return soft.score(node)

    def score_nodes(self, state: CycleState, _pod: PodInfo, _nodes: NodeTable, rows: Rows) -> Scores:
        """The same for many rows."""
        soft: SoftState = state.read(_SCORE_STATE)
        return soft.scores(rows)

    def normalize_scores(self, state: CycleState, _pod: PodInfo, scores: Scores, rows: Rows) -> Scores:
        """The emptiest domains best."""
        soft: SoftState = state.read(_SCORE_STATE)
        return soft.normalize(scores, rows)

    # --------------------------------------------------------------------------------------------------------- events

    def events_to_register(self) -> Sequence[EventHint]:
        """Pods that count and nodes that take part."""
        pod_actions = Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
        node_actions = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            on(Resource.POD, pod_actions, self._after_pod, reads=_spreading),
            on(Resource.NODE, node_actions, self._after_node, reads=_spreading),
        )

    def _after_pod(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        try:
            return hints.after_pod(pod, self._hard_constraints(pod), old, new)
        except InputError:
            return Hint.QUEUE  # the next cycle says what is wrong with the pod

    def _after_node(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        try:
            return hints.after_node(self._hard_constraints(pod), old, new)
        except InputError:
            return Hint.QUEUE  # the next cycle says what is wrong with the pod

    # ---------------------------------------------------------------------------------------------------------- plans

    def _hard_constraints(self, pod: PodInfo) -> Sequence[Constraint]:
        plan = self._hard_plan(pod)
        return plan.constraints if plan is not None else ()

    def _hard_plan(self, pod: PodInfo) -> HardPlan | None:
        if not pod.spec.topology_spread_constraints and not self._has_default[HARD]:
            return None
        return self._hard_plans.get(self._kind_of(pod), self._make_hard_plan, pod)

    def _soft_plan(self, pod: PodInfo) -> SoftPlan | None:
        if not pod.spec.topology_spread_constraints and not (
            self._has_default[SOFT] and not self._selectors.of(pod).selector.is_empty
        ):
            return None
        return self._soft_plans.get(self._kind_of(pod), self._make_soft_plan, pod)

    def _kind_of(self, pod: PodInfo) -> Hashable:
        """What pods must have in common to share a plan."""
        own = pod.spec.topology_spread_constraints
        return (pod.pod_class, pod.label_group, _encode(own) if own else self._selectors.of(pod))

    def _make_hard_plan(self, pod: PodInfo) -> HardPlan | None:
        constraints = self._constraints(pod, HARD)
        return HardPlan(constraints, pod, self._nodes, self._tables) if constraints else None

    def _make_soft_plan(self, pod: PodInfo) -> SoftPlan | None:
        constraints = self._constraints(pod, SOFT)
        require_all = bool(pod.spec.topology_spread_constraints) or not self._is_system_defaulted
        return SoftPlan(constraints, pod, self._nodes, self._tables, require_all=require_all) if constraints else None

    def _constraints(self, pod: PodInfo, action: str) -> list[Constraint]:
        """The pod's own constraints or, where it has none at all, the defaults."""
        own = pod.spec.topology_spread_constraints
        if own:
            return compile_constraints(own, action, pod.labels)
        selector = self._selectors.of(pod).selector
        if selector.is_empty:
            return []
        return [replace(one, selector=selector) for one in compile_constraints(self._defaults, action, pod.labels)]


def _spreading(pod: PodInfo) -> Hashable:
    """What the hints read of a waiting pod; where it has no constraints its owner decides which are the default."""
    own = pod.spec.topology_spread_constraints
    return pod.label_group, _encode(own) if own else pod.pod.metadata.owner_references
