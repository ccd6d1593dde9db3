"""TaintToleration: keeps pods off tainted nodes, and prefers nodes without soft taints."""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config.gates import NODE_NAME_PRE_FILTER
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on, spec_of_pod
from moorage.framework.handle import Handle
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import Scope, Scores, Verdicts
from moorage.framework.status import Status, unresolvable
from moorage.objects import Node, Pod, Taint, Toleration
from moorage.values.taint import PREFER_NO_SCHEDULE, count_unpreferred, first_untolerated

UNTOLERATED = unresolvable("node(s) had untolerated taint(s)")


class TaintToleration:
    """Filter on NoSchedule and NoExecute taints; Score by the number of PreferNoSchedule taints not tolerated."""

    points_by_feature = MappingProxyType({NODE_NAME_PRE_FILTER: ("preFilter",)})
    default_weight = 3
    filter_scope = Scope.NODE
    score_scope = Scope.NODE
    normalize_scores = NormalizeByMax(reverse=True)

    def __init__(self, _args: Any, _handle: Handle) -> None: ...

    def pre_filter(self, _state: CycleState, _pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """Nothing to prepare: since 1.37 the point is there for bound pods that wait for a resize."""
        return None

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a node with a taint the pod does not tolerate."""
        return UNTOLERATED if first_untolerated(node.taints, pod.pod_class.tolerations) else None

    def filter_nodes(self, _state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same, judged once for each distinct set of taints."""

        def is_refused(taints: tuple[Taint, ...]) -> int:
            return first_untolerated(taints, pod.pod_class.tolerations) is not None

        return Verdicts(_by_taint_set(nodes, rows, is_refused), (UNTOLERATED,))

    def pre_score(self, _state: CycleState, _pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """Never skips: a cluster without soft taints still earns every node its 100."""
        return None

    def score(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """The number of soft taints the pod does not tolerate."""
        return count_unpreferred(node.taints, _soft(pod))

    def score_nodes(self, _state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The same, counted once for each distinct set of taints."""
        tolerations = _soft(pod)
        counts = _by_taint_set(nodes, rows, lambda taints: count_unpreferred(taints, tolerations))
        return counts.astype(np.int64)

    def events_to_register(self) -> Sequence[EventHint]:
        """A node whose taints the pod now tolerates; a toleration gained."""
        return (
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, self._after_node, reads=spec_of_pod),
            on(Resource.POD, Action.UPDATE_POD_TOLERATION, self._after_pod, reads=spec_of_pod),
        )

    def _after_node(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        def refuses(node: Node) -> bool:
            return first_untolerated(node.spec.taints, pod.pod_class.tolerations) is not None

        helps = new is not None and not refuses(new) and (old is None or refuses(old))
        return Hint.QUEUE if helps else Hint.SKIP

    def _after_pod(self, pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
        return Hint.QUEUE if new is not None and new.metadata.uid == pod.uid else Hint.SKIP


def _soft(pod: PodInfo) -> list[Toleration]:
    return [one for one in pod.pod_class.tolerations if one.effect in ("", PREFER_NO_SCHEDULE)]


def _by_taint_set(nodes: NodeTable, rows: Rows, judge: Callable[[tuple[Taint, ...]], int]) -> NDArray[np.intp]:
    answers = np.array([judge(taints) for taints in nodes.taint_sets], dtype=np.intp)
    found: NDArray[np.intp] = answers[nodes.taint_set[rows]]
    return found
