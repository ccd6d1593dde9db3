"""What plugins decide differently in different versions of Kubernetes, each seen on a cluster of its own."""

import pytest

from moorage.config import default_config, features_of
from moorage.objects import (
    Affinity,
    CSIDriver,
    CSIDriverSpec,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    StorageClass,
    convert_object,
)
from moorage.testing import Cluster, a_node, a_pod


@pytest.mark.parametrize(
    ("version", "first"),
    [("1.36", ("NodeUnschedulable", "NodeName")), ("1.37", ("NodeName", "NodeUnschedulable"))],
)
def test_the_order_of_the_first_filters(version: str, first: tuple[str, str]) -> None:
    plugins = default_config(features=features_of(version)).profiles[0].plugins
    assert plugins.at("filter")[:2] == first
    assert ("NodeName" in plugins.at("preFilter")) == (version == "1.37")


def test_a_pod_that_names_its_node_is_tried_there_alone() -> None:
    cluster = Cluster(a_node("a").cordoned(), a_node("b"))
    pod = a_pod().on("a")
    assert cluster.decide(pod, version="1.36").message == (
        "0/2 nodes are available: 1 node(s) didn't match the requested node name, 1 node(s) were unschedulable."
    )
    assert cluster.decide(pod, version="1.37").message == (
        "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeName], 1 node(s) were unschedulable."
    )


def test_a_selector_of_what_a_namespace_is_not_no_longer_means_all_of_them() -> None:
    not_x = LabelSelector(match_expressions=(LabelSelectorRequirement("kind", "DoesNotExist"),))
    term = PodAffinityTerm(
        label_selector=LabelSelector(), topology_key="kubernetes.io/hostname", namespace_selector=not_x
    )
    apart = Affinity(pod_anti_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(term,)))
    cluster = Cluster(
        Namespace(ObjectMeta(name="default")),
        Namespace(ObjectMeta(name="x", labels={"kind": "x"})),
        a_node("a"),
        a_pod("other").namespace("x").on("a"),
    )
    pod = a_pod("p").spec(affinity=apart)
    assert not cluster.decide(pod, version="1.36").chosen
    assert cluster.decide(pod, version="1.37").chosen == "a"


def test_images_of_volumes_count_among_the_images() -> None:
    held = "example.com/data:1"
    cluster = Cluster(a_node("a").image(held, size="900Mi"), a_node("b").image(held, size="900Mi"))
    pod = convert_object(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {
                "containers": [{"name": "c", "image": "example.com/small:1"}],
                "volumes": [{"name": "v", "image": {"reference": held}}],
            },
        }
    )
    assert isinstance(pod, Pod)
    older, newer = (cluster.decide(pod, version=version) for version in ("1.36", "1.37"))
    assert (older.score("a", "ImageLocality"), newer.score("a", "ImageLocality")) == (89, 44)


def test_a_driver_that_must_be_there_is_looked_for_under_its_gate() -> None:
    claim = PersistentVolumeClaim(
        ObjectMeta(name="c", namespace="default"),
        PersistentVolumeClaimSpec(storage_class_name="late"),
    )
    cluster = Cluster(
        a_node("a"),
        claim,
        StorageClass(ObjectMeta(name="late"), provisioner="csi", volume_binding_mode="WaitForFirstConsumer"),
        CSIDriver(ObjectMeta(name="csi"), CSIDriverSpec(prevent_pod_scheduling_if_missing=True)),
    )
    pod = a_pod("p").claim("c")
    assert cluster.decide(pod, version="1.36").chosen == "a"
    assert cluster.decide(pod, version="1.37", gates={"VolumeLimitScaling": False}).chosen == "a"
    assert cluster.decide(pod, version="1.37").message == (
        "0/1 nodes are available: 1 csi CSI driver is not installed on the node."
    )


def test_what_post_filter_says_where_it_does_nothing() -> None:
    cluster = Cluster(a_node("a").allocatable(cpu="1"))
    pod = a_pod("p").requests(cpu="2")
    texts = {}
    for version in ("1.36", "1.37"):
        preemption = cluster.decide(pod, version=version).preemption
        assert preemption is not None
        texts[version] = preemption.message
    assert texts["1.37"] == "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert texts["1.36"] == f"no new claims to deallocate, {texts['1.37']}"
