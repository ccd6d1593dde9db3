"""Whether the snapshot still agrees with what the API server has: for tests, and for a look from outside."""

from collections.abc import Iterable, Iterator

from moorage.cluster.state import ClusterState
from moorage.columns import NodeInfo
from moorage.columns.devices import ResourceClasses
from moorage.objects import Node, Pod
from moorage.values.requests import PODS


def find_faults(cluster: ClusterState, nodes: Iterable[Node], pods: Iterable[Pod]) -> list[str]:
    """Where the cluster as we hold it differs from these nodes and pods, or its sums from their parts."""
    return [*_node_faults(cluster, nodes), *_pod_faults(cluster, pods), *sum_faults(cluster)]


def overcommitted(nodes: Iterable[NodeInfo], classes: ResourceClasses | None = None) -> list[str]:
    """The nodes whose pods ask for more than they offer; what `classes` stand for is offered by devices."""
    faults = []
    for node in nodes:
        for name, amount in node.requested.items():
            by_devices = classes is not None and classes.get(name) is not None and not node.allocatable.get(name, 0)
            if amount > node.allocatable.get(name, 0) and not by_devices:
                faults.append(f"node {node.name}: {amount} of {name} requested, {node.allocatable.get(name, 0)} there")
        if len(node.pods) > node.allocatable.get(PODS, 0):
            faults.append(f"node {node.name}: {len(node.pods)} pods, {node.allocatable.get(PODS, 0)} allowed")
    return faults


def _node_faults(cluster: ClusterState, nodes: Iterable[Node]) -> Iterator[str]:
    wanted = {node.metadata.name for node in nodes}
    held = {node.name for node in cluster.snapshot.nodes}
    yield from (f"node {name} is not held" for name in sorted(wanted - held))
    yield from (f"node {name} is held and does not exist" for name in sorted(held - wanted))


def _pod_faults(cluster: ClusterState, pods: Iterable[Pod]) -> Iterator[str]:
    assigned = {pod.metadata.uid: pod for pod in pods if pod.spec.node_name and not pod.is_terminal}
    for uid, pod in assigned.items():
        counted = cluster.counted(uid)
        if counted is None:
            yield f"pod {pod.key} on {pod.spec.node_name} is not counted"
        elif counted.spec.node_name != pod.spec.node_name:
            yield f"pod {pod.key} on {pod.spec.node_name} is counted on {counted.spec.node_name}"
    for info in cluster.snapshot.nodes.infos:
        for uid, counted in info.pods.items():
            if uid not in assigned and not cluster.is_assumed(uid):
                yield f"pod {counted.key} is counted on {info.name} and does not exist there"


def sum_faults(cluster: ClusterState) -> Iterator[str]:
    """Every number stands in a row and in columns; both must be the sum over the pods."""
    table = cluster.snapshot.nodes
    for info in table:
        sums: dict[str, int] = {}
        for pod in info.pods.values():
            for name, amount in pod.request.amounts.items():
                sums[name] = sums.get(name, 0) + amount
        for name in {*sums, *info.requested}:
            held = info.requested.get(name, 0), int(table.requested(name)[info.row])
            if held != (sums.get(name, 0), sums.get(name, 0)):
                yield f"node {info.name}: pods request {sums.get(name, 0)} of {name}, held are {held}"
        if int(table.resources.pod_count[info.row]) != len(info.pods):
            yield f"node {info.name}: {len(info.pods)} pods, counted are {int(table.resources.pod_count[info.row])}"
