"""Nodes, as controllers read them."""

from typing import ClassVar

from moorage.controllers.objects.meta import Condition, Managed
from moorage.objects import Struct, Taint


class NodeTaint(Taint, frozen=True, gc=False):
    """A taint, with the moment it began to drive pods out."""

    time_added: str | None = None


class NodeSpec(Struct, frozen=True):
    """spec: what keeps pods away."""

    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()


class NodeStatus(Struct, frozen=True):
    """status: how the node is."""

    conditions: tuple[Condition, ...] = ()


class Node(Managed, frozen=True):
    """A node."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Node"
    NAMESPACED: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
