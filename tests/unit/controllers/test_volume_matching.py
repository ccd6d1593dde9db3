"""Which volume a claim gets, and what is made for it."""

from typing import Any

import pytest

from moorage.controllers.objects.nodes import Node
from moorage.controllers.objects.volumes import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.controllers.volumes.matching import best_volume, reserved_volume
from moorage.controllers.volumes.provisioner import topology_of, volume_for
from moorage.objects import convert


def claim(**spec: Any) -> PersistentVolumeClaim:
    metadata = {"name": "c", "namespace": "ns", "uid": "1", "resourceVersion": "5"}
    base = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}
    return convert({"metadata": metadata, "spec": {**base, **spec}}, PersistentVolumeClaim)


def volume(name: str, size: str = "5Gi", **spec: Any) -> PersistentVolume:
    base = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    metadata = {"name": name, "labels": spec.pop("labels", {}), "deletionTimestamp": spec.pop("deleted", "")}
    status = {"phase": spec.pop("phase", "Available")}
    return convert({"metadata": metadata, "spec": {**base, **spec}, "status": status}, PersistentVolume)


def chosen(found: PersistentVolume | None) -> str | None:
    return None if found is None else found.metadata.name


def test_the_smallest_that_is_large_enough() -> None:
    volumes = [volume("large", "50Gi"), volume("small", "1Gi"), volume("right", "6Gi")]
    assert chosen(best_volume(volumes, claim())) == "right"


@pytest.mark.parametrize(
    ("offered", "asked"),
    [
        ({"storageClassName": "fast"}, {}),
        ({}, {"storageClassName": "fast"}),
        ({"volumeMode": "Block"}, {}),
        ({"accessModes": ["ReadOnlyMany"]}, {}),
        ({"claimRef": {"namespace": "ns", "name": "other"}}, {}),
        ({"phase": "Released"}, {}),
        ({"deleted": "2001-01-01T00:00:00Z"}, {}),
        ({"labels": {"disk": "hdd"}}, {"selector": {"matchLabels": {"disk": "ssd"}}}),
        ({"volumeAttributesClassName": "gold"}, {}),
    ],
)
def test_a_volume_of_another_kind_will_not_do(offered: dict[str, Any], asked: dict[str, Any]) -> None:
    assert best_volume([volume("v", **offered)], claim(**asked)) is None


def test_a_volume_may_be_reserved_for_a_claim_of_a_name() -> None:
    anybody = volume("anybody", claimRef={"namespace": "ns", "name": "c"})
    exactly = volume("exactly", claimRef={"namespace": "ns", "name": "c", "uid": "1"})
    earlier = volume("earlier", claimRef={"namespace": "ns", "name": "c", "uid": "0"})
    assert chosen(reserved_volume([earlier, anybody], claim())) == "anybody"
    assert chosen(reserved_volume([anybody, exactly], claim())) == "exactly"
    assert reserved_volume([earlier], claim()) is None


def storage_class(**fields: Any) -> StorageClass:
    return convert({"metadata": {"name": "fast"}, "provisioner": "disks.example.com", **fields}, StorageClass)


def node(**labels: str) -> Node:
    return convert({"metadata": {"name": "n", "labels": labels}}, Node)


def test_a_volume_is_made_as_asked_and_reserved() -> None:
    made = volume_for(claim(volumeMode="Block"), storage_class(reclaimPolicy="Retain"), None)
    assert made["metadata"]["name"] == "pvc-1"
    spec = made["spec"]
    assert (spec["capacity"], spec["volumeMode"]) == ({"storage": "5Gi"}, "Block")
    assert (spec["storageClassName"], spec["persistentVolumeReclaimPolicy"]) == ("fast", "Retain")
    assert (spec["claimRef"]["uid"], spec["csi"]["driver"]) == ("1", "disks.example.com")
    assert "nodeAffinity" not in spec


ZONE = "topology.kubernetes.io/zone"
ALLOWED = [{"matchLabelExpressions": [{"key": "rack", "values": ["r1"]}]}]


@pytest.mark.parametrize(
    ("fields", "labels", "expected"),
    [
        ({}, {ZONE: "a", "rack": "r1"}, {ZONE: ["a"]}),
        ({}, {"rack": "r1"}, None),
        ({"allowedTopologies": ALLOWED}, {ZONE: "a", "rack": "r1"}, {"rack": ["r1"]}),
        ({"parameters": {"moorage.dev/topology-key": "host"}}, {ZONE: "a", "host": "h"}, {"host": ["h"]}),
    ],
)
def test_a_volume_made_for_a_node_is_reached_from_nodes_like_it(
    fields: dict[str, Any], labels: dict[str, str], expected: dict[str, list[str]] | None
) -> None:
    assert _values(topology_of(claim(), storage_class(**fields), node(**labels))) == expected


def test_a_volume_made_for_nobody_goes_where_the_class_allows() -> None:
    assert topology_of(claim(), storage_class(), None) is None
    assert _values(topology_of(claim(), storage_class(allowedTopologies=ALLOWED), None)) == {"rack": ["r1"]}


def _values(selector: dict[str, Any] | None) -> dict[str, list[str]] | None:
    if selector is None:
        return None
    (term,) = selector["nodeSelectorTerms"]
    return {each["key"]: each["values"] for each in term["matchExpressions"]}
