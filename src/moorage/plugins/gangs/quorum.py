"""Whether enough members of a group are there, or have a node; and what follows for those that are held."""

from collections.abc import Iterator
from typing import Final

from moorage.columns import GroupInfo, PodInfo
from moorage.columns.groups import Members
from moorage.framework.events import Hint
from moorage.framework.handle import Handle
from moorage.framework.points import PermitAnswer
from moorage.framework.status import wait
from moorage.objects import KubeObject, Pod

_WAIT: Final = "waiting for minCount pods from a gang to be scheduled"


class Quorum:
    """The groups of one API, as the plugin `name` deals with them. `nests`: groups may stand in others."""

    def __init__(self, handle: Handle, name: str, *, native: bool, nests: bool = False) -> None:
        self._handle = handle
        self._name = name
        self._native = native
        self._nests = nests
        self.groups = handle.snapshot.groups

    def concerns(self, group: GroupInfo) -> bool:
        """Whether the group is of this API."""
        return group.is_native is self._native

    def path_of(self, pod: PodInfo) -> str:
        """The path of the pod's group of this API, "" for none."""
        path = self.groups.path_of(pod)
        return path if path and path.startswith("podgroups/") is self._native else ""

    def is_there(self, group: GroupInfo) -> bool:
        """Whether enough of its pods, or of the groups in it, are there, scheduled or not."""
        return self._is_ready(group, scheduled=False)

    def permit(self, root: GroupInfo, seconds: float) -> PermitAnswer | None:
        """Hold members until enough of them have a node; then let go of all that are held."""
        if self._is_ready(root, scheduled=True):
            self._allow(root)
            return None
        self._activate(root)
        return PermitAnswer(wait(tree_words(root) if root.is_composite else _WAIT), seconds)

    def _is_ready(self, group: GroupInfo, *, scheduled: bool) -> bool:
        wanted = 1 if group.min_count is None else group.min_count
        if group.is_composite:
            ready = sum(self._is_ready(child, scheduled=scheduled) for child in self.groups.children(group.path))
            return ready >= wanted
        members = self.groups.members(group.path)
        return len(members.scheduled if scheduled else members.all) >= wanted

    def _activate(self, root: GroupInfo) -> None:
        if self._is_real:
            for members in self._members(root):
                missing = [pod for uid, pod in members.all.items() if uid not in members.scheduled]
                self._handle.host.activate(missing)

    def _allow(self, root: GroupInfo) -> None:
        held = list(self._handle.host.waiting_pods()) if self._is_real else []
        if held:
            uids = {uid for members in self._members(root) for uid in members.scheduled}
            for one in held:
                if one.pod.uid in uids:
                    one.allow(self._name)

    @property
    def _is_real(self) -> bool:
        """Whether this is more than a trial within a decision."""
        return self._handle.has_host and self._handle.snapshot.undo is None

    def _members(self, root: GroupInfo) -> Iterator[Members]:
        return (self.groups.members(leaf.path) for leaf in self.groups.leaves(root.path))

    # For hints.

    def root_path(self, pod: PodInfo) -> str:
        """What hints read of a pod."""
        path = self.path_of(pod)
        root = self.groups.root_of(path) if path and self._nests else None
        return root.path if root is not None else path

    def after_pod(self, pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
        """A sibling came."""
        if new is None:
            return Hint.SKIP
        return Hint.QUEUE if self._is_akin(pod, self.path_of(self._handle.snapshot.info(new))) else Hint.SKIP

    def after_group(self, pod: PodInfo, _old: KubeObject | None, new: KubeObject | None) -> Hint:
        """The pod's group, or one it stands with, came."""
        return Hint.QUEUE if new is not None and self.is_of(pod, new) else Hint.SKIP

    def is_of(self, pod: PodInfo, item: KubeObject) -> bool:
        """Whether the object is the pod's group, or one it stands with."""
        prefix = "podgroups.scheduling.x-k8s.io" if not self._native else type(item).PLURAL
        return self._is_akin(pod, f"{prefix}/{item.key}")

    def _is_akin(self, pod: PodInfo, path: str) -> bool:
        own = self.path_of(pod)
        if not own or not path:
            return False
        if own == path or not self._nests:
            return own == path
        mine, other = self.groups.root_of(own), self.groups.root_of(path)
        return mine is not None and other is not None and mine.path == other.path


def tree_words(root: GroupInfo) -> str:
    """What is said while a tree of groups is not complete."""
    return f'waiting for composite pod group "{root.name}" tree to meet quorum'
