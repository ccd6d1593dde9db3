"""NodeVolumeLimits: what counts, against which limit, for new pods and for those already there."""

from typing import Any

import pytest
from tests.unit.plugins.volumes.volume_builders import (
    Cluster,
    attachment,
    claim,
    csi_node,
    ephemeral,
    hint,
    node,
    of_claim,
    pod,
    storage_class,
    volume,
)

from moorage.framework.events import Action, Hint, Resource
from moorage.framework.status import SKIP, error, unresolvable
from moorage.objects import CSINode, KubeObject
from moorage.plugins.volumes import NodeVolumeLimits
from moorage.plugins.volumes.node_volume_limits import TOO_MANY_VOLUMES

DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"


def csi_volume(name: str, driver: str = DRIVER, handle: str = "") -> tuple[KubeObject, KubeObject]:
    """A volume with a claim `c-NAME` bound to it."""
    source = {"driver": driver, "volumeHandle": handle or f"h-{name}"}
    return volume(name, csi=source), claim(f"c-{name}", volume=name, bound=True)


def one_node(*objects: KubeObject, limits: dict[str, int | None] | None = None) -> tuple[Cluster, NodeVolumeLimits]:
    cluster = Cluster(node("a"), csi_node("a", limits if limits is not None else {DRIVER: 2}), *objects)
    return cluster, NodeVolumeLimits(None, cluster.handle)


def inline_ebs(volume_id: str) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": volume_id}}


def test_pods_without_anything_to_attach_are_skipped() -> None:
    cluster, plugin = one_node()

    assert cluster.run(plugin, pod()) is SKIP
    assert cluster.run(plugin, pod("p", {"emptyDir": {}}, {"csi": {"driver": DRIVER}})) is SKIP


@pytest.mark.parametrize(("there", "fits"), [(["v1"], True), (["v1", "v2"], False)])
def test_what_is_there_and_what_comes_must_stay_within_the_limit(there: list[str], fits: bool) -> None:
    held = [of_claim(f"c-{name}") for name in there]
    volumes = [*csi_volume("v1"), *csi_volume("v2"), *csi_volume("new")]
    cluster, plugin = one_node(*volumes, pod("there", *held, on="a"))

    assert cluster.run(plugin, pod("p", of_claim("c-new"))) == {"a": None if fits else TOO_MANY_VOLUMES}


def test_a_volume_already_used_on_the_node_costs_nothing() -> None:
    there = pod("there", of_claim("c-v1"), of_claim("c-v2"), on="a")
    cluster, plugin = one_node(*csi_volume("v1"), *csi_volume("v2"), there)

    assert cluster.run(plugin, pod("p", of_claim("c-v1"))) == {"a": None}


def test_one_volume_used_by_several_pods_counts_once() -> None:
    pods = [pod(f"there-{at}", of_claim("c-v1"), on="a") for at in range(3)]
    cluster, plugin = one_node(*csi_volume("v1"), *csi_volume("new"), *pods)

    assert cluster.run(plugin, pod("p", of_claim("c-new"))) == {"a": None}


def test_attachments_without_a_pod_count_too() -> None:
    attachments = [attachment("1", "a", "v1"), attachment("2", "a", "v2"), attachment("3", "elsewhere", "new")]
    cluster, plugin = one_node(*csi_volume("v1"), *csi_volume("v2"), *csi_volume("new"), *attachments)

    assert cluster.run(plugin, pod("p", of_claim("c-new"))) == {"a": TOO_MANY_VOLUMES}


def test_an_attached_volume_in_use_counts_once_and_attachments_of_nothing_known_do_not_count() -> None:
    attachments = [attachment("1", "a", "v1"), attachment("2", "a", "gone"), attachment("3", "a", None)]
    there = pod("there", of_claim("c-v1"), on="a")
    cluster, plugin = one_node(*csi_volume("v1"), *csi_volume("new"), *attachments, there)

    assert cluster.run(plugin, pod("p", of_claim("c-new"))) == {"a": None}


