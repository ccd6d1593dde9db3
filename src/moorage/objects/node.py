"""Nodes and namespaces."""

from typing import ClassVar

from moorage.objects.meta import Condition, KubeObject, Quantities, Struct


class Taint(Struct, frozen=True):
    """A mark that keeps pods away unless they tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class ContainerImage(Struct, frozen=True):
    """An image the node holds, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeSpec(Struct, frozen=True):
    """spec: the cordon and the taints."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Struct, frozen=True):
    """status: what the node offers."""

    capacity: Quantities = {}
    allocatable: Quantities = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(KubeObject, frozen=True):
    """A node."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Node"
    NAMESPACED: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(KubeObject, frozen=True):
    """A namespace; its labels serve namespace selectors."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Namespace"
    NAMESPACED: ClassVar[bool] = False
