"""Coscheduling: gangs of scheduling.x-k8s.io, whose pods name them in a label.

It bears the name, the arguments and the places in a configuration of the plugin of the scheduler-plugins. What that
one does by letting members hold nodes while they wait, the engine does here by deciding a gang as one.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from moorage.columns import GroupInfo, PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.grouping import Progress
from moorage.framework.handle import Handle
from moorage.framework.points import PermitAnswer
from moorage.framework.status import Status, unresolvable, unschedulable, wait
from moorage.objects import LabelledPodGroup, Node, Struct
from moorage.plugins.gangs.quorum import Quorum
from moorage.values.requests import allocatable_amounts

_NAME: Final = "Coscheduling"
_NOT_YET: Final = wait("not as many members as are needed have a node yet")

NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Percentage = Annotated[int, msgspec.Meta(ge=0, le=100)]


class CoschedulingArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """`permitWaitingTimeSeconds` is the guard while members are bound; `podGroupBackoffSeconds` the least time between
    two attempts at a gang that did not fit. No member waits on a node for others, so that there are none to reject
    or to keep: `podGroupRejectPercentage` is read and has no effect.
    """

    api_version: str = ""
    kind: str = ""
    permit_waiting_time_seconds: NotNegative = 60
    pod_group_backoff_seconds: NotNegative = 0
    pod_group_reject_percentage: Percentage = 10


class Coscheduling:
    """QueueSort, PreEnqueue, PlacementFeasible, Permit."""

    args_type = CoschedulingArgs
    #: Where configurations name it, too, though the engine does there what it would have to.
    nominal_points = ("preFilter", "postFilter", "reserve")
    may_read = (LabelledPodGroup,)
    rights = (("scheduling.x-k8s.io", ["podgroups/status"], ["patch"]),)

    def __init__(self, args: CoschedulingArgs, handle: Handle) -> None:
        self._args = args
        self._snapshot = handle.snapshot
        self._quorum = Quorum(handle, _NAME, native=False)
        self._groups = self._quorum.groups
        #: The queue keeps to it.
        self.group_backoff_seconds = float(args.pod_group_backoff_seconds)

    def sort_key(self, pod: PodInfo, timestamp: float) -> Any:
        """By priority, then by when it came or was tried last. A gang is one in the queue."""
        return -pod.priority, timestamp, pod.namespace, pod.name

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keep members out until enough of them are there, scheduled or not."""
        path = self._quorum.path_of(pod)
        if not path:
            return None
        group = self._groups.get(path)
        if group is None:
            return unresolvable(f'waiting for PodGroup "{path.rpartition("/")[2]}" to be created')
        if self._quorum.is_there(group):
            return None
        there = len(self._groups.members(path).all)
        return unresolvable(f"waiting for pods of the gang to be created: {there} of {group.min_count} are there")

    def placement_feasible(self, group: GroupInfo, progress: Progress) -> Status | None:
        """Whether enough members have a node, or still can get one; and before the first whether minResources are
        there."""
        if not self._quorum.concerns(group):
            return None
        wanted = group.min_count or 0
        scheduled, remaining = progress
        if remaining + scheduled < wanted:
            return unschedulable(f"{wanted} members are needed: {scheduled} have a node, {remaining} are left to try")
        if not scheduled and (lacking := self._lacking(group)):
            return unschedulable(f"minResources are not there: {lacking}")
        return _NOT_YET if scheduled < wanted else None

    def _lacking(self, group: GroupInfo) -> str:
        """What the cluster as a whole lacks of minResources; "" where nothing."""
        assert isinstance(group.item, LabelledPodGroup), "of this API"
        wanted = allocatable_amounts(group.item.spec.min_resources)
        nodes = self._snapshot.nodes
        lacking = []
        for name, amount in wanted.items():
            free = int(nodes.resources.free(name).take(nodes.rows).clip(0).sum())
            if free < amount:
                lacking.append(f"{name} by {amount - free}")
        return ", ".join(lacking)

    def permit(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | PermitAnswer | None:
        """Hold members until enough of them have a node; then let go of all that are held."""
        path = self._quorum.path_of(pod)
        if not path:
            return None
        group = self._groups.get(path)
        if group is None:
            return unschedulable(f'PodGroup "{path.rpartition("/")[2]}" is gone')
        assert isinstance(group.item, LabelledPodGroup), "of this API"
        own = group.item.spec.schedule_timeout_seconds
        seconds = own if own is not None else self._args.permit_waiting_time_seconds
        return self._quorum.permit(group, float(seconds))

    def events_to_register(self) -> Sequence[EventHint]:
        """Siblings that come, and the group itself."""
        quorum = self._quorum
        return (
            on(Resource.UNSCHEDULED_POD, Action.ADD, quorum.after_pod, reads=quorum.root_path),
            on(Resource.ASSIGNED_POD, Action.ADD, quorum.after_pod, reads=quorum.root_path),
            on(LabelledPodGroup, Action.ADD, quorum.after_group, reads=quorum.root_path),
            on(LabelledPodGroup, Action.UPDATE, self._after_group_update, reads=quorum.root_path),
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._after_node, reads=quorum.root_path),
        )

    def _after_node(self, pod: PodInfo, _old: Node | None, new: Node | None) -> Hint:
        """The domains of a topology are those of its nodes."""
        group = self._groups.of(pod)
        asks = group is not None and (group.topology_required or group.topology_preferred)
        return Hint.QUEUE if asks and new is not None else Hint.SKIP

    def _after_group_update(self, pod: PodInfo, old: LabelledPodGroup | None, new: LabelledPodGroup | None) -> Hint:
        """It asks for something else now."""
        if new is None or old is None or not self._quorum.is_of(pod, new):
            return Hint.SKIP
        same = old.spec == new.spec and old.metadata.annotations == new.metadata.annotations
        return Hint.SKIP if same else Hint.QUEUE