def test_a_new_volume_that_is_attached_without_a_pod_counts_twice_as_in_kube_scheduler() -> None:
    cluster, plugin = one_node(*csi_volume("new"), attachment("1", "a", "new"), limits={DRIVER: 1})

    assert cluster.run(plugin, pod("p", of_claim("c-new"))) == {"a": TOO_MANY_VOLUMES}


def test_limits_are_by_driver_and_drivers_without_one_take_any_number() -> None:
    volumes = [*csi_volume("v1"), *csi_volume("o1", "other"), *csi_volume("o2", "other"), *csi_volume("n", "none")]
    cluster, plugin = one_node(
        *volumes, pod("there", of_claim("c-v1"), on="a"), limits={DRIVER: 1, "other": 1, "none": None}
    )

    assert cluster.run(plugin, pod("p", of_claim("c-o1"))) == {"a": None}
    assert cluster.run(plugin, pod("p", of_claim("c-o1"), of_claim("c-o2"))) == {"a": TOO_MANY_VOLUMES}
    assert cluster.run(plugin, pod("p", of_claim("c-n"))) == {"a": None}


def test_nodes_without_a_csi_node_have_no_limit() -> None:
    cluster = Cluster(node("a"), *csi_volume("new"))

    assert cluster.run(NodeVolumeLimits(None, cluster.handle), pod("p", of_claim("c-new"))) == {"a": None}


def test_an_unbound_claim_counts_for_the_driver_of_its_class() -> None:
    waiting = [claim("w1"), claim("w2"), storage_class(provisioner=DRIVER)]
    cluster, plugin = one_node(*waiting, pod("there", of_claim("w1"), on="a"), limits={DRIVER: 1})

    assert cluster.run(plugin, pod("p", of_claim("w1"))) == {"a": None}
    assert cluster.run(plugin, pod("p", of_claim("w2"))) == {"a": TOO_MANY_VOLUMES}


@pytest.mark.parametrize(
    "uncounted",
    [
        claim("c", storage_class=None),
        claim("c", storage_class="gone"),
        claim("c", volume="gone", storage_class=None),
        claim("c", volume="nfs"),
    ],
)
def test_claims_that_lead_to_no_csi_driver_do_not_count(uncounted: KubeObject) -> None:
    cluster, plugin = one_node(uncounted, volume("nfs"), limits={DRIVER: 0})

    assert cluster.run(plugin, pod("p", of_claim("c"))) == {"a": None}


def test_a_claim_whose_volume_is_gone_counts_for_its_class() -> None:
    cluster, plugin = one_node(claim("c", volume="gone"), storage_class(provisioner=DRIVER), limits={DRIVER: 0})

    assert cluster.run(plugin, pod("p", of_claim("c"))) == {"a": TOO_MANY_VOLUMES}


def test_in_tree_volumes_count_for_the_driver_that_took_them_over() -> None:
    in_tree = volume("disk", awsElasticBlockStore={"volumeID": "aws://z/vol-1"})
    cluster, plugin = one_node(
        in_tree, claim("c", volume="disk", bound=True), pod("there", inline_ebs("vol-1"), on="a"), limits={EBS: 1}
    )

    assert cluster.run(plugin, pod("p", of_claim("c"))) == {"a": None}
    assert cluster.run(plugin, pod("p", inline_ebs("vol-2"))) == {"a": TOO_MANY_VOLUMES}


def test_in_tree_provisioners_count_for_the_driver_that_took_them_over() -> None:
    classes = [storage_class("ebs", provisioner="kubernetes.io/aws-ebs"), claim("c", storage_class="ebs")]
    vsphere = [storage_class("vs", provisioner="kubernetes.io/vsphere-volume"), claim("d", storage_class="vs")]
    cluster, plugin = one_node(*classes, *vsphere, limits={EBS: 0, "csi.vsphere.vmware.com": 0})

    assert cluster.run(plugin, pod("p", of_claim("c"))) == {"a": TOO_MANY_VOLUMES}
    assert cluster.run(plugin, pod("p", of_claim("d"))) == {"a": None}


