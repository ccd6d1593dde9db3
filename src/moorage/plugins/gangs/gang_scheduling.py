"""GangScheduling: gangs of scheduling.k8s.io, as kube-scheduler has them."""

from collections.abc import Sequence
from typing import Final

from moorage.columns import GroupInfo, PodInfo
from moorage.config.gates import COMPOSITE_POD_GROUP, GENERIC_WORKLOAD, POD_GROUPS_BETA, QUEUED_POD_GROUPS
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.grouping import Progress
from moorage.framework.handle import Handle
from moorage.framework.points import PermitAnswer
from moorage.framework.status import Status, error, unresolvable, unschedulable, wait
from moorage.objects import CompositePodGroup, KubeObject, PodGroup, PodGroupAlpha
from moorage.plugins.gangs.quorum import Quorum, tree_words

PERMIT_SECONDS: Final = 300.0
_TOO_FEW = unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")


class GangScheduling:
    """PreEnqueue, PlacementFeasible, Permit."""

    #: The kinds to follow: those of the version.
    reads: tuple[type[KubeObject], ...] = ()
    rights = (("scheduling.k8s.io", ["podgroups/status"], ["patch"]),)

    def __init__(self, _args: object, handle: Handle) -> None:
        features = handle.features
        self._nests = COMPOSITE_POD_GROUP in features
        self._is_queued = QUEUED_POD_GROUPS in features
        self._quorum = Quorum(handle, "GangScheduling", native=True, nests=self._nests)
        self._groups = self._quorum.groups
        if GENERIC_WORKLOAD in features:
            self.reads = (PodGroup if POD_GROUPS_BETA in features else PodGroupAlpha,)
            if self._nests:
                self.reads = (*self.reads, CompositePodGroup)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keep members out until enough of them are there, scheduled or not."""
        path = self._quorum.path_of(pod)
        if not path:
            return None
        group = self._groups.get(path)
        if group is None:
            name = path.rpartition("/")[2]
            return unresolvable(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')
        if not group.parent:
            is_basic = group.min_count is None and not self._nests
            return None if is_basic or self._quorum.is_there(group) else _TOO_FEW
        root = self._groups.root_of(path)
        if root is None:
            return unresolvable("failed to build hierarchy snapshot: a composite pod group was not found")
        return None if self._quorum.is_there(root) else unresolvable(tree_words(root))

    def placement_feasible(self, group: GroupInfo, progress: Progress) -> Status | None:
        """Whether enough members have a node, or still can get one."""
        if not self._quorum.concerns(group):
            return None
        wanted = 1 if group.min_count is None else group.min_count
        scheduled, remaining = progress
        counts = f"{scheduled} scheduled, {remaining} remaining"
        if remaining + scheduled < wanted:
            return unschedulable(f"minCount ({wanted}) cannot be satisfied: {counts}")
        if scheduled < wanted:
            return wait(f"minCount ({wanted}) is not yet satisfied: {counts}")
        return None

    def permit(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | PermitAnswer | None:
        """Hold members until enough of them have a node; then let go of all that are held."""
        path = self._quorum.path_of(pod)
        if not path:
            return None
        group = self._groups.get(path)
        if group is None:
            name = path.rpartition("/")[2]
            return error(f'failed to get podGroup {pod.namespace}/{name}: podgroup "{name}" not found')
        root = self._groups.root_of(path)
        if root is None:
            return error(f"failed to build hierarchy snapshot: a group above {group.key} was not found")
        if root is group and group.min_count is None:
            return None
        return self._quorum.permit(root, PERMIT_SECONDS)

    def events_to_register(self) -> Sequence[EventHint]:
        """Siblings that come, and the group itself."""
        quorum = self._quorum
        if not self._is_queued:
            return (
                on(Resource.POD, Action.ADD, quorum.after_pod, reads=quorum.root_path),
                on(Resource.POD_GROUP, Action.ADD, quorum.after_group, reads=quorum.root_path),
            )
        events = [
            on(Resource.UNSCHEDULED_POD, Action.ADD, quorum.after_pod, reads=quorum.root_path),
            on(Resource.ASSIGNED_POD, Action.ADD, quorum.after_pod, reads=quorum.root_path),
            on(Resource.POD_GROUP, Action.ADD, quorum.after_group, reads=quorum.root_path),
            on(Resource.POD_GROUP, Action.UPDATE, self._after_group_update, reads=quorum.root_path),
        ]
        if self._nests:
            events.append(on(Resource.COMPOSITE_POD_GROUP, Action.ADD, quorum.after_group, reads=quorum.root_path))
        return tuple(events)

    def _after_group_update(self, pod: PodInfo, old: PodGroup | None, new: PodGroup | None) -> Hint:
        """Fewer members are enough now."""
        if new is None or old is None or not self._quorum.is_of(pod, new):
            return Hint.SKIP
        before, after = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
        if before is None or after is None or after.min_count >= before.min_count:
            return Hint.SKIP
        return Hint.QUEUE
