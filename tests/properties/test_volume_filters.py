"""Volumes: the many-rows form agrees with the plain one, and the indexed search with a search through everything."""

from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plugins.volumes.volume_builders import (
    HOSTNAME,
    ZONE,
    Cluster,
    attachment,
    capacity,
    claim,
    csi_driver,
    csi_node,
    ephemeral,
    expression,
    node,
    of_claim,
    pod,
    storage_class,
    volume,
)

from moorage.columns import NodeInfo
from moorage.config import VolumeBindingArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Status
from moorage.objects import KubeObject, PersistentVolume, PersistentVolumeClaim, Pod
from moorage.plugins.volumes import NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone
from moorage.plugins.volumes.binding.affinity import VolumeAffinities
from moorage.plugins.volumes.binding.matching import Candidates, is_reserved_for
from moorage.values.nodeselector import compile_node_selector
from moorage.values.quantity import parse_quantity
from moorage.values.selector import compile_selector

NODES = ("n0", "n1", "n2", "n3")
CLAIMS = ("c0", "c1", "c2")
VOLUMES = ("v0", "v1", "v2", "v3", "v4")
#: Mostly classes whose claims wait for a node.
CLASSES = ("late", "late", "late", "late", "by-hand", "by-hand", "now")
DRIVERS = ("csi.example.com", "ebs.csi.aws.com")
SIZES = ("1Gi", "2Gi", "3Gi")
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"

T = TypeVar("T")
zones = st.sampled_from(("z1", "z2"))
placements = st.dictionaries(st.sampled_from((ZONE, BETA_ZONE, EBS_ZONE, "rank")), st.sampled_from(("z1", "z2", "7")))


