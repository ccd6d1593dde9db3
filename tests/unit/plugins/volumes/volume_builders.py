"""Builders for clusters with volumes, and a way to run one plugin over all their nodes."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Protocol

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows, Snapshot
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.handle import Handle
from moorage.framework.points import Verdicts
from moorage.framework.status import Status
from moorage.objects import KubeObject, Pod, convert_object

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


class FilterPlugin(Protocol):
    """What all four plugins have."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable, /) -> Status | None: ...

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo, /) -> Status | None: ...

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows, /) -> Verdicts: ...


class Registering(Protocol):
    """A plugin with hints."""

    def events_to_register(self) -> Iterable[EventHint]: ...


class Cluster:
    """A snapshot with a handle on it. Time stands at `time` until somebody moves it.

    `host` is whatever part of a Host the test needs.
    """

    def __init__(self, *objects: KubeObject, host: Any = None) -> None:
        self.snapshot = Snapshot.of(objects)
        self.time = 0.0
        self.handle = Handle(self.snapshot, now=lambda: self.time, random=Random(0), host=host)

    def info(self, pod: Pod) -> PodInfo:
        """The pod as plugins see it."""
        return self.snapshot.info(pod)

    def run(self, plugin: FilterPlugin, pod: Pod, state: CycleState | None = None) -> Status | dict[str, Status | None]:
        """PreFilter's answer if it ends the search, else the verdict on each node, the same in both forms."""
        state = state if state is not None else CycleState()
        info, nodes = self.info(pod), self.snapshot.nodes
        answer = plugin.pre_filter(state, info, nodes)
        if answer is not None:
            return answer
        codes, statuses = plugin.filter_nodes(state, info, nodes, nodes.rows)
        many = {
            nodes[row].name: statuses[code - 1] if code else None
            for row, code in zip(nodes.rows.tolist(), codes.tolist(), strict=True)
        }
        one = {node.name: plugin.filter(state, info, node) for node in nodes}
        assert one == many
        return one

    def reasons(self, plugin: FilterPlugin, pod: Pod) -> dict[str, tuple[str, ...]]:
        """The reasons against each node that was rejected."""
        verdicts = self.run(plugin, pod)
        assert isinstance(verdicts, dict)
        return {name: status.reasons for name, status in verdicts.items() if status is not None}


def hint(
    plugin: Registering,
    pod: PodInfo,
    resource: Resource,
    action: Action,
    before: KubeObject | None = None,
    after: KubeObject | None = None,
) -> Hint | None:
    """What the plugin says to an event; None where it did not register for it."""
    incoming = ClusterEvent(resource, action)
    for registered in plugin.events_to_register():
        if registered.event.matches(incoming):
            return Hint.QUEUE if registered.hint is None else registered.hint(pod, before, after)
    return None


def node(name: str, labels: Mapping[str, str] | None = None) -> KubeObject:
    """A node; its hostname label is its name."""
    return _object("v1", "Node", name, labels={HOSTNAME: name, **(labels or {})})


def pod(name: str = "pod", *volumes: Mapping[str, Any], on: str = "", namespace: str = "ns", **status: Any) -> Pod:
    """A pod with volumes named v0, v1, ..."""
    named = [{"name": f"v{at}", **volume} for at, volume in enumerate(volumes)]
    made = _object("v1", "Pod", name, namespace, spec={"volumes": named, "nodeName": on}, status=status)
    assert isinstance(made, Pod)
    return made


def of_claim(name: str) -> dict[str, Any]:
    """A pod's volume that comes from a claim."""
    return {"persistentVolumeClaim": {"claimName": name}}


