"""Groups of pods: which there are, how they stand in each other, and which pods belong to each.

A group is known by its path: `podgroups/namespace/name`, `compositepodgroups/namespace/name`, or, for those of
scheduling.x-k8s.io, `podgroups.scheduling.x-k8s.io/namespace/name`. A pod names its group in spec.schedulingGroup or in
a label; which of the two counts is the configuration's.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from moorage.columns.pods import PodInfo
from moorage.columns.tentative import UndoLog
from moorage.objects import CompositePodGroup, DisruptionMode, KubeObject, LabelledPodGroup, PodGroup

#: Names the group of a pod, in the pod's namespace.
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
#: Of a PodGroup of scheduling.x-k8s.io: the node label within one value of which all members must, or should, lie.
TOPOLOGY_REQUIRED: Final = "moorage.dev/topology-required"
TOPOLOGY_PREFERRED: Final = "moorage.dev/topology-preferred"
#: Of any PodGroup: what becomes of members that run alone because others could not be bound.
HALF_BOUND: Final = "moorage.dev/half-bound"

NATIVE: Final = "podgroups"
COMPOSITE: Final = "compositepodgroups"
LABELLED: Final = "podgroups.scheduling.x-k8s.io"

#: CompositePodGroups may stand in each other so deep, the PodGroup included.
MOST_LEVELS: Final = 4


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A group, whatever API it is of."""

    path: str
    item: KubeObject
    #: Members that make it whole (groups, of a composite one); None where each is scheduled by itself.
    min_count: int | None = None
    #: None where the API object gives none.
    priority: int | None = None
    preemption_policy: str = ""
    #: The node label in one domain of which all members must lie, or should; "" for none.
    topology_required: str = ""
    topology_preferred: str = ""
    #: Whether its members may be disrupted only together.
    goes_whole: bool = False
    #: The path of the group that it stands in, "" if in none.
    parent: str = ""

    @property
    def namespace(self) -> str:
        """Where it is, and where its pods are."""
        return self.item.metadata.namespace

    @property
    def name(self) -> str:
        """metadata.name"""
        return self.item.metadata.name

    @property
    def key(self) -> str:
        """`namespace/name`"""
        return self.item.key

    @property
    def uid(self) -> str:
        """metadata.uid"""
        return self.item.metadata.uid

    @property
    def is_composite(self) -> bool:
        """Whether its members are groups."""
        return isinstance(self.item, CompositePodGroup)

    @property
    def is_native(self) -> bool:
        """Whether it is of scheduling.k8s.io."""
        return not isinstance(self.item, LabelledPodGroup)


@dataclass(slots=True, eq=False)
class Members:
    """The pods of one group by uid: all there are, those that count on a node, and those of them that are assumed."""

    all: dict[str, PodInfo] = field(default_factory=dict)
    scheduled: dict[str, PodInfo] = field(default_factory=dict)
    assumed: dict[str, PodInfo] = field(default_factory=dict)

    @property
    def bound(self) -> int:
        """How many the API server has on nodes."""
        return len(self.scheduled) - len(self.assumed)


_NOBODY: Final = Members()