def maybe(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return st.one_of(st.none(), strategy)


@st.composite
def expressions(draw: st.DrawFn) -> dict[str, Any]:
    key = draw(st.sampled_from((HOSTNAME, ZONE, BETA_ZONE, "rank")))
    operator = draw(st.sampled_from(("In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Nonsense")))
    if operator in ("Exists", "DoesNotExist"):
        return expression(key, operator)
    if operator == "Gt":
        return expression(key, operator, draw(st.sampled_from(("5", "9", "x"))))
    return expression(key, operator, *draw(st.sets(st.sampled_from((*NODES, "z1", "z2", "7")), min_size=1, max_size=3)))


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    named = draw(st.sampled_from(([], [], [], *([expression("metadata.name", how, "n0")] for how in ("In", "NotIn")))))
    return {"matchExpressions": draw(st.lists(expressions(), max_size=2)), "matchFields": named}


@st.composite
def sources(draw: st.DrawFn, name: str) -> dict[str, Any]:
    return draw(
        st.sampled_from(
            [
                {},
                {"csi": {"driver": DRIVERS[0], "volumeHandle": name}},
                {"csi": {"driver": DRIVERS[1], "volumeHandle": "vol-1"}},
                {"awsElasticBlockStore": {"volumeID": "aws://z1/vol-1"}},
            ]
        )
    )


@st.composite
def volumes(draw: st.DrawFn, name: str) -> KubeObject:
    return volume(
        name,
        size=draw(st.sampled_from(SIZES)),
        storage_class=draw(st.sampled_from(CLASSES)),
        terms=draw(maybe(st.lists(terms(), max_size=2))),
        claimed_by=draw(st.sampled_from(("", "", "", *CLAIMS))),
        phase=draw(st.sampled_from(("Available", "Available", "Bound"))),
        modes=draw(st.sampled_from((["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"]))),
        labels=draw(placements),
        deleting=draw(st.sampled_from((False, False, False, True))),
        volumeMode=draw(st.sampled_from((None, None, "Filesystem", "Block"))),
        **draw(sources(name)),
    )


@st.composite
def claims(draw: st.DrawFn, name: str) -> KubeObject:
    bound = draw(st.booleans())
    selected = draw(st.sampled_from((None, None, None, *NODES))) if not bound else None
    return claim(
        name,
        size=draw(maybe(st.sampled_from(SIZES))),
        storage_class=draw(st.sampled_from(CLASSES)),
        volume=draw(st.sampled_from((*VOLUMES, "gone"))) if bound else "",
        bound=bound,
        modes=draw(st.sampled_from((["ReadWriteOnce"], ["ReadWriteMany"], ["ReadWriteOncePod"]))),
        annotations={"volume.kubernetes.io/selected-node": selected} if selected else {},
        selector=draw(st.sampled_from((None, None, {"matchLabels": {ZONE: "z1"}}))),
    )


@st.composite
def pods(draw: st.DrawFn, name: str, on: str = "") -> Pod:
    choices = [*map(of_claim, CLAIMS), {"awsElasticBlockStore": {"volumeID": "vol-1"}}, {"emptyDir": {}}]
    return pod(name, *draw(st.lists(st.sampled_from([*choices, ephemeral()] if on else choices), max_size=3)), on=on)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    topologies = draw(st.lists(st.builds(_topology, st.sampled_from((ZONE, HOSTNAME)), zones), max_size=2))
    objects: list[KubeObject] = [
        storage_class("late", topologies=topologies),
        storage_class("by-hand", provisioner="kubernetes.io/no-provisioner"),
        storage_class("now", mode="Immediate"),
        csi_driver(storage_capacity=draw(st.booleans())),
    ]
    for name in NODES:
        objects.append(node(name, draw(placements)))
        limits = draw(maybe(st.dictionaries(st.sampled_from(DRIVERS), maybe(st.integers(0, 2)))))
        if limits is not None:
            migrated = draw(st.sampled_from(("", "kubernetes.io/aws-ebs")))
            objects.append(csi_node(name, limits, migrated=migrated))
    objects += [draw(volumes(name)) for name in VOLUMES]
    objects += [draw(claims(name)) for name in CLAIMS]
    for at in range(draw(st.integers(0, 2))):
        reached = draw(st.sampled_from((None, {}, {ZONE: "z1"}, {HOSTNAME: "n1"}, {HOSTNAME: "n2", ZONE: "z2"})))
        objects.append(capacity(f"cap{at}", free=draw(maybe(st.sampled_from(SIZES))), topology=reached))
    for at in range(draw(st.integers(0, 3))):
        where = draw(st.sampled_from(NODES))
        objects.append(attachment(f"at{at}", where, draw(st.sampled_from(VOLUMES)), draw(st.sampled_from(DRIVERS))))
    return Cluster(*objects)


def _topology(key: str, value: str) -> dict[str, Any]:
    return {"matchLabelExpressions": [{"key": key, "values": [value, "n0"]}]}


@settings(max_examples=100, deadline=None)
@given(clusters(), st.data())
def test_both_forms_of_every_filter_agree_while_things_change(cluster: Cluster, data: st.DataObject) -> None:
    handle, nodes = cluster.handle, cluster.snapshot.nodes
    plugins = (
        VolumeRestrictions(None, handle),
        NodeVolumeLimits(None, handle),
        VolumeBinding(VolumeBindingArgs(), handle),
        VolumeZone(None, handle),
    )
    placed: list[tuple[str, Pod]] = []
    for turn in range(4):
        wanted = data.draw(pods("new"))
        for plugin in plugins:
            cluster.run(plugin, wanted)
        leaves = data.draw(st.booleans())
        if placed and leaves:
            where, leaving = placed.pop()
            nodes.remove_pod(cluster.info(leaving), where)
        else:
            where = data.draw(st.sampled_from((*NODES, "unknown")))
            placed.append((where, data.draw(pods(f"p{turn}", on=where))))
            nodes.add_pod(cluster.info(placed[-1][1]), where)
        cluster.snapshot.add(data.draw(st.one_of(*map(volumes, VOLUMES), *map(claims, CLAIMS))))


def plain_match(
    claimed: PersistentVolumeClaim, every: list[PersistentVolume], place: NodeInfo, taken: set[str]
) -> PersistentVolume | None:
    """The volume for a claim on a node, by looking at one volume after the other."""
    wanted = parse_quantity(claimed.spec.resources.requests.get("storage", 0))
    best: PersistentVolume | None = None
    for one in every:
        reference = one.spec.claim_ref
        size = parse_quantity(one.spec.capacity["storage"])
        modes = (one.spec.volume_mode or "Filesystem", claimed.spec.volume_mode or "Filesystem")
        if one.metadata.name in taken or (reference is not None and not is_reserved_for(one, claimed)):
            continue
        if size < wanted or modes[0] != modes[1] or one.metadata.deletion_timestamp:
            continue
        affinity = one.spec.node_affinity.required if one.spec.node_affinity else None
        reached = affinity is None or any(
            all(item.matches(place.labels) for item in term.labels) for term in compile_node_selector(affinity).terms
        )
        if reference is not None:
            return one if reached else None
        selector = claimed.spec.selector
        if (
            one.status.phase != "Available"
            or (selector is not None and not compile_selector(selector).matches(one.metadata.labels))
            or one.spec.storage_class_name != claimed.spec.storage_class_name
            or not reached
            or not set(claimed.spec.access_modes) <= set(one.spec.access_modes)
        ):
            continue
        if best is None or size < parse_quantity(best.spec.capacity["storage"]):
            best = one
    return best


@settings(max_examples=100, deadline=None)
@given(clusters(), st.sets(st.sampled_from(VOLUMES)))
def test_the_indexed_search_finds_what_a_search_through_all_volumes_finds(cluster: Cluster, taken: set[str]) -> None:
    every = list(cluster.snapshot.objects.each(PersistentVolume))
    for claimed in cluster.snapshot.objects.each(PersistentVolumeClaim):
        candidates = Candidates(claimed, every, VolumeAffinities())
        for place in cluster.snapshot.nodes:
            assert candidates.first(place.labels, taken) == plain_match(claimed, every, place, taken)


@settings(max_examples=100, deadline=None)
@given(clusters(), st.data())
def test_no_volume_is_given_twice_and_letting_go_leaves_no_trace(cluster: Cluster, data: st.DataObject) -> None:
    plugin = VolumeBinding(VolumeBindingArgs(), cluster.handle)
    objects = cluster.snapshot.objects

    def everything() -> list[KubeObject]:
        return [*objects.each(PersistentVolume), *objects.each(PersistentVolumeClaim)]

    before = everything()
    reserved: list[tuple[CycleState, Pod]] = []
    for turn in range(3):
        state, wanted = CycleState(), data.draw(pods(f"p{turn}"))
        verdicts = cluster.run(plugin, wanted, state)
        fitting = [] if isinstance(verdicts, Status) else [name for name, status in verdicts.items() if status is None]
        if fitting:
            assert plugin.reserve(state, cluster.info(wanted), data.draw(st.sampled_from(fitting))) is None
            reserved.append((state, wanted))
    for old, new in zip(before, everything(), strict=True):
        if isinstance(old, PersistentVolume) and isinstance(new, PersistentVolume) and old.spec.claim_ref is not None:
            assert new.spec.claim_ref is not None
            assert new.spec.claim_ref.name == old.spec.claim_ref.name
    for state, wanted in reversed(reserved):
        plugin.unreserve(state, cluster.info(wanted), "")
    assert everything() == before
