"""Clusters and workloads to measure on, made in memory."""

from collections.abc import Iterator

from moorage.columns import PodInfo, Snapshot
from moorage.objects import (
    Affinity,
    Container,
    LabelSelector,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    TopologySpreadConstraint,
)

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def a_cluster(nodes: int, *, running: int = 0, cpu: str = "32", zones: int = 3) -> Snapshot:
    """Nodes of one shape in a few zones, with small pods of 50 apps already running."""
    snapshot = Snapshot()
    for index in range(nodes):
        snapshot.add(_node(index, cpu, zones))
    for index in range(running):
        snapshot.add(_pod(f"run-{index}", app=f"app-{index % 50}", node=f"node-{index % nodes}"))
    return snapshot


def full_cluster(nodes: int, *, per_node: int = 10) -> Snapshot:
    """Nodes filled to the brim with pods of low priority."""
    snapshot = Snapshot()
    for index in range(nodes):
        snapshot.add(_node(index, str(per_node), 3))
    for index in range(nodes * per_node):
        node = f"node-{index % nodes}"
        snapshot.add(_pod(f"low-{index}", app="low", cpu="1", memory="1Gi", node=node, started=index))
    return snapshot


def identical(count: int) -> Iterator[Pod]:
    """Pods of one Deployment."""
    return (_pod(f"same-{i}", app="same") for i in range(count))


def many_classes(count: int, classes: int = 200) -> Iterator[Pod]:
    """Pods of 200 different shapes, one after the other."""
    return (_pod(f"mix-{i}", app=f"app-{i % 50}", cpu=f"{100 + i % classes}m") for i in range(count))


def spread(count: int) -> Iterator[Pod]:
    """Pods with a hard constraint on zones and a soft one on hosts."""
    selector = LabelSelector(match_labels={"app": "spread"})
    constraints = (
        TopologySpreadConstraint(1, ZONE, "DoNotSchedule", selector),
        TopologySpreadConstraint(1, HOSTNAME, "ScheduleAnyway", selector),
    )
    return (_pod(f"spread-{i}", app="spread", constraints=constraints) for i in range(count))


def affinity(count: int) -> Iterator[Pod]:
    """Pods that want to be in a zone with their like but never two on a node; ten apps in turn."""
    return (_pod(f"affine-{i}", app=f"affine-{i % 10}", affinity=_affinity(f"affine-{i % 10}")) for i in range(count))


def preemptors(count: int) -> Iterator[Pod]:
    """Pods of high priority that fit nowhere without preemption."""
    return (_pod(f"high-{i}", app="high", cpu="2", memory="2Gi", priority=1000) for i in range(count))


def infos(snapshot: Snapshot, pods: Iterator[Pod]) -> list[PodInfo]:
    """The pods as the engine takes them."""
    return [snapshot.info(pod) for pod in pods]


def _affinity(app: str) -> Affinity:
    selector = LabelSelector(match_labels={"app": app})
    return Affinity(
        pod_affinity=PodAffinity((PodAffinityTerm(selector, topology_key=ZONE),)),
        pod_anti_affinity=PodAffinity((PodAffinityTerm(selector, topology_key=HOSTNAME),)),
    )


def _node(index: int, cpu: str, zones: int) -> Node:
    name = f"node-{index}"
    return Node(
        metadata=ObjectMeta(name=name, labels={HOSTNAME: name, ZONE: f"zone-{index % zones}"}),
        status=NodeStatus(allocatable={"cpu": cpu, "memory": "256Gi", "pods": "110"}),
    )


def _pod(
    name: str,
    *,
    app: str,
    cpu: str = "100m",
    memory: str = "500Mi",
    node: str = "",
    priority: int | None = None,
    affinity: Affinity | None = None,
    constraints: tuple[TopologySpreadConstraint, ...] = (),
    started: int = 0,
) -> Pod:
    requests = ResourceRequirements(requests={"cpu": cpu, "memory": memory})
    minutes, seconds = divmod(started % 3600, 60)
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=name, labels={"app": app}),
        spec=PodSpec(
            containers=(Container(name="main", image="app:1", resources=requests),),
            node_name=node,
            priority=priority,
            affinity=affinity,
            topology_spread_constraints=constraints,
        ),
        status=PodStatus(start_time=f"2026-01-01T00:{minutes:02}:{seconds:02}Z" if node else ""),
    )
