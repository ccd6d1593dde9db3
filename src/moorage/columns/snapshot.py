"""The cluster as a scheduling cycle sees it: always current, changed only between cycles."""

from collections.abc import Iterable, Mapping

from moorage.columns.devices import Claims, Inventory, ResourceClasses
from moorage.columns.groups import PodGroups
from moorage.columns.nominations import Nominations
from moorage.columns.pods import PodIndex, PodInfo
from moorage.columns.store import ObjectStore
from moorage.columns.table import NodeTable
from moorage.columns.tentative import Tentative, UndoLog
from moorage.objects import (
    CompositePodGroup,
    DeviceClass,
    DeviceTaintRule,
    KubeObject,
    LabelledPodGroup,
    Namespace,
    Node,
    Pod,
    PodGroup,
    PodGroupAlpha,
    ResourceClaim,
    ResourceSlice,
)
from moorage.values.requests import DEFAULT_RULES, RequestRules

_NO_LABELS: Mapping[str, str] = {}


class Snapshot:
    """Nodes with their pods, pods promised a node, and every other object that plugins read."""

    def __init__(self, rules: RequestRules = DEFAULT_RULES, groups: PodGroups | None = None) -> None:
        """`groups`: which pods are in groups; without it none is."""
        self.nodes = NodeTable()
        self.pods = PodIndex(rules)
        self.objects = ObjectStore()
        self.nominations = Nominations()
        self.groups = groups or PodGroups()
        self.inventory = Inventory()
        self.claims = Claims(self.inventory.touch)
        self.resource_classes = ResourceClasses()
        self.objects.follow(ResourceClaim, self.claims)
        self.objects.follow(ResourceSlice, self.inventory)
        self.objects.follow(DeviceTaintRule, self.inventory)
        self.objects.follow(DeviceClass, self.resource_classes)
        if self.groups.is_active:
            for kind in (PodGroup, PodGroupAlpha, CompositePodGroup, LabelledPodGroup):
                self.objects.follow(kind, self.groups)
        #: Where changes are written down while a tentative block is open: other maps may join.
        self.undo: UndoLog | None = None

    def tentative(self) -> Tentative:
        """A block in which pods, promises and objects may change for a while: `with snapshot.tentative() as t: ...`.

        At its end everything is as before, unless `t.keep()` was called. Nodes themselves may not change inside.
        """
        return Tentative(self, self.nodes, self.nominations, self.objects, self.claims, self.groups)

    @classmethod
    def of(cls, objects: Iterable[KubeObject], rules: RequestRules = DEFAULT_RULES) -> "Snapshot":
        """A snapshot of these objects. Pods without a node count only where they were nominated to one."""
        snapshot = cls(rules)
        for item in objects:
            snapshot.add(item)
        return snapshot

    def add(self, item: KubeObject) -> None:
        """Take over one object of any kind."""
        match item:
            case Node():
                self.nodes.set_node(item)
            case Pod():
                self._add_pod(item)
            case _:
                self.objects.set(item)

    def info(self, pod: Pod) -> PodInfo:
        """The pod with everything derived from it."""
        return self.pods.info(pod)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace; none if it is not known."""
        namespace = self.objects.get(Namespace, name)
        return namespace.metadata.labels if namespace else _NO_LABELS

    def _add_pod(self, pod: Pod) -> None:
        if pod.is_terminal:
            return
        if pod.spec.node_name:
            info = self.pods.info(pod, on_node=True)
            self.nodes.add_pod(info, pod.spec.node_name)
            self.groups.placed(info)
        elif pod.status.nominated_node_name:
            self.nominations.nominate(self.info(pod), pod.status.nominated_node_name)
