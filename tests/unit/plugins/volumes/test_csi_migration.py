"""In-tree volumes as their CSI drivers see them."""

from typing import Any

import pytest
from tests.unit.plugins.volumes.volume_builders import ZONE, csi_node, expression, volume

from moorage.errors import InputError
from moorage.objects import CSINode, PersistentVolume, VolumeSources, convert
from moorage.plugins.volumes.csi_migration import (
    csi_affinity,
    in_tree_plugin,
    inline_handle,
    is_migrated_on,
    volume_handle,
)

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
EBS: dict[str, Any] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
GCE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "disk"}}


def source(**tree: Any) -> VolumeSources:
    return convert(tree, VolumeSources)


def persistent(*, terms: Any = None, labels: dict[str, str] | None = None, **tree: Any) -> PersistentVolume:
    made = volume("pv", terms=terms, labels=labels, **tree)
    assert isinstance(made, PersistentVolume)
    return made


@pytest.mark.parametrize(
    ("tree", "name", "migrated"),
    [
        (EBS, "kubernetes.io/aws-ebs", True),
        (GCE, "kubernetes.io/gce-pd", True),
        ({"cinder": {"volumeID": "c"}}, "kubernetes.io/cinder", True),
        ({"azureDisk": {"diskName": "d"}}, "kubernetes.io/azure-disk", True),
        ({"portworxVolume": {"volumeID": "p"}}, "kubernetes.io/portworx-volume", True),
        ({"azureFile": {"shareName": "s"}}, "kubernetes.io/azure-file", False),
        ({"vsphereVolume": {"volumePath": "v"}}, "kubernetes.io/vsphere-volume", False),
    ],
)
def test_plugins_with_a_csi_successor_are_recognised(tree: dict[str, Any], name: str, migrated: bool) -> None:
    plugin = in_tree_plugin(source(**tree))

    assert plugin is not None
    assert (plugin.name, plugin.is_migrated) == (name, migrated)


def test_other_volumes_have_no_in_tree_plugin() -> None:
    assert in_tree_plugin(source(csi={"driver": "d"})) is None
    assert in_tree_plugin(source(iscsi={"iqn": "q"})) is None


@pytest.mark.parametrize(
    ("tree", "handle"),
    [
        (EBS, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws://zone-a/vol-2"}}, "vol-2"),
        ({"awsElasticBlockStore": {"volumeID": "aws:///vol-3"}}, "vol-3"),
        (GCE, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"),
        ({"cinder": {"volumeID": "c"}}, "c"),
        ({"azureDisk": {"diskName": "d", "diskURI": "/disks/d", "kind": "Managed"}}, "/disks/d"),
        ({"portworxVolume": {"volumeID": "p"}}, "p"),
    ],
)
def test_inline_handles(tree: dict[str, Any], handle: str) -> None:
    assert inline_handle(source(**tree)) == handle


def test_what_the_driver_cannot_name_is_refused() -> None:
    with pytest.raises(InputError, match="Invalid format for AWS volume"):
        inline_handle(source(awsElasticBlockStore={"volumeID": "aws://zone/nonsense"}))
    with pytest.raises(InputError, match="kind\\(Dedicated\\) is not supported"):
        inline_handle(source(azureDisk={"diskName": "d", "kind": "Dedicated"}))
    with pytest.raises(InputError, match="no migrated in-tree plugin"):
        inline_handle(source(vsphereVolume={"volumePath": "v"}))
    with pytest.raises(InputError, match="unexpected format"):
        volume_handle(persistent(labels={ZONE: "here__there"}, **GCE))
    with pytest.raises(InputError, match="several"):
        volume_handle(persistent(labels={ZONE: "us-east1-a__us-west1-a"}, **GCE))


def test_a_google_disk_is_named_by_zone_or_region() -> None:
    assert volume_handle(persistent(labels={ZONE: "us-east1-a"}, **GCE)).endswith("/zones/us-east1-a/disks/disk")
    regional = persistent(labels={BETA_ZONE: "us-east1-a__us-east1-b"}, **GCE)
    assert volume_handle(regional) == "projects/UNSPECIFIED/regions/us-east1/disks/disk"


def affinity_of(made: PersistentVolume) -> list[list[tuple[str, str, tuple[str, ...]]]]:
    translated = csi_affinity(made)
    if translated is None or translated.required is None:
        return []
    return [
        [(item.key, item.operator, item.values) for item in term.match_expressions]
        for term in translated.required.node_selector_terms
    ]


def test_zones_of_the_affinity_are_put_in_the_drivers_label() -> None:
    terms = [{"matchExpressions": [expression(ZONE, "In", "z1"), expression("disk", "Exists")]}]

    assert affinity_of(persistent(terms=terms, labels={ZONE: "ignored"}, **EBS)) == [
        [("topology.ebs.csi.aws.com/zone", "In", ("z1",)), ("disk", "Exists", ())]
    ]


def test_beta_zones_and_regions_are_brought_up_to_date() -> None:
    terms = [{"matchExpressions": [expression(BETA_ZONE, "In", "z1"), expression(BETA_REGION, "In", "r1")]}]

    assert affinity_of(persistent(terms=terms, **GCE)) == [
        [("topology.gke.io/zone", "In", ("z1",)), ("topology.kubernetes.io/region", "In", ("r1",))]
    ]


def test_zones_come_from_the_labels_where_the_affinity_names_none() -> None:
    key = "topology.cinder.csi.openstack.org/zone"
    cinder = {"cinder": {"volumeID": "c"}}
    other = [{"matchExpressions": [expression("disk", "Exists")]}, {"matchExpressions": [expression("ssd", "Exists")]}]

    assert affinity_of(persistent(labels={ZONE: "z2__z1"}, **cinder)) == [[(key, "In", ("z1", "z2"))]]
    assert affinity_of(persistent(terms=other, labels={ZONE: "z1"}, **cinder)) == [
        [("disk", "Exists", ()), (key, "In", ("z1",))],
        [("ssd", "Exists", ()), (key, "In", ("z1",))],
    ]
    assert affinity_of(persistent(**cinder)) == []


def test_drivers_without_topology_and_other_volumes_keep_their_affinity() -> None:
    terms = [{"matchExpressions": [expression(ZONE, "In", "z1")]}]
    for tree in ({"portworxVolume": {"volumeID": "p"}}, {"csi": {"driver": "d"}}):
        assert affinity_of(persistent(terms=terms, **tree)) == [[(ZONE, "In", ("z1",))]]


def test_a_node_says_which_plugins_it_migrated() -> None:
    ebs = in_tree_plugin(source(**EBS))
    assert ebs is not None

    def on(migrated: str) -> bool:
        made = csi_node("n", migrated=migrated)
        assert isinstance(made, CSINode)
        return is_migrated_on(ebs, made)

    assert on("kubernetes.io/cinder,kubernetes.io/aws-ebs")
    assert not on("kubernetes.io/cinder")
    assert not on("")
    assert not is_migrated_on(ebs, None)
