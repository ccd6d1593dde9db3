"""VolumeBinding before a node is chosen: claims, volumes that are bound, found or made."""

from typing import Any

import pytest
from tests.unit.plugins.volumes.volume_builders import (
    HOSTNAME,
    ZONE,
    Cluster,
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

from moorage.config import VolumeBindingArgs
from moorage.framework.status import SKIP, error, unresolvable
from moorage.objects import KubeObject
from moorage.plugins.volumes import VolumeBinding

UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_ROOM = "node(s) did not have enough free storage"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

BY_HAND = storage_class(provisioner="kubernetes.io/no-provisioner")
SELECTED = "volume.kubernetes.io/selected-node"


def cluster_of(*objects: KubeObject) -> tuple[Cluster, VolumeBinding]:
    cluster = Cluster(*objects)
    return cluster, VolumeBinding(VolumeBindingArgs(), cluster.handle)


def reasons(*objects: KubeObject, volumes: Any = None) -> dict[str, tuple[str, ...]]:
    """The reasons against nodes a and b for a pod with claim c."""
    cluster, plugin = cluster_of(node("a", {ZONE: "z1"}), node("b", {ZONE: "z2"}), *objects)
    return cluster.reasons(plugin, pod("p", *(volumes or [of_claim("c")])))


@pytest.mark.parametrize(
    ("objects", "answer"),
    [
        ([], unresolvable('persistentvolumeclaim "c" not found')),
        (
            [claim("c", phase="Lost", volume="v")],
            unresolvable('persistentvolumeclaim "c" bound to non-existent persistentvolume "v"'),
        ),
        ([claim("c", deleting=True)], unresolvable('persistentvolumeclaim "c" is being deleted')),
        ([claim("c")], unresolvable("pod has unbound immediate PersistentVolumeClaims")),
        ([claim("c", storage_class=None)], unresolvable("pod has unbound immediate PersistentVolumeClaims")),
        (
            [claim("c"), storage_class(mode="Immediate")],
            unresolvable("pod has unbound immediate PersistentVolumeClaims"),
        ),
        (
            [claim("c", volume="chosen-by-the-user"), storage_class()],
            unresolvable("pod has unbound immediate PersistentVolumeClaims"),
        ),
        ([claim("c"), storage_class(mode=None)], error('VolumeBindingMode not set for StorageClass "late"')),
    ],
)
def test_a_claim_that_is_not_ready_ends_the_search(objects: list[KubeObject], answer: object) -> None:
    cluster, plugin = cluster_of(node("a"), *objects)

    assert cluster.run(plugin, pod("p", of_claim("c"))) == answer


def test_an_ephemeral_claim_must_exist_and_belong_to_the_pod() -> None:
    cluster, plugin = cluster_of(node("a"), claim("other-v0"))

    missing = cluster.run(plugin, pod("mine", ephemeral()))
    foreign = cluster.run(plugin, pod("other", ephemeral()))

    text = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "mine-v0"'
    assert missing == unresolvable(text)
    assert foreign == unresolvable("PVC ns/other-v0 was not created for pod ns/other (pod is not owner)")


def test_pods_without_claims_are_skipped() -> None:
    cluster, plugin = cluster_of(node("a"))

    assert cluster.run(plugin, pod()) is SKIP
    assert cluster.run(plugin, pod("p", {"emptyDir": {}})) is SKIP


def test_bound_volumes_must_be_reached() -> None:
    bound = claim("c", volume="v", bound=True)

    assert reasons(bound, volume("v")) == {}
    assert reasons(bound, volume("v", nodes=["a"])) == {"b": (UNREACHABLE,)}
    assert reasons(bound) == {"a": (VOLUME_GONE,), "b": (VOLUME_GONE,)}
    # Of a volume kube-scheduler asks about labels alone: what a term says of the name is not looked at.
    by_name = [{"matchFields": [expression("metadata.name", "In", "a")]}]
    assert reasons(bound, volume("v", terms=by_name)) == {}
    not_by_name = [{"matchFields": [expression("metadata.name", "NotIn", "a")]}]
    assert reasons(bound, volume("v", terms=not_by_name)) == {}


@pytest.mark.parametrize(
    ("requirements", "rejected"),
    [
        ([expression(ZONE, "NotIn", "z1")], ["a"]),
        ([expression(ZONE, "Exists")], []),
        ([expression(ZONE, "DoesNotExist")], ["a", "b"]),
        ([expression("n", "Gt", "4")], ["a", "b"]),
        ([expression(ZONE, "In", "z1"), expression(HOSTNAME, "In", "b")], ["a", "b"]),
        ([expression(ZONE, "Bad", "z1")], ["a", "b"]),
        ([], ["a", "b"]),
    ],
)
def test_affinities_of_every_kind(requirements: list[Any], rejected: list[str]) -> None:
    bound = [claim("c", volume="v", bound=True), volume("v", terms=[{"matchExpressions": requirements}])]

    assert sorted(reasons(*bound)) == rejected


def test_the_first_bound_claim_that_fails_speaks_and_unbound_ones_are_still_looked_at() -> None:
    objects = [
        claim("near-a", volume="v", bound=True),
        volume("v", nodes=["a"], claimed_by="near-a", phase="Bound"),
        claim("gone", volume="gone", bound=True),
        claim("late"),
        BY_HAND,
    ]
    volumes = [of_claim("near-a"), of_claim("gone"), of_claim("late")]

    assert reasons(*objects, volumes=volumes) == {"a": (NO_VOLUME, VOLUME_GONE), "b": (UNREACHABLE, NO_VOLUME)}


def test_a_migrated_volume_is_reached_by_its_drivers_labels_where_the_node_migrated_it() -> None:
    key = "topology.ebs.csi.aws.com/zone"
    terms = [{"matchExpressions": [expression(ZONE, "In", "z1")]}]
    cluster, plugin = cluster_of(
        node("in-tree", {ZONE: "z1"}),
        node("migrated", {key: "z1"}),
        node("migrated-elsewhere", {ZONE: "z1", key: "z2"}),
        csi_node("in-tree"),
        csi_node("migrated", migrated="kubernetes.io/aws-ebs"),
        csi_node("migrated-elsewhere", migrated="kubernetes.io/aws-ebs"),
        claim("c", volume="v", bound=True),
        volume("v", terms=terms, awsElasticBlockStore={"volumeID": "vol-1"}),
    )

    assert cluster.reasons(plugin, pod("p", of_claim("c"))) == {"migrated-elsewhere": (UNREACHABLE,)}


def test_an_existing_volume_serves_the_nodes_that_reach_it() -> None:
    here = expression(ZONE, "In", "z1")
    assert reasons(claim("c"), BY_HAND, volume("v", nodes=["b"])) == {"a": (NO_VOLUME,)}
    assert reasons(claim("c"), BY_HAND, volume("v", terms=[{"matchExpressions": [here]}])) == {"b": (NO_VOLUME,)}
    here_by_name = {"matchExpressions": [here], "matchFields": [expression("metadata.name", "In", "a")]}
    assert set(reasons(claim("c"), BY_HAND, volume("v", terms=[here_by_name]))) == {"b"}


@pytest.mark.parametrize(
    "unfit",
    [
        volume("v", size="1Mi"),
        volume("v", storage_class="other"),
        volume("v", phase="Released"),
        volume("v", phase="Pending"),
        volume("v", deleting=True),
        volume("v", modes=["ReadOnlyMany"]),
        volume("v", claimed_by="another"),
        volume("v", claimed_by="c", claim_uid="an-older-c"),
        volume("v", volumeMode="Block"),
        volume("v", volumeAttributesClassName="gold"),
    ],
)
def test_volumes_that_do_not_fit_the_claim(unfit: KubeObject) -> None:
    assert reasons(claim("c"), BY_HAND, unfit) == {"a": (NO_VOLUME,), "b": (NO_VOLUME,)}


def test_the_claims_selector_and_modes_choose_among_volumes() -> None:
    gold = volume("v", labels={"tier": "gold"}, volumeMode="Block", modes=["ReadWriteOnce", "ReadOnlyMany"])
    wanted: dict[str, Any] = {"selector": {"matchLabels": {"tier": "gold"}}, "volumeMode": "Block"}

    assert reasons(claim("c", **wanted), BY_HAND, gold) == {}
    wanted["selector"] = {"matchLabels": {"tier": "silver"}}
    assert set(reasons(claim("c", **wanted), BY_HAND, gold)) == {"a", "b"}


def test_the_beta_annotation_goes_before_the_class_named_in_the_spec() -> None:
    annotation = {"volume.beta.kubernetes.io/storage-class": "late"}
    claimed = claim("c", storage_class="ignored", annotations=annotation)

    assert reasons(claimed, BY_HAND, volume("v", storage_class="ignored", annotations=annotation)) == {}


def test_a_volume_reserved_for_the_claim_is_the_only_one_that_will_do() -> None:
    others = [volume("other"), BY_HAND, claim("c")]

    assert reasons(*others, volume("v", claimed_by="c", nodes=["a"], phase="Bound")) == {"b": (NO_VOLUME,)}
    assert reasons(*others, volume("v", claimed_by="c", size="1Mi", nodes=["a"])) == {}


def test_each_claim_takes_a_volume_of_its_own() -> None:
    claims = [claim("c"), claim("d"), BY_HAND]
    both = [of_claim("c"), of_claim("d")]
    one_each = [volume("a1", nodes=["a"]), volume("b1", nodes=["b"])]

    assert reasons(*claims, *one_each, volume("a2", nodes=["a"]), volumes=both) == {"b": (NO_VOLUME,)}
    assert reasons(*claims, *one_each, volume("anywhere"), volumes=both) == {}


def test_small_claims_choose_first_so_that_large_ones_find_room() -> None:
    claims = [claim("large", size="5Gi"), claim("small", size="1Gi"), BY_HAND]
    both = [of_claim("large"), of_claim("small")]

    assert reasons(*claims, volume("v5", size="5Gi"), volume("v2", size="2Gi"), volumes=both) == {}
    assert set(reasons(*claims, volume("v5", size="5Gi"), volumes=both)) == {"a", "b"}


def test_a_claim_named_twice_needs_two_volumes_as_in_kube_scheduler() -> None:
    twice = [of_claim("c"), of_claim("c")]

    assert set(reasons(claim("c"), BY_HAND, volume("v"), volumes=twice)) == {"a", "b"}
    assert reasons(claim("c"), BY_HAND, volume("v"), volume("w"), volumes=twice) == {}


def test_what_no_volume_serves_is_provisioned_where_the_class_allows() -> None:
    def topology(*values: str) -> dict[str, Any]:
        return {"matchLabelExpressions": [{"key": ZONE, "values": list(values)}]}

    assert reasons(claim("c"), storage_class()) == {}
    assert set(reasons(claim("c"), storage_class(provisioner=""))) == {"a", "b"}
    assert reasons(claim("c"), storage_class(topologies=[topology("z1")])) == {"b": (NO_VOLUME,)}
    assert reasons(claim("c"), storage_class(topologies=[topology("z1"), topology("z2")])) == {}
    assert set(reasons(claim("c"), storage_class(topologies=[{}]))) == {"a", "b"}


@pytest.mark.parametrize(
    ("published", "rejected"),
    [
        ([], ["a", "b"]),
        ([capacity("1", free="1Gi", topology={ZONE: "z1"})], ["b"]),
        ([capacity("1", free="1Gi", topology={})], []),
        ([capacity("1", free="1Mi", topology={})], ["a", "b"]),
        ([capacity("1", free="9Gi", largest="1Mi", topology={})], ["a", "b"]),
        ([capacity("1", free="0", largest="1Gi", topology={})], []),
        ([capacity("1", topology={})], ["a", "b"]),
        ([capacity("1", free="9Gi")], ["a", "b"]),
        ([capacity("1", free="9Gi", topology={}, storage_class="other")], ["a", "b"]),
        ([capacity("1", free="9Gi", nodeTopology={"matchExpressions": [expression(ZONE, "Bad")]})], ["a", "b"]),
        ([capacity("1", free="9Gi", nodeTopology={"matchExpressions": [expression(ZONE, "NotIn", "z1")]})], ["a"]),
        ([capacity(zone, free="2Gi", topology={ZONE: zone, HOSTNAME: "b"}) for zone in ("z1", "z2")], ["a"]),
    ],
)
def test_provisioning_needs_free_storage_where_the_driver_publishes_it(
    published: list[KubeObject], rejected: list[str]
) -> None:
    found = reasons(claim("c"), storage_class(), csi_driver(), *published)

    assert found == dict.fromkeys(rejected, (NO_ROOM,))


def test_capacity_does_not_matter_where_it_is_not_published_or_no_size_is_asked() -> None:
    assert reasons(claim("c"), storage_class(), csi_driver(storage_capacity=False)) == {}
    assert reasons(claim("c"), storage_class(), csi_driver(storage_capacity=None)) == {}
    assert reasons(claim("c", size=None), storage_class(), csi_driver()) == {}


def test_where_the_class_does_not_provision_nobody_asks_for_room() -> None:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}]

    found = reasons(claim("c"), storage_class(topologies=topologies), csi_driver())

    assert found == {"a": (NO_ROOM,), "b": (NO_VOLUME,)}


