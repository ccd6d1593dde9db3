"""One node with the pods on it: what row-by-row plugins see, and what dry runs copy and change."""

from collections.abc import Mapping
from typing import Any

from moorage.columns.pods import PodInfo
from moorage.objects import Node, Taint
from moorage.values.int64 import LOWEST, SANE, wrapped
from moorage.values.ports import HostPort
from moorage.values.requests import PODS, allocatable_amounts


class NodeInfo:
    """A node and its pods. Plugins only read it; in dry runs they are handed a copy of their own.

    `allocatable` and `requested` are whole units by resource name (cpu in thousandths). `scored_cpu` and
    `scored_memory` count defaults for containers that ask for nothing; scoring uses those two.
    """

    __slots__ = (
        "allocatable",
        "image_names",
        "is_sane",
        "labels",
        "name",
        "node",
        "pods",
        "ports",
        "requested",
        "row",
        "scored_cpu",
        "scored_memory",
    )

    def __init__(self, name: str, row: int = -1) -> None:
        self.name = name
        self.row = row
        self.node = Node()
        self.labels: Mapping[str, str] = {}
        self.allocatable: dict[str, int] = {}
        self.requested: dict[str, int] = {}
        self.scored_cpu = 0
        self.scored_memory = 0
        #: uid -> pod, in the order of kube-scheduler's list: by arrival; an update is one; who came last fills a gap.
        self.pods: dict[str, PodInfo] = {}
        #: host port -> how many pods hold it (more than one only after somebody overrode the scheduler).
        self.ports: dict[HostPort, int] = {}
        self.image_names: frozenset[str] = frozenset()
        #: Whether all amounts are such that sums and scores of them stay within 64 bits: else Go's wrap.
        self.is_sane = True

    def __repr__(self) -> str:
        return f"NodeInfo({self.name})"

    @property
    def taints(self) -> tuple[Taint, ...]:
        """spec.taints"""
        return self.node.spec.taints

    @property
    def allowed_pods(self) -> int:
        """How many pods the node takes."""
        return self.allocatable.get(PODS, 0)

    def free(self, resource: str) -> int:
        """What is left of a resource; of pods, how many more the node takes."""
        if resource == PODS:
            return max(self.allowed_pods - len(self.pods), LOWEST)
        free = self.allocatable.get(resource, 0) - self.requested.get(resource, 0)
        return free if self.is_sane else wrapped(free)

    def set_node(self, node: Node) -> None:
        """Take over the node object."""
        self.node = node
        self.labels = node.metadata.labels
        self.allocatable = allocatable_amounts(node.status.allocatable)
        self.image_names = frozenset(name for image in node.status.images for name in image.names)
        self.is_sane = self._is_sane()

    def add_pod(self, pod: PodInfo) -> None:
        """Count a pod here."""
        self.pods[pod.uid] = pod
        self._count(pod, 1)
        if not self.is_sane:
            self.is_sane = self._is_sane()

    def remove_pod(self, pod: PodInfo) -> None:
        """Stop counting a pod here. It must be here."""
        self._count(self.pods.pop(pod.uid), -1)
        if not self.is_sane:
            self.is_sane = self._is_sane()

    def drop_pod(self, pod: PodInfo) -> None:
        """The same for good: the pod that came last takes its place in the order."""
        self._count(self.pods[pod.uid], -1)
        self._leave(pod.uid)

    def renew_pod(self, pod: PodInfo) -> None:
        """A newer version of a pod that is here, which counts the same, comes as the last."""
        self._leave(pod.uid)
        self.pods[pod.uid] = pod

    def _leave(self, uid: str) -> None:
        last, moved = self.pods.popitem()
        if last != uid:
            self.pods = {
                (last if key == uid else key): (moved if key == uid else pod) for key, pod in self.pods.items()
            }

    def copy(self) -> "NodeInfo":
        """A node of one's own, to try things on."""
        twin = NodeInfo(self.name, self.row)
        twin.node = self.node
        twin.labels = self.labels
        twin.allocatable = self.allocatable
        twin.requested = dict(self.requested)
        twin.scored_cpu = self.scored_cpu
        twin.scored_memory = self.scored_memory
        twin.pods = dict(self.pods)
        twin.ports = dict(self.ports)
        twin.image_names = self.image_names
        twin.is_sane = self.is_sane
        return twin

    def extent(self) -> tuple[int, int]:
        """How many resources and ports are summed up, before a pod is added: for `cut`."""
        return len(self.requested), len(self.ports)

    def cut(self, extent: tuple[int, int]) -> None:
        """Let go of the sums that came with the pod that was added then, and is gone again."""
        requested, ports = extent
        while len(self.requested) > requested:
            self.requested.popitem()
        while len(self.ports) > ports:
            self.ports.popitem()

    def held(self) -> tuple[object, ...]:
        """Everything that pods brought, order and all, for `put_back`."""
        counts = self.scored_cpu, self.scored_memory, self.is_sane
        return dict(self.pods), dict(self.requested), dict(self.ports), *counts

    def put_back(self, held: tuple[Any, ...]) -> None:
        """Have what was there when it was asked for with `held`."""
        self.pods, self.requested, self.ports, self.scored_cpu, self.scored_memory, self.is_sane = held

    def _count(self, pod: PodInfo, sign: int) -> None:
        request = pod.request
        for name, amount in request.amounts.items():
            total = self.requested[name] = self.requested.get(name, 0) + sign * amount
            if not (0 <= total <= SANE and 0 <= amount <= SANE):
                self.requested[name] = wrapped(total)
                self.is_sane = False
        cpu = self.scored_cpu = self.scored_cpu + sign * request.scored_cpu
        memory = self.scored_memory = self.scored_memory + sign * request.scored_memory
        if not (0 <= cpu <= SANE and 0 <= memory <= SANE):
            self.scored_cpu, self.scored_memory = wrapped(cpu), wrapped(memory)
            self.is_sane = False
        for port in pod.pod_class.ports:
            held = self.ports.get(port, 0) + sign
            if held > 0:
                self.ports[port] = held
            else:
                self.ports.pop(port, None)

    def _is_sane(self) -> bool:
        sums = (*self.allocatable.values(), *self.requested.values(), self.scored_cpu, self.scored_memory)
        parts = (amount for pod in self.pods.values() for amount in pod.request.amounts.values())
        return all(0 <= amount <= SANE for amount in (*sums, *parts))
