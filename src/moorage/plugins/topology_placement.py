"""Where a group with a topology constraint may lie, and which of the places takes most of it."""

from collections.abc import Sequence

from moorage.columns import GroupInfo, PodInfo, Rows
from moorage.framework.domains import domains_for
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
        return domains_for(self._snapshot, group, key, rows)


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
