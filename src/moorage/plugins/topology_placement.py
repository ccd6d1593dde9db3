"""Where a group with a topology constraint may lie, and which of the places takes most of it."""

from collections.abc import Sequence

import numpy as np

from moorage.columns import GroupInfo, PodInfo, Rows
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.grouping import Assignment, Domain
from moorage.framework.handle import Handle
from moorage.framework.points import MAX_SCORE
from moorage.framework.status import Status, error
from moorage.objects import Node


class TopologyPlacementGenerator:
    """PlacementGenerate: a place for each value of the node label that the group names."""

    def __init__(self, _args: object, handle: Handle) -> None:
        self._snapshot = handle.snapshot

    def events_to_register(self) -> Sequence[EventHint]:
        """Domains are those of the nodes there are."""
        return (on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._after_node),)

    def _after_node(self, pod: PodInfo, _old: Node | None, new: Node | None) -> Hint:
        chain = self._snapshot.groups.chain(self._snapshot.groups.path_of(pod))
        return Hint.QUEUE if new is not None and any(one.topology_required for one in chain) else Hint.SKIP

    def generate_placements(self, group: GroupInfo, rows: Rows) -> Sequence[Domain] | Status:
        """Nodes without the label are in none. Members that are scheduled already fix the value."""
        key = group.topology_required
        if not key:
            return [Domain("", rows)]
        groups, nodes = self._snapshot.groups, self._snapshot.nodes
        scheduled = [pod for leaf in groups.leaves(group.path) for pod in groups.members(leaf.path).scheduled.values()]
        fixed = self._domain_of(key, scheduled)
        if isinstance(fixed, Status):
            return fixed
        found: dict[str, list[int]] = {}
        for row in rows.tolist():
            value = nodes[row].labels.get(key)
            if value is not None and fixed in (None, value):
                found.setdefault(value, []).append(row)
        return [Domain(value, np.array(found[value], dtype=np.intp)) for value in sorted(found)]

    def _domain_of(self, key: str, pods: Sequence[PodInfo]) -> str | Status | None:
        """The one value that these pods lie in; None where there are none."""
        domain: str | None = None
        for pod in pods:
            node = self._snapshot.nodes.get(pod.spec.node_name)
            value = node.labels.get(key) if node is not None else None
            if value is None:
                return _undecided(f"no topology domain found for pod {pod.key}")
            if domain is not None and value != domain:
                return _undecided(f"more than 1 domain found for pod group: {domain}, {value}")
            domain = value
        return domain


class PodGroupPodsCount:
    """PlacementScore: the more of the group a place takes the better."""

    def __init__(self, _args: object, handle: Handle) -> None:
        self._groups = handle.snapshot.groups

    def score_placement(self, group: GroupInfo, _domain: Domain, assignments: Sequence[Assignment]) -> int:
        """How many members would have a node."""
        leaves = self._groups.leaves(group.path)
        return sum(len(self._groups.members(leaf.path).scheduled) for leaf in leaves) + len(assignments)

    def normalize_placement_scores(self, scores: Sequence[int]) -> list[int] | Status:
        """The fullest place scores 100."""
        most = max(scores)
        if not most:
            return error("no pods from pod group are assigned to any of the candidate placements")
        return [score * MAX_SCORE // most for score in scores]


def _undecided(problem: str) -> Status:
    return error(f"cannot determine domain for already scheduled pods: {problem}")