def test_in_tree_volumes_are_nobodys_where_no_csi_node_says_so() -> None:
    cluster = Cluster(node("a"), volume("disk", gcePersistentDisk={"pdName": "d"}), claim("c", volume="disk"))

    assert cluster.run(NodeVolumeLimits(None, cluster.handle), pod("p", of_claim("c"))) == {"a": None}


def test_an_in_tree_volume_that_cannot_be_translated_does_not_count() -> None:
    broken = volume("disk", awsElasticBlockStore={"volumeID": "aws://nonsense"})
    cluster, plugin = one_node(broken, claim("c", volume="disk"), limits={EBS: 0})

    assert cluster.run(plugin, pod("p", of_claim("c"))) == {"a": None}


def test_an_inline_volume_that_cannot_be_translated_is_an_error_where_it_would_be() -> None:
    cluster = Cluster(node("a"), node("b"), csi_node("a", {EBS: 1}))
    plugin = NodeVolumeLimits(None, cluster.handle)

    verdicts = cluster.run(plugin, pod("p", inline_ebs("aws://nonsense")))

    problem = "converting volume(v0) from inline to csi: Invalid format for AWS volume (aws://nonsense)"
    assert verdicts == {"a": error(problem), "b": None}


def test_a_missing_claim_of_the_new_pod_rules_out_every_node_and_one_of_a_pod_there_counts_for_nothing() -> None:
    cluster, plugin = one_node(*csi_volume("v1"), pod("there", of_claim("gone"), on="a"), limits={DRIVER: 1})
    missing = unresolvable('looking up PVC ns/gone: persistentvolumeclaim "gone" not found')

    assert cluster.run(plugin, pod("p", of_claim("gone"))) == {"a": missing}
    assert cluster.run(plugin, pod("p", of_claim("c-v1"))) == {"a": None}


def test_ephemeral_claims_count_and_must_belong_to_their_pod() -> None:
    made_for_it = [claim("mine-v0", owner="mine-uid"), storage_class(provisioner=DRIVER)]
    cluster, plugin = one_node(*made_for_it, claim("other-v0"), limits={DRIVER: 0})

    assert cluster.run(plugin, pod("mine", ephemeral())) == {"a": TOO_MANY_VOLUMES}
    foreign = error("PVC ns/other-v0 was not created for pod ns/other (pod is not owner)")
    assert cluster.run(plugin, pod("other", ephemeral())) == {"a": foreign}


def test_a_foreign_ephemeral_claim_of_a_pod_there_is_an_error_only_where_volumes_are_limited() -> None:
    there = [pod("other", ephemeral(), on="a"), claim("other-v0")]
    foreign = error("PVC ns/other-v0 was not created for pod ns/other (pod is not owner)")
    limited, plugin = one_node(*csi_volume("v1"), *there, limits={"unrelated": 9})
    assert limited.run(plugin, pod("p", of_claim("c-v1"))) == {"a": foreign}

    unlimited, plugin = one_node(*csi_volume("v1"), *there, limits={DRIVER: None})
    assert unlimited.run(plugin, pod("p", of_claim("c-v1"))) == {"a": None}


def test_counts_follow_pods_nodes_and_limits_as_they_change() -> None:
    cluster, plugin = one_node(*csi_volume("v1"), *csi_volume("v2"), *csi_volume("new"))
    nodes, new = cluster.snapshot.nodes, pod("p", of_claim("c-new"))
    there = cluster.info(pod("there", of_claim("c-v1"), of_claim("c-v2")))
    assert cluster.run(plugin, new) == {"a": None}

    nodes.add_pod(there, "a")
    assert cluster.run(plugin, new) == {"a": TOO_MANY_VOLUMES}
    nodes.remove_pod(there, "a")
    assert cluster.run(plugin, new) == {"a": None}
    cluster.snapshot.add(attachment("1", "a", "v1"))
    cluster.snapshot.add(csi_node("a", {DRIVER: 1}))
    assert cluster.run(plugin, new) == {"a": TOO_MANY_VOLUMES}
    for at in range(100):
        cluster.snapshot.add(node(f"more-{at}"))
    verdicts = cluster.run(plugin, new)
    assert isinstance(verdicts, dict)
    assert [name for name, status in verdicts.items() if status] == ["a"]


