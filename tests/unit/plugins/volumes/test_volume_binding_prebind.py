"""VolumeBinding before the pod is bound: what is written, and how long it waits for whom."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.plugins.volumes.volume_builders import Cluster, claim, node, of_claim, pod, storage_class, volume

from moorage.config import VolumeBindingArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Code, Status
from moorage.framework.writes import Conflict, Gone, NotDone, NotWritten, Refused
from moorage.objects import KubeObject, PersistentVolume, PersistentVolumeClaim, Pod
from moorage.plugins.volumes import VolumeBinding

SELECTED = "volume.kubernetes.io/selected-node"
ON_A = {SELECTED: "a"}


class FakeHost:
    """A process on an API server that keeps what it is sent, gives every write version 5, and knows every pod but the
    deleted. Time passes only by sleeping; `as_time_passes` says what happens then."""

    def __init__(self) -> None:
        self.patches: list[tuple[str, dict[str, Any]]] = []
        self.refused: dict[str, NotDone] = {}
        self.pod_error: NotDone | None = None
        self.pod_lookups = 0
        self.cluster: Cluster | None = None
        self.as_time_passes: Callable[[float], KubeObject | None] = lambda _: None

    async def read(self, kind: type[Pod], name: str, namespace: str = "") -> Pod:
        assert (kind, name, namespace) == (Pod, "p", "ns")
        self.pod_lookups += 1
        if self.pod_error is not None:
            raise NotWritten(self.pod_error)
        return pod("p")

    async def patch(self, item: Any, patch: dict[str, Any], *, subresource: str = "") -> Any:
        assert subresource == ""
        if item.key in self.refused:
            raise NotWritten(self.refused[item.key])
        self.patches.append((item.key, patch))
        return replace(item, metadata=replace(item.metadata, resource_version="5"))

    async def sleep(self, seconds: float) -> None:
        assert self.cluster is not None
        self.cluster.time += seconds
        happened = self.as_time_passes(self.cluster.time)
        if happened is not None:
            self.cluster.snapshot.add(happened)


class Binding:
    """A pod placed on node a, up to PreBind."""

    def __init__(self, *volumes: str, timeout: int = 60) -> None:
        self.host = FakeHost()
        objects = [node("a"), storage_class(), claim("c"), claim("d"), volume("v", claimed_by="c")]
        self.cluster = self.host.cluster = Cluster(*objects, host=self.host)
        self.plugin = VolumeBinding(VolumeBindingArgs(bind_timeout_seconds=timeout), self.cluster.handle)
        self.state = CycleState()
        self.pod = self.cluster.info(pod("p", *(of_claim(name) for name in volumes)))
        assert self.plugin.pre_filter(self.state, self.pod, self.cluster.snapshot.nodes) is None
        assert self.plugin.reserve(self.state, self.pod, "a") is None

    async def pre_bind(self, *happening: KubeObject) -> Status | None:
        """PreBind, while these versions arrive one by one."""
        arriving = iter(happening)
        self.host.as_time_passes = lambda _: next(arriving, None)
        work = self.plugin.pre_bind(self.state, self.pod, "a")
        assert work is not None
        return await work

    async def failure(self, *happening: KubeObject) -> str:
        """The message of PreBind's error."""
        status = await self.pre_bind(*happening)
        assert status is not None
        assert status.code is Code.ERROR
        return status.message


async def test_volumes_are_written_before_claims_each_with_the_version_it_was_decided_on() -> None:
    binding = Binding("c", "d")

    await binding.failure()

    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "ns",
        "name": "c",
        "uid": "c-uid",
        "resourceVersion": "1",
    }
    assert binding.host.patches == [
        ("v", {"metadata": {"resourceVersion": "1"}, "spec": {"claimRef": reference}}),
        ("ns/d", {"metadata": {"resourceVersion": "1", "annotations": ON_A}}),
    ]


