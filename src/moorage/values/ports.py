"""Host ports: which ones a pod takes, and when two conflict."""

from collections.abc import Collection
from typing import NamedTuple

from moorage.objects import Pod

ANY_ADDRESS = "0.0.0.0"


class HostPort(NamedTuple):
    """A port on the node. The address 0.0.0.0 stands for all of the node's addresses."""

    protocol: str
    address: str
    port: int

    def conflicts(self, other: "HostPort") -> bool:
        """Whether both cannot be held on one node."""
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The host ports of the pod's containers and sidecars; plain init containers hold none for long."""
    holders = [*(c for c in pod.spec.init_containers if c.is_sidecar), *pod.spec.containers]
    return tuple(
        HostPort(port.protocol or "TCP", port.host_ip or ANY_ADDRESS, port.host_port)
        for container in holders
        for port in container.ports
        if port.host_port > 0
    )


def any_conflict(wanted: Collection[HostPort], used: Collection[HostPort]) -> bool:
    """Whether some wanted port is taken."""
    return any(port.conflicts(taken) for port in wanted for taken in used)