def test_only_what_has_no_volume_is_provisioned() -> None:
    objects = [claim("c"), claim("d"), volume("v", nodes=["a"]), storage_class(), csi_driver()]
    enough = capacity("1", free="1Gi", topology={ZONE: "z1"})

    assert reasons(*objects, enough, volumes=[of_claim("c"), of_claim("d")]) == {"b": (NO_ROOM,)}
    assert reasons(*objects, volumes=[of_claim("c")]) == {"b": (NO_ROOM,)}


def test_a_claim_being_provisioned_for_a_node_ties_the_pod_to_it() -> None:
    selected = claim("c", annotations={SELECTED: "a"})

    assert reasons(selected, storage_class()) == {"b": (NO_VOLUME,)}
    assert reasons(selected, storage_class(), csi_driver()) == {"a": (NO_ROOM,), "b": (NO_VOLUME,)}
    # A volume that came up meanwhile is left to others: this claim's own is on its way.
    assert set(reasons(selected, BY_HAND, volume("v"))) == {"a", "b"}


def test_volumes_and_nodes_that_change_are_seen_by_the_next_cycle() -> None:
    cluster, plugin = cluster_of(node("a"), claim("c"), BY_HAND, volume("v", nodes=["b"]))
    wanted = pod("p", of_claim("c"))
    assert set(cluster.reasons(plugin, wanted)) == {"a"}

    cluster.snapshot.add(volume("v", nodes=["a"], version="2"))
    assert cluster.reasons(plugin, wanted) == {}
    cluster.snapshot.add(volume("v", nodes=["a"], version="3", claimed_by="somebody"))
    assert set(cluster.reasons(plugin, wanted)) == {"a"}