async def test_it_waits_until_the_controllers_have_bound_everything() -> None:
    binding = Binding("c", "d")

    status = await binding.pre_bind(
        volume("v", claimed_by="c", claim_uid="c-uid", version="5"),
        claim("c", volume="v", bound=True, version="6"),
        claim("d", annotations=ON_A, version="5"),
        claim("d", annotations=ON_A, volume="made", version="7"),
        volume("made", nodes=["a"], version="8"),
        claim("d", annotations=ON_A, volume="made", bound=True, version="9"),
    )

    assert status is None
    assert binding.cluster.time == pytest.approx(3.0)


async def test_it_gives_up_after_the_timeout() -> None:
    binding = Binding("d", timeout=30)

    assert await binding.failure() == "binding volumes: context deadline exceeded"
    assert binding.cluster.time == pytest.approx(30.0)


async def test_a_refused_write_is_an_error_and_what_was_not_written_is_let_go() -> None:
    binding = Binding("c", "d")
    binding.host.refused["ns/d"] = Conflict("the object has been modified", 409)

    assert await binding.failure() == "the object has been modified"
    binding.plugin.unreserve(binding.state, binding.pod, "a")

    objects = binding.cluster.snapshot.objects
    written, unwritten = objects.get(PersistentVolume, "v"), objects.get(PersistentVolumeClaim, "ns/d")
    assert written is not None
    assert written.spec.claim_ref is not None
    # The volume was written: it stays reserved until the watch brings the version that says so.
    assert written.spec.claim_ref.uid == "c-uid"
    assert unwritten == claim("d")


@pytest.mark.parametrize(
    ("happened", "failure"),
    [
        (claim("d", annotations={"note": "x"}, version="6"), 'provisioning failed for PVC "d"'),
        (claim("d", version="6"), 'selectedNode annotation reset for PVC "d"'),
        (claim("d", annotations={SELECTED: "b"}, version="6"), 'provisioning failed for PVC "d"'),
    ],
)
async def test_a_provisioner_that_gives_up_has_the_pod_scheduled_again(happened: KubeObject, failure: str) -> None:
    assert await Binding("d").failure(happened) == f"binding volumes: {failure}"


async def test_a_volume_made_out_of_reach_fails_the_binding() -> None:
    made = volume("made", nodes=["b"])

    message = await Binding("d").failure(made, claim("d", annotations=ON_A, volume="made", bound=True, version="6"))

    assert message == (
        'binding volumes: pv "made" node affinity doesn\'t match node "a": no matching NodeSelectorTerms'
    )


async def test_a_volume_that_lost_its_claim_fails_the_binding() -> None:
    assert await Binding("c").failure(volume("v", version="6")) == 'binding volumes: ClaimRef got reset for pv "v"'


@pytest.mark.parametrize(
    ("gone", "failure"),
    [
        (volume("v"), 'failed to check binding: persistentvolumes "v" not found'),
        (claim("c"), 'failed to check binding: persistentvolumeclaims "ns/c" not found'),
        (claim("d"), 'failed to check provisioning pvc: persistentvolumeclaims "ns/d" not found'),
    ],
)
async def test_objects_that_disappear_fail_the_binding(gone: KubeObject, failure: str) -> None:
    binding = Binding("c", "d")
    binding.cluster.snapshot.add(claim("c", volume="v", bound=True, version="6"))
    binding.cluster.snapshot.add(volume("v", claimed_by="c", claim_uid="c-uid", version="6"))
    binding.cluster.snapshot.objects.remove(gone)

    assert await binding.failure() == f"binding volumes: {failure}"


async def test_a_node_that_disappears_fails_the_binding() -> None:
    binding = Binding("d")
    binding.cluster.snapshot.nodes.remove_node("a")

    assert await binding.failure() == 'binding volumes: failed to get node "a": node "a" not found'


async def test_a_deleted_pod_waits_no_longer() -> None:
    binding = Binding("d")
    binding.host.pod_error = Gone('pods "p" not found', 404)

    assert await binding.failure() == 'binding volumes: pod does not exist any more: pod "p" not found'
    assert binding.cluster.time == pytest.approx(10.0)


async def test_an_api_server_that_cannot_tell_about_the_pod_does_not_end_the_waiting() -> None:
    binding = Binding("d", timeout=30)
    binding.host.pod_error = Refused("too many requests", 429)

    assert await binding.failure() == "binding volumes: context deadline exceeded"
    assert binding.host.pod_lookups == 2