def ephemeral() -> dict[str, Any]:
    """A pod's volume that brings its claim along."""
    return {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


def claim(
    name: str,
    *,
    size: str | None = "1Gi",
    storage_class: str | None = "late",
    volume: str = "",
    bound: bool = False,
    modes: Iterable[str] = ("ReadWriteOnce",),
    annotations: Mapping[str, str] | None = None,
    owner: str = "",
    phase: str = "",
    deleting: bool = False,
    version: str = "1",
    **spec: Any,
) -> KubeObject:
    """A claim in namespace ns. `owner` is the uid of the pod that it was made for."""
    done = {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
    return _object(
        "v1",
        "PersistentVolumeClaim",
        name,
        "ns",
        annotations={**done, **(annotations or {})},
        owners=[{"uid": owner, "controller": True}] if owner else [],
        deleting=deleting,
        version=version,
        spec={
            "accessModes": list(modes),
            "resources": {"requests": {"storage": size} if size is not None else {}},
            "storageClassName": storage_class,
            "volumeName": volume,
            **spec,
        },
        status={"phase": phase},
    )


def volume(
    name: str,
    *,
    size: str = "1Gi",
    storage_class: str = "late",
    nodes: Iterable[str] | None = None,
    terms: Iterable[Any] | None = None,
    claimed_by: str = "",
    claim_uid: str = "",
    phase: str = "Available",
    modes: Iterable[str] = ("ReadWriteOnce",),
    labels: Mapping[str, str] | None = None,
    deleting: bool = False,
    annotations: Mapping[str, str] | None = None,
    version: str = "1",
    **spec: Any,
) -> KubeObject:
    """A volume, reached from the named nodes alone where there are any, else from those that the terms allow."""
    if nodes is not None:
        terms = [{"matchExpressions": [expression(HOSTNAME, "In", *nodes)]}]
    reference = {"namespace": "ns", "name": claimed_by, "uid": claim_uid}
    return _object(
        "v1",
        "PersistentVolume",
        name,
        labels=labels,
        annotations=annotations,
        deleting=deleting,
        version=version,
        spec={
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "claimRef": reference if claimed_by else None,
            "nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}} if terms is not None else None,
            **spec,
        },
        status={"phase": phase},
    )


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    """One expression of a selector."""
    return {"key": key, "operator": operator, "values": list(values)}


def storage_class(
    name: str = "late",
    *,
    mode: str | None = "WaitForFirstConsumer",
    provisioner: str = "csi.example.com",
    topologies: Iterable[Any] = (),
) -> KubeObject:
    """A storage class."""
    return _object(
        "storage.k8s.io/v1",
        "StorageClass",
        name,
        volumeBindingMode=mode,
        provisioner=provisioner,
        allowedTopologies=list(topologies),
    )


def csi_node(name: str, limits: Mapping[str, int | None] | None = None, migrated: str = "") -> KubeObject:
    """A CSINode with each driver's limit; None for a driver without one."""
    drivers = [
        {"name": driver, "allocatable": None if limit is None else {"count": limit}}
        for driver, limit in (limits or {}).items()
    ]
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
    return _object("storage.k8s.io/v1", "CSINode", name, annotations=annotations, spec={"drivers": drivers})


def csi_driver(name: str = "csi.example.com", *, storage_capacity: bool | None = True) -> KubeObject:
    """A CSI driver that publishes its capacity, or does not."""
    return _object("storage.k8s.io/v1", "CSIDriver", name, spec={"storageCapacity": storage_capacity})


def capacity(
    name: str,
    *,
    free: str | None = None,
    largest: str | None = None,
    topology: Mapping[str, str] | None = None,
    storage_class: str = "late",
    **tree: Any,
) -> KubeObject:
    """What is free in the part of the cluster whose nodes have these labels."""
    selector: Any = {"matchLabels": dict(topology)} if topology is not None else None
    return _object(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        name,
        "ns",
        storageClassName=storage_class,
        capacity=free,
        maximumVolumeSize=largest,
        **{"nodeTopology": selector, **tree},
    )


def attachment(name: str, on: str, volume: str | None, driver: str = "csi.example.com") -> KubeObject:
    """A volume that is attached to a node."""
    source = {"persistentVolumeName": volume}
    spec = {"attacher": driver, "nodeName": on, "source": source}
    return _object("storage.k8s.io/v1", "VolumeAttachment", name, spec=spec)


def _object(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Iterable[Any] = (),
    deleting: bool = False,
    version: str = "1",
    **tree: Any,
) -> KubeObject:
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"{name}-uid",
        "resourceVersion": version,
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
        "ownerReferences": list(owners),
        "deletionTimestamp": "2026-01-01T00:00:00Z" if deleting else "",
    }
    return convert_object({"apiVersion": api_version, "kind": kind, "metadata": meta, **tree})
