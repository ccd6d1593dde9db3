"""DynamicResources: registered so that configurations naming it load. Device claims are not supported yet.

A pod without claims passes as it does in kube-scheduler. A pod with claims is refused, never placed wrongly.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config.args import DynamicResourcesArgs
from moorage.config.gates import SILENT_CLAIM_POST_FILTER
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import PostFilterAnswer, Scope, Scores
from moorage.framework.status import SKIP, Status, error, unresolvable, unschedulable
from moorage.objects import Pod

UNSUPPORTED = unresolvable("pod uses resource claims, which moorage does not support yet")
NOTHING_TO_DEALLOCATE = unschedulable("no new claims to deallocate")

_STATE = "DynamicResources"


class DynamicResources:
    """Refuses pods with resource claims; has no opinion on others."""

    args_type = DynamicResourcesArgs
    default_weight = 2
    score_scope = Scope.NODE
    normalize_scores = NormalizeByMax()

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._nothing_done = unschedulable() if SILENT_CLAIM_POST_FILTER in handle.features else NOTHING_TO_DEALLOCATE

    def pre_enqueue(self, _pod: PodInfo) -> Status | None:
        """Claims are judged at PreFilter, where the reason is shown."""
        return None

    def pre_filter(self, state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """Skip without claims."""
        state.write(_STATE, True)
        return UNSUPPORTED if pod.spec.resource_claims else SKIP

    def filter(self, _state: CycleState, _pod: PodInfo, _node: NodeInfo) -> Status | None:
        """Nothing to check: PreFilter skipped or refused."""
        return None

    def post_filter(self, state: CycleState, _pod: PodInfo, _statuses: NodeStatuses) -> PostFilterAnswer:
        """As in kube-scheduler an error ("not found") where an earlier plugin ended PreFilter before this one ran."""
        if state.get(_STATE) is None:
            return PostFilterAnswer(error("not found"))
        return PostFilterAnswer(self._nothing_done)

    def post_filter_until(self, pod: PodInfo) -> Hashable | None:
        """There is never anything to do for a pod without claims."""
        return None if pod.spec.resource_claims else ()

    def score(self, _state: CycleState, _pod: PodInfo, _node: NodeInfo) -> int:
        """Every node is as good as any other."""
        return 0

    def score_nodes(self, _state: CycleState, _pod: PodInfo, _nodes: NodeTable, rows: Rows) -> Scores:
        """The same for many."""
        return np.zeros(len(rows), dtype=np.int64)

    def reserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        """No claims, nothing to reserve."""
        return None

    def unreserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        """No claims, nothing to give back."""

    def pre_bind(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        """No claims, nothing to write."""
        return None

    def events_to_register(self) -> Sequence[EventHint]:
        """Nothing makes a pod with claims schedulable but losing them."""
        return (on(Resource.POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self._after_pod),)

    def _after_pod(self, pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
        own = new is not None and new.metadata.uid == pod.uid
        return Hint.QUEUE if own and new and not new.spec.resource_claims else Hint.SKIP
