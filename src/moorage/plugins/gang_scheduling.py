"""GangScheduling: members of a gang wait for each other, and are placed together or not at all."""

from collections.abc import Iterator, Sequence
from typing import Final

from moorage.columns import GroupInfo, PodInfo
from moorage.columns.groups import Members
from moorage.config.gates import COMPOSITE_POD_GROUP, QUEUED_POD_GROUPS
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.grouping import Progress
from moorage.framework.handle import Handle
from moorage.framework.points import PermitAnswer
from moorage.framework.status import Status, error, unresolvable, unschedulable, wait
from moorage.objects import KubeObject, Pod, PodGroup

PERMIT_SECONDS: Final = 300.0
_TOO_FEW = unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
_WAIT = wait("waiting for minCount pods from a gang to be scheduled")


class GangScheduling:
    """PreEnqueue, PlacementFeasible, Permit."""

    def __init__(self, _args: object, handle: Handle) -> None:
        self._handle = handle
        self._groups = handle.snapshot.groups
        self._nests = COMPOSITE_POD_GROUP in handle.features
        self._pod_kinds = QUEUED_POD_GROUPS in handle.features

    # Enough members.

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keep members out until enough of them are there, scheduled or not."""
        path = self._groups.path_of(pod)
        if not path:
            return None
        group = self._groups.get(path)
        if group is None:
            name = path.rpartition("/")[2]
            return unresolvable(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')
        if not group.parent:
            needs_one = self._nests and group.min_count is None
            wanted = 1 if needs_one else group.min_count or 0
            return None if len(self._groups.members(path).all) >= wanted else _TOO_FEW
        root = self._groups.root_of(path)
        if root is None:
            return unresolvable("failed to build hierarchy snapshot: a composite pod group was not found")
        return None if self._is_ready(root, assumed=False) else unresolvable(_tree(root))

    def placement_feasible(self, group: GroupInfo, progress: Progress) -> Status | None:
        """Whether enough members have a node, or still can get one."""
        wanted = 1 if group.min_count is None else group.min_count
        scheduled, remaining = progress
        counts = f"{scheduled} scheduled, {remaining} remaining"
        if remaining + scheduled < wanted:
            return unschedulable(f"minCount ({wanted}) cannot be satisfied: {counts}")
        if scheduled < wanted:
            return wait(f"minCount ({wanted}) is not yet satisfied: {counts}")
        return None

    # Enough of them with a node.

    def permit(self, _state: CycleState, pod: PodInfo, _node_name: str) -> Status | PermitAnswer | None:
        """Hold members until enough of them have a node; then let go of all that are held."""
        path = self._groups.path_of(pod)
        if not path:
            return None
        group = self._groups.get(path)
        if group is None:
            return error(
                f'failed to get podGroup {path.partition("/")[2]}: podgroup "{path.rpartition("/")[2]}" not found'
            )
        root = self._groups.root_of(path) if group.parent else group
        if root is None:
            return error(f"failed to build hierarchy snapshot: a group above {group.key} was not found")
        if root is group:
            if group.min_count is None:
                return None
            is_met = len(self._groups.members(path).scheduled) >= group.min_count
        else:
            is_met = self._is_ready(root, assumed=True)
        if not is_met:
            self._activate(root)
            return PermitAnswer(_WAIT if root is group else wait(_tree(root)), PERMIT_SECONDS)
        self._allow(root)
        return None

    def _is_ready(self, group: GroupInfo, *, assumed: bool) -> bool:
        """Whether enough of its pods, or of the groups in it, are there: with a node, or at all."""
        wanted = 1 if group.min_count is None else group.min_count
        if group.is_composite:
            ready = sum(self._is_ready(child, assumed=assumed) for child in self._groups.children(group.path))
            return ready >= wanted
        members = self._groups.members(group.path)
        return len(members.scheduled if assumed else members.all) >= wanted

    def _activate(self, root: GroupInfo) -> None:
        if self._is_real:
            for members in self._members(root):
                missing = [pod for uid, pod in members.all.items() if uid not in members.scheduled]
                self._handle.host.activate(missing)

    def _allow(self, root: GroupInfo) -> None:
        if self._is_real:
            uids = {uid for members in self._members(root) for uid in members.scheduled}
            for held in list(self._handle.host.waiting_pods()):
                if held.pod.uid in uids:
                    held.allow("GangScheduling")

    @property
    def _is_real(self) -> bool:
        """Whether this is more than a trial within a decision."""
        return self._handle.has_host and self._handle.snapshot.undo is None

    def _members(self, root: GroupInfo) -> Iterator[Members]:
        return (self._groups.members(leaf.path) for leaf in self._groups.leaves(root.path))

    # Events.

    def events_to_register(self) -> Sequence[EventHint]:
        """Siblings that come, and the group itself."""
        if not self._pod_kinds:
            return (
                on(Resource.POD, Action.ADD, self._after_pod, reads=self._root_path),
                on(Resource.POD_GROUP, Action.ADD, self._after_group, reads=self._root_path),
            )
        events = [
            on(Resource.UNSCHEDULED_POD, Action.ADD, self._after_pod, reads=self._root_path),
            on(Resource.ASSIGNED_POD, Action.ADD, self._after_pod, reads=self._root_path),
            on(Resource.POD_GROUP, Action.ADD, self._after_group, reads=self._root_path),
            on(Resource.POD_GROUP, Action.UPDATE, self._after_group_update, reads=self._root_path),
        ]
        if self._nests:
            events.append(on(Resource.COMPOSITE_POD_GROUP, Action.ADD, self._after_group, reads=self._root_path))
        return tuple(events)

    def _root_path(self, pod: PodInfo) -> str:
        path = self._groups.path_of(pod)
        root = self._groups.root_of(path) if path else None
        return root.path if root is not None else path

    def _is_akin(self, pod: PodInfo, path: str) -> bool:
        own = self._groups.path_of(pod)
        if not own or not path:
            return False
        if own == path or not self._nests:
            return own == path
        mine, other = self._groups.root_of(own), self._groups.root_of(path)
        return mine is not None and other is not None and mine.path == other.path

    def _after_pod(self, pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
        if new is None:
            return Hint.SKIP
        path = self._groups.path_of(self._handle.snapshot.info(new))
        return Hint.QUEUE if self._is_akin(pod, path) else Hint.SKIP

    def _after_group(self, pod: PodInfo, _old: KubeObject | None, new: KubeObject | None) -> Hint:
        return Hint.QUEUE if new is not None and self._is_akin(pod, _path(new)) else Hint.SKIP

    def _after_group_update(self, pod: PodInfo, old: PodGroup | None, new: PodGroup | None) -> Hint:
        """Fewer members are enough now."""
        if new is None or old is None or not self._is_akin(pod, _path(new)):
            return Hint.SKIP
        before, after = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
        if before is None or after is None or after.min_count >= before.min_count:
            return Hint.SKIP
        return Hint.QUEUE


def _tree(root: GroupInfo) -> str:
    return f'waiting for composite pod group "{root.name}" tree to meet quorum'


def _path(item: KubeObject) -> str:
    return f"{type(item).PLURAL}/{item.key}"
