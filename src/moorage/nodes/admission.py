"""What a node has left, and whom its kubelet refuses: schedulers can be wrong, or two can be right at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.nodes.objects import HollowNode, HostedPod
from moorage.values.nodeselector import required_node_affinity
from moorage.values.ports import HostPort, any_conflict, host_ports
from moorage.values.requests import PODS, allocatable_amounts, is_extended, pod_request


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod may not run here, as its status says it."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Share:
    """What one admitted pod holds of its node."""

    amounts: Mapping[str, int]
    ports: tuple[HostPort, ...]


@dataclass(slots=True)
class Room:
    """A node's allocatable, and what the pods admitted hold of it. Whole units, cpu in thousandths."""

    allocatable: Mapping[str, int]
    used: dict[str, int] = field(default_factory=dict)
    ports: list[HostPort] = field(default_factory=list)

    def refusal(self, share: Share) -> Refusal | None:
        """Why a pod with this share does not fit, if it does not."""
        for name, wanted in share.amounts.items():
            capacity, used = self.allocatable.get(name), self.used.get(name, 0)
            if capacity is None:
                # A device nobody has told this kubelet of is no business of its own.
                if is_extended(name):
                    continue
                capacity = 0
            if wanted and used + wanted > capacity:
                return Refusal(
                    f"OutOf{name}",
                    f"Node didn't have enough resource: {name}, "
                    f"requested: {wanted}, used: {used}, capacity: {capacity}",
                )
        if any_conflict(share.ports, self.ports):
            return Refusal("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports")
        return None

    def take(self, share: Share) -> None:
        """Let a pod have its share."""
        for name, amount in share.amounts.items():
            self.used[name] = self.used.get(name, 0) + amount
        self.ports += share.ports

    def release(self, share: Share) -> None:
        """Have the share of a pod back."""
        for name, amount in share.amounts.items():
            self.used[name] -= amount
        for port in share.ports:
            self.ports.remove(port)


def room_of(node: HollowNode) -> Mapping[str, int]:
    """What a node lets pods use. Raises InputError for a quantity that is none."""
    return allocatable_amounts(node.status.allocatable or node.status.capacity)


def share_of(pod: HostedPod) -> Share:
    """What the pod holds of its node: itself, what it requests, its host ports."""
    return Share({PODS: 1, **pod_request(pod).amounts}, host_ports(pod))


def misfit(pod: HostedPod, node: HollowNode) -> Refusal | None:
    """Why the pod may not run on this node however empty it is."""
    if not required_node_affinity(pod).matches(node.metadata.name, node.metadata.labels):
        return Refusal("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity")
    return None