class PodGroups:
    """The groups and their pods. `native`: spec.schedulingGroup counts; `labelled`: for these schedulers the label."""

    def __init__(self, *, native: bool = False, labelled: Collection[str] = (), nests: bool = False) -> None:
        """`nests`: groups may stand in composite ones."""
        self._native = native
        self._nests = nests
        self._labelled = frozenset(labelled)
        self.is_labelled = bool(labelled)
        self.is_active = native or self.is_labelled
        self._groups: dict[str, GroupInfo] = {}
        self._children: dict[str, set[str]] = {}
        self._members: dict[str, Members] = {}
        self.undo: UndoLog | None = None
        self._watchers: list[Callable[[str], None]] = []

    def watch(self, tell: Callable[[str], None]) -> None:
        """From now on somebody is told the path of each group whose pods came, went or got nodes, for good."""
        self._watchers.append(tell)

    # Which group a pod is in.

    def path_of(self, pod: PodInfo) -> str:
        """The path of the pod's group, which may not be there; "" for a pod in none."""
        if not self.is_active:
            return ""
        spec = pod.spec
        if self._native and spec.scheduling_group is not None and spec.scheduling_group.pod_group_name:
            return f"{NATIVE}/{pod.namespace}/{spec.scheduling_group.pod_group_name}"
        if self._labelled and spec.scheduler_name in self._labelled:
            # Pods alike in namespace and labels share this.
            group = pod.label_group
            if group.path is None:
                name = pod.labels.get(GROUP_LABEL)
                group.path = f"{LABELLED}/{pod.namespace}/{name}" if name else ""
            return group.path
        return ""

    def of(self, pod: PodInfo) -> GroupInfo | None:
        """The pod's group; None where it is in none, or that is not there."""
        path = self.path_of(pod)
        return self._groups.get(path) if path else None

    # Groups come, change and go: told by the object store, which finds the way back.

    @property
    def undoes(self) -> bool:
        """Groups do not change in tentative blocks; if they did, being told again would be enough."""
        return False

    def set(self, item: KubeObject) -> None:
        """A group is there, or has changed."""
        info = info_of(item)
        if info.parent and not self._nests:
            info = replace(info, parent="")
        before = self._groups.get(info.path)
        if before is not None and before.parent != info.parent:
            self._leave(before)
        self._groups[info.path] = info
        if info.parent:
            self._children.setdefault(info.parent, set()).add(info.path)
        self._touched(info.path)

    def remove(self, item: KubeObject) -> None:
        """A group is gone."""
        before = self._groups.pop(info_of(item).path, None)
        if before is not None:
            self._leave(before)
            self._touched(before.path)

    def _leave(self, info: GroupInfo) -> None:
        siblings = self._children.get(info.parent)
        if siblings is not None:
            siblings.discard(info.path)
            if not siblings:
                del self._children[info.parent]

    def get(self, path: str) -> GroupInfo | None:
        """The group at a path."""
        return self._groups.get(path)

    def each(self) -> Iterator[GroupInfo]:
        """All groups there are."""
        return iter(list(self._groups.values()))

    def children(self, path: str) -> list[GroupInfo]:
        """The groups that stand in this one, in order of creation, then by name."""
        found = [self._groups[child] for child in self._children.get(path, ()) if child in self._groups]
        return sorted(found, key=lambda one: (one.item.metadata.creation_timestamp, one.name))

    def chain(self, path: str) -> list[GroupInfo]:
        """The group, that which it stands in, and so on; it ends where one is not there."""
        found: list[GroupInfo] = []
        while path and len(found) < MOST_LEVELS and (info := self._groups.get(path)) is not None:
            found.append(info)
            path = info.parent
        return found

    def root_of(self, path: str) -> GroupInfo | None:
        """The topmost group that this one stands in, itself if in none; None where one of them is not there."""
        chain = self.chain(path)
        return chain[-1] if chain and not chain[-1].parent else None

    def leaves(self, path: str) -> list[GroupInfo]:
        """The groups with pods at or below this one, in the order of their parents' children."""
        info = self._groups.get(path)
        if info is None:
            return []
        if not info.is_composite:
            return [info]
        return [leaf for child in self.children(path) for leaf in self.leaves(child.path)]

    # Pods come, change and go.

    def came(self, pod: PodInfo) -> None:
        """A pod is there, in this version."""
        if self.is_active and (path := self.path_of(pod)):
            self._write(self._members_at(path).all, pod.uid, pod)
            self._touched(path)

    def went(self, pod: PodInfo) -> None:
        """A pod is gone."""
        path = self.path_of(pod)
        members = self._members.get(path) if path else None
        if members is not None:
            self._write(members.all, pod.uid, None)
            self._off(members, pod.uid)
            if not members.all and self.undo is None:
                del self._members[path]
            self._touched(path)

    def placed(self, pod: PodInfo, *, assumed: bool = False) -> None:
        """A pod counts on a node from now on; it names it. `assumed`: the API server does not know yet."""
        if self.is_active and (path := self.path_of(pod)):
            members = self._members_at(path)
            self._write(members.scheduled, pod.uid, pod)
            if assumed:
                self._write(members.assumed, pod.uid, pod)
            elif pod.uid in members.assumed:
                self._write(members.assumed, pod.uid, None)
            if pod.uid not in members.all:
                self._write(members.all, pod.uid, pod)
            self._touched(path)

    def unplaced(self, pod: PodInfo) -> None:
        """A pod counts on no node any more."""
        path = self.path_of(pod)
        members = self._members.get(path) if path else None
        if members is not None:
            self._off(members, pod.uid)
            self._touched(path)

    def _off(self, members: Members, uid: str) -> None:
        self._write(members.scheduled, uid, None)
        if uid in members.assumed:
            self._write(members.assumed, uid, None)

    def _members_at(self, path: str) -> Members:
        members = self._members.get(path)
        if members is None:
            members = self._members[path] = Members()
        return members

    def _touched(self, path: str) -> None:
        if self.undo is None:
            for tell in self._watchers:
                tell(path)

    def members(self, path: str) -> Members:
        """The pods of a group. Do not change it."""
        return self._members.get(path, _NOBODY)

    def paths(self) -> Iterator[tuple[str, Members]]:
        """Every group that has pods, whether it is there or not."""
        return iter(list(self._members.items()))

    def _write(self, pods: dict[str, PodInfo], uid: str, pod: PodInfo | None) -> None:
        if self.undo is not None:
            before = pods.get(uid)
            self.undo.record(partial(_put, pods, uid, before))
        _put(pods, uid, pod)


