"""VolumeBinding once a node is chosen: reserved volumes count at once, and can be let go."""

import pytest
from tests.unit.plugins.volumes.volume_builders import Cluster, claim, node, of_claim, pod, storage_class, volume

from moorage.config import VolumeBindingArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import SKIP, Code
from moorage.objects import KubeObject, PersistentVolume, PersistentVolumeClaim, Pod
from moorage.plugins.volumes import VolumeBinding

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED = "volume.kubernetes.io/selected-node"
BY_HAND = storage_class(provisioner="kubernetes.io/no-provisioner")


class Reserving:
    """Pods that are placed one after the other."""

    def __init__(self, *objects: KubeObject) -> None:
        self.cluster = Cluster(*objects)
        self.plugin = VolumeBinding(VolumeBindingArgs(), self.cluster.handle)

    def place(self, wanted: Pod, on: str) -> CycleState:
        """Filter and reserve; the state that the rest of the cycle goes on with."""
        state = CycleState()
        verdicts = self.cluster.run(self.plugin, wanted, state)
        if isinstance(verdicts, dict):
            assert verdicts[on] is None
        assert self.plugin.reserve(state, self.cluster.info(wanted), on) is None
        return state

    def volume(self, name: str) -> PersistentVolume:
        found = self.cluster.snapshot.objects.get(PersistentVolume, name)
        assert found is not None
        return found

    def claim(self, name: str) -> PersistentVolumeClaim:
        found = self.cluster.snapshot.objects.get(PersistentVolumeClaim, f"ns/{name}")
        assert found is not None
        return found

    def rejected(self, wanted: Pod) -> set[str]:
        return set(self.cluster.reasons(self.plugin, wanted))


def test_a_reserved_volume_points_to_its_claim_and_is_taken_for_the_next_pod() -> None:
    world = Reserving(node("a"), claim("c", version="7"), claim("d"), BY_HAND, volume("v"))

    world.place(pod("p", of_claim("c")), on="a")

    bound = world.volume("v")
    assert bound.spec.claim_ref is not None
    reference = bound.spec.claim_ref
    assert (reference.api_version, reference.kind) == ("v1", "PersistentVolumeClaim")
    assert (reference.namespace, reference.name) == ("ns", "c")
    assert (reference.uid, reference.resource_version) == ("c-uid", "7")
    assert bound.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
    assert world.rejected(pod("q", of_claim("d"))) == {"a"}


def test_the_smallest_volume_that_fits_is_taken() -> None:
    volumes = [volume("v9", size="9Gi"), volume("v1", size="1Mi"), volume("v5", size="5Gi")]
    world = Reserving(node("a"), claim("c", size="2Gi"), BY_HAND, *volumes)

    world.place(pod("p", of_claim("c")), on="a")

    assert [name for name in ("v1", "v5", "v9") if world.volume(name).spec.claim_ref] == ["v5"]


def test_the_smallest_claim_chooses_first() -> None:
    claims = [claim("large", size="2Gi"), claim("small", size="1Gi")]
    world = Reserving(node("a"), *claims, BY_HAND, volume("v4", size="4Gi"), volume("v2", size="2Gi"))

    world.place(pod("p", of_claim("large"), of_claim("small")), on="a")

    holders = {name: world.volume(name).spec.claim_ref for name in ("v2", "v4")}
    assert {name: holder and holder.name for name, holder in holders.items()} == {"v2": "small", "v4": "large"}


def test_a_volume_that_the_user_reserved_is_not_marked_as_our_choice() -> None:
    world = Reserving(node("a"), claim("c"), BY_HAND, volume("v", claimed_by="c"))

    world.place(pod("p", of_claim("c")), on="a")

    bound = world.volume("v")
    assert bound.spec.claim_ref is not None
    assert bound.spec.claim_ref.uid == "c-uid"
    assert bound.metadata.annotations == {}


def test_a_claim_to_provision_gets_the_node_and_ties_other_pods_to_it() -> None:
    world = Reserving(node("a"), node("b"), claim("c", annotations={"note": "kept"}), storage_class())

    state = world.place(pod("p", of_claim("c")), on="b")

    assert world.claim("c").metadata.annotations == {"note": "kept", SELECTED: "b"}
    assert world.plugin.pre_bind_pre_flight(state, world.cluster.info(pod("p")), "b") is None
    assert world.rejected(pod("q", of_claim("c"))) == {"a"}


def test_letting_go_brings_back_the_api_servers_version() -> None:
    world = Reserving(node("a"), claim("c"), claim("d"), storage_class(), volume("v", size="5Gi"))
    wanted = pod("p", of_claim("c"), of_claim("d"))
    before = (world.volume("v"), world.claim("c"), world.claim("d"))

    state = world.place(wanted, on="a")
    assert (world.volume("v"), world.claim("d")) != (before[0], before[2])
    world.plugin.unreserve(state, world.cluster.info(wanted), "a")

    assert (world.volume("v"), world.claim("c"), world.claim("d")) == before


def test_letting_go_does_not_touch_what_another_pod_has_reserved_since() -> None:
    world = Reserving(node("a"), claim("c"), storage_class())
    first, second = pod("p", of_claim("c")), pod("q", of_claim("c"))
    state = world.place(first, on="a")
    world.place(second, on="a")

    world.plugin.unreserve(state, world.cluster.info(first), "a")

    assert world.claim("c").metadata.annotations == {SELECTED: "a"}


def test_the_api_servers_next_version_replaces_the_reservation() -> None:
    world = Reserving(node("a"), claim("c"), storage_class())
    world.place(pod("p", of_claim("c")), on="a")

    world.cluster.snapshot.add(claim("c", version="2"))

    assert world.claim("c").metadata.annotations == {}


@pytest.mark.parametrize("wanted", [pod(), pod("p", {"emptyDir": {}}), pod("p", of_claim("bound"))])
def test_pods_with_nothing_to_bind_reserve_nothing_and_wait_for_nothing(wanted: Pod) -> None:
    world = Reserving(node("a"), claim("bound", volume="v", bound=True), volume("v"))

    state = world.place(wanted, on="a")

    assert world.plugin.pre_bind_pre_flight(state, world.cluster.info(wanted), "a") is SKIP
    assert world.plugin.pre_bind(state, world.cluster.info(wanted), "a") is None
    world.plugin.unreserve(state, world.cluster.info(wanted), "a")


def test_a_volume_taken_between_filter_and_reserve_fails_the_reservation() -> None:
    world = Reserving(node("a"), claim("c"), BY_HAND, volume("v"))
    state, wanted = CycleState(), pod("p", of_claim("c"))
    assert world.cluster.run(world.plugin, wanted, state) == {"a": None}

    world.cluster.snapshot.add(volume("v", claimed_by="somebody", version="2"))
    status = world.plugin.reserve(state, world.cluster.info(wanted), "a")

    assert status is not None
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_a_claim_or_node_that_went_meanwhile_fails_the_reservation() -> None:
    world = Reserving(node("a"), claim("c"), storage_class())
    state, wanted = CycleState(), world.cluster.info(pod("p", of_claim("c")))
    assert world.plugin.pre_filter(state, wanted, world.cluster.snapshot.nodes) is None

    gone = world.plugin.reserve(state, wanted, "b")
    world.cluster.snapshot.objects.remove(claim("c"))
    claimless = world.plugin.reserve(state, wanted, "a")

    assert gone is not None
    assert gone.reasons == ('node "b" not found',)
    assert claimless is not None
    assert claimless.reasons == ('persistentvolumeclaim "c" not found',)
