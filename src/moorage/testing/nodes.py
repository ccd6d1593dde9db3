"""The builder of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from moorage.objects import Condition, ContainerImage, Node, NodeSpec, NodeStatus, ObjectMeta, Quantities, Taint
from moorage.values.quantity import parse_quantity, whole

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"

#: What a node offers unless told otherwise.
DEFAULT_ALLOCATABLE: Final[Mapping[str, str | int | float]] = {
    "cpu": "4",
    "memory": "16Gi",
    "ephemeral-storage": "100Gi",
    "pods": "110",
}


@dataclass(frozen=True, slots=True)
class NodeBuilder:
    """A node in the making. Every call gives a new builder."""

    node: Node

    def build(self) -> Node:
        """The node."""
        return self.node

    def allocatable(
        self, amounts: Mapping[str, str | int | float] | None = None, /, **more: str | int | float
    ) -> "NodeBuilder":
        """What the node offers: `.allocatable(cpu="8")`, `.allocatable({"example.com/gpu": 2})`. The rest stays."""
        offered: Quantities = {**self.node.status.allocatable, **(amounts or {}), **more}
        return self.status(allocatable=offered, capacity=offered)

    def labels(self, labels: Mapping[str, str] | None = None, /, **more: str) -> "NodeBuilder":
        """Further labels; keys that are no Python names go into a mapping."""
        return self.metadata(labels={**self.node.metadata.labels, **(labels or {}), **more})

    def annotations(self, annotations: Mapping[str, str] | None = None, /, **more: str) -> "NodeBuilder":
        """Further annotations."""
        return self.metadata(annotations={**self.node.metadata.annotations, **(annotations or {}), **more})

    def zone(self, name: str) -> "NodeBuilder":
        """The label topology.kubernetes.io/zone."""
        return self.labels({ZONE: name})

    def region(self, name: str) -> "NodeBuilder":
        """The label topology.kubernetes.io/region."""
        return self.labels({REGION: name})

    def taint(self, key: str, value: str = "", *, effect: str = "NoSchedule") -> "NodeBuilder":
        """One more taint."""
        return self.spec(taints=(*self.node.spec.taints, Taint(key, value, effect)))

    def cordoned(self) -> "NodeBuilder":
        """Marked unschedulable, as by `kubectl cordon`."""
        return self.spec(unschedulable=True)

    def image(self, *names: str, size: str = "500Mi") -> "NodeBuilder":
        """An image the node holds already, under all its names."""
        held = ContainerImage(names, whole(parse_quantity(size)))
        return self.status(images=(*self.node.status.images, held))

    def condition(self, kind: str, status: str = "True") -> "NodeBuilder":
        """A condition the node reports."""
        return self.status(conditions=(*self.node.status.conditions, Condition(kind, status)))

    def metadata(self, **fields: Any) -> "NodeBuilder":
        """Any field of metadata, under its name in moorage.objects."""
        return NodeBuilder(replace(self.node, metadata=replace(self.node.metadata, **fields)))

    def spec(self, **fields: Any) -> "NodeBuilder":
        """Any field of spec, under its name in moorage.objects."""
        return NodeBuilder(replace(self.node, spec=replace(self.node.spec, **fields)))

    def status(self, **fields: Any) -> "NodeBuilder":
        """Any field of status, under its name in moorage.objects."""
        return NodeBuilder(replace(self.node, status=replace(self.node.status, **fields)))


def a_node(name: str = "node") -> NodeBuilder:
    """A node with 4 cpus, 16Gi of memory and room for 110 pods; its hostname label is its name.

    >>> a_node("n1").zone("a").taint("gpu").build().spec.taints[0].effect
    'NoSchedule'
    """
    offered = dict(DEFAULT_ALLOCATABLE)
    metadata = ObjectMeta(name=name, uid=f"{name}-uid", labels={HOSTNAME: name})
    return NodeBuilder(Node(metadata=metadata, spec=NodeSpec(), status=NodeStatus(offered, offered)))
