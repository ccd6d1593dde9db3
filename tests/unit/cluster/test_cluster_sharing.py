"""Equal parts of pods kept once; labels that binding gives."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from moorage.cluster import PodSharing
from moorage.objects import Condition, ContainerStatus, PersistentVolumeClaimSource, ResourceRequirements, Volume
from moorage.testing import a_node, a_pod

if TYPE_CHECKING:
    from tests.unit.cluster.conftest import Fed

CLAIM = PersistentVolumeClaimSource("data")
ZONE = "topology.kubernetes.io/zone"


def test_equal_parts_are_the_same_object() -> None:
    share = PodSharing()
    one = share(a_pod("one").requests(cpu="1").tolerates("team").labels(app="web").build())
    two = share(a_pod("two").requests(cpu="1").tolerates("team").labels(app="web").build())
    assert two.spec.containers is one.spec.containers
    assert two.spec.tolerations is one.spec.tolerations
    assert two.metadata.labels is one.metadata.labels
    other = share(a_pod("other").requests(cpu="2").build())
    assert other.spec.containers is not one.spec.containers


def test_sharing_changes_nothing() -> None:
    pod = a_pod("web").requests(cpu="1").near(app="db").spread(app="web").claim("data").build()
    assert PodSharing()(pod) == pod


def test_what_no_plugin_reads_is_not_kept() -> None:
    token, claim = Volume(name="kube-api-access-x7k2p"), Volume(name="data", persistent_volume_claim=CLAIM)
    conditions = tuple(Condition(kind, "True") for kind in ("Ready", "PodScheduled", "Initialized", "DisruptionTarget"))
    pod = PodSharing()(a_pod("web").spec(volumes=(token, claim)).status(conditions=conditions).build())
    assert [volume.name for volume in pod.spec.volumes] == ["data"]
    assert [one.type for one in pod.status.conditions] == ["PodScheduled", "DisruptionTarget"]


def test_what_containers_report_is_shared() -> None:
    share = PodSharing()
    report = ContainerStatus("main", ResourceRequirements({"cpu": "1"}), {"cpu": "1"})
    pods = [share(a_pod(name).status(container_statuses=(replace(report),)).build()) for name in "ab"]
    assert pods[0].status.container_statuses is pods[1].status.container_statuses


def test_labels_that_binding_copies_are_expected_once_seen(fed: "Fed") -> None:
    fed.nodes.added(a_node("a").zone("north").build())
    first, second = a_pod("first"), a_pod("second")
    assert fed.cluster.assume(fed.snapshot.info(first.build()), "a").labels == {}
    fed.cluster.set_assigned(first.labels({ZONE: "north"}).on("a").build())
    assumed = fed.cluster.assume(fed.snapshot.info(second.build()), "a")
    assert assumed.labels == {ZONE: "north"}
    changes = fed.snapshot.nodes.pod_changes.position
    fed.cluster.set_assigned(second.labels({ZONE: "north"}).on("a").build())
    assert fed.snapshot.nodes.pod_changes.position == changes


def test_labels_that_are_not_copied_are_no_longer_expected(fed: "Fed") -> None:
    fed.nodes.added(a_node("a").zone("north").build())
    fed.cluster.assume(fed.snapshot.info(a_pod("first").build()), "a")
    fed.cluster.set_assigned(a_pod("first").labels({ZONE: "north"}).on("a").build())
    fed.cluster.assume(fed.snapshot.info(a_pod("second").build()), "a")
    fed.cluster.set_assigned(a_pod("second").on("a").build())
    counted = fed.cluster.counted(a_pod("second").build().metadata.uid)
    assert counted is not None
    assert counted.labels == {}
    assert fed.cluster.assume(fed.snapshot.info(a_pod("third").build()), "a").labels == {}
