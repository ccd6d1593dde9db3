"""Random clusters: nodes and pods made of a few traits each, so that counterexamples shrink to what matters."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import strategies as st
from msgspec.structs import replace

from moorage.objects import (
    Affinity,
    GcePersistentDisk,
    KubeObject,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    RestartRule,
    Volume,
    convert_object,
)
from moorage.testing import HOSTNAME, ZONE, NodeBuilder, PodBuilder, a_node, a_pod

NODE_NAMES: Final = tuple(f"n{number:02}" for number in range(12))
GPU: Final = "example.com/gpu"

NODE_TRAITS: Final[Mapping[str, Callable[[NodeBuilder], NodeBuilder]]] = {
    "zone a": lambda n: n.zone("a"),
    "zone b": lambda n: n.zone("b"),
    "zone c": lambda n: n.zone("c"),
    "ssd": lambda n: n.labels(disk="ssd"),
    "hdd": lambda n: n.labels(disk="hdd"),
    "rank 1": lambda n: n.labels(rank="1"),
    "rank 5": lambda n: n.labels(rank="5"),
    "rank unknown": lambda n: n.labels(rank="high"),
    "no labels": lambda n: n.metadata(labels={}),
    "one cpu": lambda n: n.allocatable(cpu="1"),
    "little memory": lambda n: n.allocatable(memory="600Mi"),
    "no cpu": lambda n: n.allocatable(cpu="0"),
    "room for 2": lambda n: n.allocatable(pods=2),
    "gpus": lambda n: n.allocatable({GPU: 2}),
    "gpu taint": lambda n: n.taint("gpu", "yes"),
    "draining": lambda n: n.taint("drain", effect="NoExecute"),
    "soft taint": lambda n: n.taint("slow", effect="PreferNoSchedule"),
    "softer taint": lambda n: n.taint("slower", effect="PreferNoSchedule"),
    "cordoned": lambda n: n.cordoned(),
    "image web": lambda n: n.image("web:1", size="800Mi"),
    "image db": lambda n: n.image("db:latest", size="2Gi"),
    "features": lambda n: n.status(declared_features=("RestartAllContainersOnContainerExits",)),
}


def _with_disk(pod: PodBuilder) -> PodBuilder:
    return pod.spec(volumes=(*pod.pod.spec.volumes, Volume(name="disk", gce_persistent_disk=GcePersistentDisk("d"))))


def _away_from_red_web(pod: PodBuilder) -> PodBuilder:
    selectors = LabelSelector({"app": "web"}), LabelSelector({"team": "red"})
    term = PodAffinityTerm(selectors[0], topology_key=ZONE, namespace_selector=selectors[1])
    return pod.spec(affinity=replace(pod.pod.spec.affinity or Affinity(), pod_anti_affinity=PodAffinity((term,))))


def _restarting(pod: PodBuilder) -> PodBuilder:
    first, *others = pod.pod.spec.containers
    return pod.spec(containers=(replace(first, restart_policy_rules=(RestartRule("RestartAllContainers"),)), *others))


POD_TRAITS: Final[Mapping[str, Callable[[PodBuilder], PodBuilder]]] = {
    "small": lambda p: p.requests(cpu="300m", memory="200Mi"),
    "big": lambda p: p.requests(cpu="1500m", memory="1Gi"),
    "gpu": lambda p: p.requests({GPU: 1}, cpu="100m"),
    "cpu only": lambda p: p.requests(cpu="700m"),
    "too big": lambda p: p.requests(cpu="64"),
    "second container": lambda p: p.container(requests={"memory": "300Mi"}),
    "init": lambda p: p.init_container(requests={"cpu": "2"}),
    "sidecar": lambda p: p.init_container(requests={"cpu": "200m"}, sidecar=True),
    "overhead": lambda p: p.overhead(cpu="250m"),
    "web": lambda p: p.labels(app="web"),
    "db": lambda p: p.labels(app="db"),
    "namespace y": lambda p: p.namespace("y"),
    "important": lambda p: p.priority(10),
    "more important": lambda p: p.priority(20),
    "unimportant": lambda p: p.priority(-5),
    "modest": lambda p: p.priority(10, preempts=False),
    "tolerates gpu": lambda p: p.tolerates("gpu", "yes"),
    "tolerates all": lambda p: p.tolerates(),
    "tolerates slow": lambda p: p.tolerates("slow", effect="PreferNoSchedule"),
    "selects ssd": lambda p: p.node_selector(disk="ssd"),
    "requires not hdd": lambda p: p.requires_nodes("disk", "NotIn", "hdd"),
    "requires rank": lambda p: p.requires_nodes("rank", "Gt", "3"),
    "requires low rank": lambda p: p.requires_nodes("rank", "Lt", "3"),
    "requires names": lambda p: p.requires_nodes("metadata.name", "In", "n02"),
    "requires other name": lambda p: p.requires_nodes("metadata.name", "NotIn", "n01"),
    "prefers ssd": lambda p: p.prefers_nodes(30, "disk", "Exists"),
    "prefers zone": lambda p: p.prefers_nodes(7, ZONE, "In", "a", "b"),
    "port": lambda p: p.host_port(80),
    "port on address": lambda p: p.host_port(80, address="10.0.0.1"),
    "port of another": lambda p: p.host_port(80, address="10.0.0.2"),
    "near web": lambda p: p.near(app="web", by=ZONE),
    "away from web": lambda p: p.away_from(app="web"),
    "away from db": lambda p: p.away_from(app="db", by=ZONE),
    "away from red web": _away_from_red_web,
    "prefers near db": lambda p: p.prefers_near(40, app="db", by=ZONE),
    "prefers away from web": lambda p: p.prefers_away_from(9, app="web"),
    "spread zones": lambda p: p.spread(app="web"),
    "spread nodes": lambda p: p.spread(app="db", by=HOSTNAME, max_skew=2),
    "spread softly": lambda p: p.spread(app="web", hard=False),
    "spread nodes softly": lambda p: p.spread(app="web", by=HOSTNAME, hard=False),
    "web image": lambda p: p.image("web:1"),
    "db image": lambda p: p.image("db"),
    "zonal claim": lambda p: p.claim("zonal"),
    "late claim": lambda p: p.claim("late"),
    "exclusive claim": lambda p: p.claim("exclusive"),
    "disk": _with_disk,
    "restarting": _restarting,
    "terminating": lambda p: p.terminating(),
    "started": lambda p: p.started("2026-01-01T00:00:00Z"),
    "started later": lambda p: p.started("2026-01-02T00:00:00Z"),
}

#: A pod has at most one trait of each line; the number says how many times as often it has none as any one of them.
ALTERNATIVES: Final[tuple[tuple[int, tuple[str, ...]], ...]] = (
    (2, ("small", "big", "gpu", "cpu only")),
    (24, ("too big",)),
    (8, ("second container", "init", "sidecar", "overhead")),
    (1, ("web", "db")),
    (4, ("namespace y",)),
    (1, ("important", "more important", "unimportant", "modest")),
    (2, ("tolerates gpu", "tolerates all", "tolerates slow")),
    (40, ("selects ssd", "requires not hdd", "requires rank", "requires low rank")),
    (40, ("requires names", "requires other name")),
    (4, ("prefers ssd", "prefers zone")),
    (16, ("port", "port on address", "port of another")),
    (10, ("near web", "away from web", "away from db", "away from red web")),
    (4, ("prefers near db", "prefers away from web")),
    (10, ("spread zones", "spread nodes", "spread softly", "spread nodes softly")),
    (3, ("web image", "db image")),
    (50, ("zonal claim", "late claim", "exclusive claim", "disk")),
    (50, ("restarting",)),
    (8, ("terminating", "started", "started later")),
)

_CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def config(*arguments: tuple[str, Any], weights: Mapping[str, int] | None = None) -> dict[str, Any]:
    """A configuration with these arguments of plugins."""
    enabled = [{"name": name, "weight": weight} for name, weight in (weights or {}).items()]
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"multiPoint": {"enabled": enabled}},
        "pluginConfig": [{"name": name, "args": value} for name, value in arguments],
    }
    return {**_CONFIG, "profiles": [profile]}


_SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 40, "score": 10}, {"utilization": 100, "score": 3}]
_THREE = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 3}, {"name": GPU, "weight": 5}]
_ZONE_A = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}

CONFIGS: Final[Mapping[str, dict[str, Any] | None]] = {
    "default": None,
    "most allocated, weighted": config(
        ("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": _THREE}}),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": one["name"]} for one in _THREE]}),
        ("InterPodAffinity", {"hardPodAffinityWeight": 50}),
        weights={"TaintToleration": 1, "ImageLocality": 7},
    ),
    "ratio, added affinity": config(
        (
            "NodeResourcesFit",
            {
                "ignoredResources": [GPU],
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "resources": _THREE,
                    "requestedToCapacityRatio": {"shape": _SHAPE},
                },
            },
        ),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "rank", "operator": "DoesNotExist"}]}]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": _ZONE_A}],
                }
            },
        ),
        (
            "PodTopologySpread",
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                    {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
                ],
            },
        ),
        ("InterPodAffinity", {"ignorePreferredTermsOfExistingPods": True}),
    ),
}


def _manifest(api_version: str, kind: str, name: str, namespace: str = "", **tree: Any) -> KubeObject:
    meta = {"name": name, "namespace": namespace, "uid": f"{name}-uid", **tree.pop("metadata", {})}
    return convert_object({"apiVersion": api_version, "kind": kind, "metadata": meta, **tree})


def _claim(name: str, *, volume: str = "", mode: str = "ReadWriteOnce") -> KubeObject:
    return _manifest(
        "v1",
        "PersistentVolumeClaim",
        name,
        "default",
        metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}},
        spec={
            "accessModes": [mode],
            "storageClassName": "late",
            "volumeName": volume,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    )


def _volume(name: str, zone: str, claim: str = "") -> KubeObject:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    return _manifest(
        "v1",
        "PersistentVolume",
        name,
        spec={
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
            "storageClassName": "late",
            "claimRef": {"namespace": "default", "name": claim, "uid": f"{claim}-uid"} if claim else None,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
        status={"phase": "Bound" if claim else "Available"},
    )


#: Everything but nodes and pods.
SURROUNDINGS: Final[tuple[KubeObject, ...]] = (
    _manifest("v1", "Namespace", "default", metadata={"labels": {"team": "red"}}),
    _manifest("v1", "Namespace", "y", metadata={"labels": {"team": "blue"}}),
    _manifest("v1", "Service", "web", "default", spec={"selector": {"app": "web"}}),
    _manifest(
        "policy/v1",
        "PodDisruptionBudget",
        "db",
        "default",
        spec={"selector": {"matchLabels": {"app": "db"}}},
        status={"disruptionsAllowed": 1},
    ),
    _manifest(
        "storage.k8s.io/v1",
        "StorageClass",
        "late",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    ),
    _claim("zonal", volume="in-a"),
    _claim("exclusive", volume="in-b", mode="ReadWriteOncePod"),
    _claim("late"),
    _volume("in-a", "a", "zonal"),
    _volume("in-b", "b", "exclusive"),
    _volume("free", "c"),
)


def nodes(name: str) -> st.SearchStrategy[Node]:
    """A node of this name with some traits."""
    traits = st.lists(st.sampled_from(sorted(NODE_TRAITS)), max_size=5, unique=True)
    return traits.map(lambda chosen: make_node(name, chosen))


def make_node(name: str, traits: list[str]) -> Node:
    """The node of this name with these traits."""
    builder = a_node(name).allocatable(cpu="4", memory="4Gi", pods=5)
    for trait in traits:
        builder = NODE_TRAITS[trait](builder)
    return builder.build()


def pod_traits() -> st.SearchStrategy[list[str]]:
    """The traits of a pod."""
    drawn = st.tuples(*(st.sampled_from([""] * plain + list(traits)) for plain, traits in ALTERNATIVES))
    return drawn.map(lambda traits: [trait for trait in traits if trait])


def make_pod(name: str, traits: list[str], *, node: str = "", nominated: str = "") -> Pod:
    """The pod of this name with these traits, on a node or promised one."""
    builder = a_pod(name)
    for trait in traits:
        builder = POD_TRAITS[trait](builder)
    if node:
        builder = builder.on(node)
    if nominated:
        builder = builder.nominated_to(nominated)
    return builder.build()