def test_exact_counts_follow_claims_volumes_and_attachments_as_they_change() -> None:
    there = pod("there", of_claim("c"), on="a")
    cluster, plugin = one_node(*csi_volume("new"), there, limits={DRIVER: 1})
    snapshot, new = cluster.snapshot, pod("p", of_claim("c-new"))
    assert cluster.run(plugin, new) == {"a": None}

    snapshot.add(claim("c", volume="v"))
    assert cluster.run(plugin, new) == {"a": None}
    snapshot.add(volume("v", csi={"driver": DRIVER, "volumeHandle": "h"}))
    assert cluster.run(plugin, new) == {"a": TOO_MANY_VOLUMES}
    snapshot.add(csi_node("a", {DRIVER: 2}))
    assert cluster.run(plugin, new) == {"a": None}
    snapshot.add(attachment("1", "a", "new"))
    assert cluster.run(plugin, new) == {"a": TOO_MANY_VOLUMES}
    snapshot.nodes.remove_pod(cluster.info(there), "a")
    assert cluster.run(plugin, new) == {"a": None}


def test_hints() -> None:
    cluster, plugin = one_node()
    waiting = cluster.info(pod("p", of_claim("c"), ephemeral()))

    def updated(before: dict[str, int | None], after: dict[str, int | None]) -> Hint | None:
        old, new = csi_node("a", before), csi_node("a", after)
        assert isinstance(old, CSINode)
        return hint(plugin, waiting, Resource.CSI_NODE, Action.UPDATE, old, new)

    assert updated({DRIVER: 1}, {DRIVER: 2}) is Hint.QUEUE
    assert updated({}, {DRIVER: 1}) is Hint.QUEUE
    assert updated({DRIVER: 2}, {DRIVER: 1}) is Hint.SKIP
    assert updated({DRIVER: 1}, {DRIVER: None}) is Hint.SKIP
    assert hint(plugin, waiting, Resource.CSI_NODE, Action.ADD) is Hint.QUEUE

    def deleted(*volumes: dict[str, Any], on: str = "a", nominated: str = "") -> Hint | None:
        gone = pod("gone", *volumes, on=on, nominatedNodeName=nominated)
        return hint(plugin, waiting, Resource.ASSIGNED_POD, Action.DELETE, before=gone)

    assert deleted(of_claim("x")) is Hint.QUEUE
    assert deleted(ephemeral(), on="", nominated="a") is Hint.QUEUE
    assert deleted(inline_ebs("x")) is Hint.QUEUE
    assert deleted(of_claim("x"), on="") is Hint.SKIP
    assert deleted({"emptyDir": {}}) is Hint.SKIP

    for name, answer in (("c", Hint.QUEUE), ("p-v1", Hint.QUEUE), ("other", Hint.SKIP)):
        assert hint(plugin, waiting, Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, after=claim(name)) is answer


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [(of_claim("c"), Hint.QUEUE), (inline_ebs("vol-1"), Hint.QUEUE), (ephemeral(), Hint.SKIP)],
)
def test_a_detached_volume_may_make_room(wanted: dict[str, Any], answer: Hint) -> None:
    cluster, plugin = one_node()
    detached = attachment("1", "a", "v", EBS)
    waiting = cluster.info(pod("p", wanted))

    assert hint(plugin, waiting, Resource.VOLUME_ATTACHMENT, Action.DELETE, before=detached) is answer