def _put(pods: dict[str, PodInfo], uid: str, pod: PodInfo | None) -> None:
    if pod is None:
        pods.pop(uid, None)
    else:
        pods[uid] = pod


def info_of(item: KubeObject) -> GroupInfo:
    """What scheduling needs to know of a PodGroup of either API, or of a CompositePodGroup."""
    match item:
        case LabelledPodGroup():
            return _labelled(item)
        case CompositePodGroup():
            return _composite(item)
        case PodGroup():
            return _native(item)
    raise TypeError(f"{item!r} is no group")


def path_of_object(item: KubeObject) -> str:
    """The path under which a group is known."""
    return info_of(item).path


def _native(item: PodGroup) -> GroupInfo:
    gang, mode = item.spec.scheduling_policy.gang, item.spec.disruption_mode
    return _of_kubernetes(
        NATIVE,
        item,
        min_count=None if gang is None else gang.min_count,
        goes_whole=mode == "PodGroup" or (isinstance(mode, DisruptionMode) and mode.all is not None),
    )


def _composite(item: CompositePodGroup) -> GroupInfo:
    gang, mode = item.spec.scheduling_policy.gang, item.spec.disruption_mode
    return _of_kubernetes(
        COMPOSITE,
        item,
        min_count=None if gang is None else gang.min_group_count,
        goes_whole=mode is not None and mode.all is not None,
    )


def _of_kubernetes(
    prefix: str, item: PodGroup | CompositePodGroup, *, min_count: int | None, goes_whole: bool
) -> GroupInfo:
    spec = item.spec
    topology = spec.scheduling_constraints.topology if spec.scheduling_constraints else ()
    parent = spec.parent_composite_pod_group_name
    return GroupInfo(
        path=f"{prefix}/{item.key}",
        item=item,
        min_count=min_count,
        priority=spec.priority,
        preemption_policy=spec.preemption_policy,
        topology_required=topology[0].key if topology else "",
        goes_whole=goes_whole,
        parent=f"{COMPOSITE}/{item.metadata.namespace}/{parent}" if parent else "",
    )


def _labelled(item: LabelledPodGroup) -> GroupInfo:
    notes: Mapping[str, str] = item.metadata.annotations
    return GroupInfo(
        path=f"{LABELLED}/{item.key}",
        item=item,
        min_count=item.spec.min_member,
        topology_required=notes.get(TOPOLOGY_REQUIRED, ""),
        topology_preferred=notes.get(TOPOLOGY_PREFERRED, ""),
    )
