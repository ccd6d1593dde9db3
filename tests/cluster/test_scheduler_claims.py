"""Pods with claims on devices: allocated, reserved and written before the pod is bound."""

from typing import Any

from tests.cluster.scheduler_world import Tree, World, features_of_kube_scheduler
from tools.control_plane.running import ControlPlane

from moorage.errors import ApiError
from moorage.framework.status import Status, error
from moorage.kube.errors import NotFound

V1 = "resource.k8s.io/v1"
FINALIZER = "resource.kubernetes.io/delete-protection"


class Devices:
    """Slices, classes and claims of a world; those without a namespace carry its name."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.driver = f"{world.name}.example.com"

    async def offer(self, node: str, *names: str, **fields: Any) -> None:
        """A slice of a node's own with these devices."""
        devices = [{"name": name, "attributes": {"rank": {"int": rank}}, **fields} for rank, name in enumerate(names)]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": self.driver, "pool": pool, "nodeName": node, "devices": devices}
        await self._create("ResourceSlice", {"name": f"{node}-slice"}, spec)

    async def device_class(self, **spec: Any) -> None:
        """The one class of the world."""
        expression = f'device.driver == "{self.driver}"'
        selectors = [{"cel": {"expression": expression}}]
        await self._create("DeviceClass", {"name": self.world.name}, {"selectors": selectors, **spec})

    async def claim(self, name: str, *selectors: str, **fields: Any) -> None:
        """A claim on one device, or as said."""
        cel = [{"cel": {"expression": one.replace("@", f'device.attributes["{self.driver}"]')}} for one in selectors]
        exactly = {"deviceClassName": self.world.name, "selectors": cel, **fields}
        spec = {"devices": {"requests": [{"name": "one", "exactly": exactly}]}}
        await self._create("ResourceClaim", {"name": name}, spec)

    async def pod(self, name: str, *claims: str, **spec: Any) -> None:
        """A pod that names these claims."""
        listed = [{"name": one, "resourceClaimName": one} for one in claims]
        await self.world.pod(name, resourceClaims=listed, **spec)

    async def status(self, claim: str) -> Tree:
        """A claim's status."""
        status: Tree = (await self.world.get("ResourceClaim", claim)).get("status", {})
        return status

    async def _create(self, kind: str, metadata: Tree, spec: Tree) -> None:
        await self.world.create({"apiVersion": V1, "kind": kind, "metadata": metadata, "spec": spec})


def held(status: Tree) -> list[str]:
    """The devices of a claim."""
    allocation = status.get("allocation") or {}
    return [one["device"] for one in allocation.get("devices", {}).get("results", [])]


async def test_a_claim_is_allocated_and_reserved_before_the_pod_is_bound(world: World) -> None:
    devices = Devices(world)
    x, y = await world.node("x"), await world.node("y")
    await devices.offer(x, "d0")
    await devices.offer(y, "d0", "d1", "d2")
    await devices.device_class()
    await devices.claim("c", "@.rank > 0", count=2)
    async with world.scheduling():
        await devices.pod("p", "c")
        assert await world.bound("p") == y
    claim = await world.get("ResourceClaim", "c")
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    pod = await world.get("Pod", "p")
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}]
    allocation = claim["status"]["allocation"]
    assert held(claim["status"]) == ["d1", "d2"]
    assert allocation["allocationTimestamp"]
    (term,) = allocation["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": [y]}]


async def test_pods_share_a_claim_and_nobody_else_gets_its_device(world: World) -> None:
    devices = Devices(world)
    await devices.offer(await world.node("x"), "d0")
    await devices.device_class()
    await devices.claim("shared")
    await devices.claim("late")
    async with world.scheduling():
        for name in ("a", "b"):
            await devices.pod(name, "shared")
        for name in ("a", "b"):
            await world.bound(name)
        await devices.pod("c", "late")
        refusal = await world.refused("c")
        assert "cannot allocate all claims" in refusal["message"]
        assert len((await devices.status("shared"))["reservedFor"]) == 2


async def test_a_freed_device_wakes_who_waits_for_it(world: World) -> None:
    devices = Devices(world)
    await devices.offer(await world.node("x"), "d0")
    await devices.device_class()
    await devices.claim("first")
    await devices.claim("second")
    async with world.scheduling():
        await devices.pod("a", "first")
        await world.bound("a")
        await devices.pod("b", "second")
        await world.refused("b")
        await world.delete("Pod", "a")
        await free(world, "first")
        await world.bound("b")


async def test_a_claim_that_is_in_the_way_is_given_back(world: World) -> None:
    """Its one node is full: without anybody else on the claim it is allocated anew where there is room."""
    devices = Devices(world)
    x, y = await world.node("x"), await world.node("y", cpu="1")
    await devices.offer(x, "d0")
    await devices.offer(y, "d0")
    await devices.device_class()
    await devices.claim("c")
    async with world.scheduling():
        await devices.pod("a", "c", nodeName=None, nodeSelector={"kubernetes.io/hostname": y})
        assert await world.bound("a") == y
        await world.delete("Pod", "a")
        await world.gone("a")
        await world.patch("Node", y, {"spec": {"unschedulable": True}})
        await unreserve(world, "c")
        await devices.pod("b", "c")
        assert await world.bound("b") == x


async def test_a_resource_that_a_class_stands_for(world: World) -> None:
    devices = Devices(world)
    x = await world.node("x")
    await devices.offer(x, "d0", "d1")
    await devices.device_class(extendedResourceName=f"{world.name}.example.com/gpu")
    requests = {"cpu": "1", f"{world.name}.example.com/gpu": "2"}
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": requests, "limits": requests}}
    async with world.scheduling():
        await world.pod("p", containers=[container])
        assert await world.bound("p") == x
    status = (await world.get("Pod", "p"))["status"]["extendedResourceClaimStatus"]
    (mapping,) = status["requestMappings"]
    assert mapping["resourceName"] == f"{world.name}.example.com/gpu"
    claim = await world.get("ResourceClaim", status["resourceClaimName"])
    assert status["resourceClaimName"].startswith("p-extended-resources-")
    assert claim["metadata"]["ownerReferences"][0]["name"] == "p"
    assert held(claim["status"]) == ["d0", "d1"]
    await free(world, status["resourceClaimName"])
    await world.delete("ResourceClaim", status["resourceClaimName"])


async def test_what_a_killed_scheduler_left_behind_is_taken_up(world: World) -> None:
    """It died after it wrote the claim of one pod, and after it had begun with that of the other."""
    devices = Devices(world)
    x = await world.node("x")
    await devices.offer(x, "d0", "d1")
    await devices.device_class()
    for name in ("written", "begun"):
        await devices.claim(name)
        await devices.pod(name, name)
    pod = await world.get("Pod", "written")
    by_name = {"key": "metadata.name", "operator": "In", "values": [x]}
    result = {"request": "one", "driver": devices.driver, "pool": x, "device": "d1"}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [by_name]}]},
    }
    reserved = [{"resource": "pods", "name": "written", "uid": pod["metadata"]["uid"]}]
    for name in ("written", "begun"):
        await world.patch("ResourceClaim", name, {"metadata": {"finalizers": [FINALIZER]}})
    await _patch_status(world, "written", {"allocation": allocation, "reservedFor": reserved})
    async with world.scheduling():
        for name in ("written", "begun"):
            await world.bound(name)
    assert held(await devices.status("written")) == ["d1"]
    assert held(await devices.status("begun")) == ["d0"]
    assert len((await devices.status("written"))["reservedFor"]) == 1


async def test_a_pod_that_cannot_be_bound_lets_go_of_its_claim(world: World) -> None:
    """Bind fails after the claim was written: the pod is taken off it, and the next attempt meets the allocation."""
    failures = iter((True, False))

    class FailsOnce:
        def pre_bind(self, _state: Any, _pod: Any, _node_name: str) -> Status | None:
            return error("not today") if next(failures, False) else None

    devices = Devices(world)
    x = await world.node("x")
    await devices.offer(x, "d0")
    await devices.device_class()
    await devices.claim("c")
    plugins = {"preBind": {"enabled": [{"name": "FailsOnce"}]}}
    profiles = [{"schedulerName": world.name, "plugins": plugins}]
    async with world.scheduling(profiles=profiles, plugins=[FailsOnce]):
        await devices.pod("p", "c")
        assert await world.bound("p") == x
    status = await devices.status("c")
    assert held(status) == ["d0"]
    assert [one["name"] for one in status["reservedFor"]] == ["p"]


async def test_the_same_status_as_kube_scheduler_writes(world: World, control_plane: ControlPlane) -> None:
    """Each schedules the same pods in a world of the same shape; names, uids and times aside, claims look alike."""
    ours, theirs = await _schedule_all(world, None), await _schedule_all(world, control_plane)
    assert ours == theirs
    assert len(ours) == 4


async def _schedule_all(world: World, control_plane: ControlPlane | None) -> dict[str, Any]:
    devices = Devices(world)
    x = await world.node("x")
    await devices.offer(x, "d0", "d1", "d2", taints=[{"key": "k", "effect": "NoSchedule"}])
    tolerations = [{"key": "k", "operator": "Exists"}]
    await devices.device_class(config=[{"opaque": {"driver": devices.driver, "parameters": {"kind": "x"}}}])
    await devices.claim("plain", tolerations=tolerations)
    await devices.claim("picky", "@.rank == 2", tolerations=tolerations)
    await devices.claim("never", "@.rank == 7", tolerations=tolerations)
    await devices.claim("all", allocationMode="All", tolerations=tolerations)
    seen: dict[str, Any] = {}

    async def play() -> None:
        for name in ("plain", "picky"):
            await devices.pod(name, name)
            await world.bound(name)
        for name in ("never", "all"):
            await devices.pod(name, name)
            await world.refused(name)
        for name in ("plain", "picky", "never", "all"):
            claim, pod = await world.get("ResourceClaim", name), await world.get("Pod", name)
            refusal = next(one for one in pod["status"]["conditions"] if one["type"] == "PodScheduled")
            status = claim.get("status", {})
            status.get("allocation", {}).pop("allocationTimestamp", None)
            for consumer in status.get("reservedFor", []):
                consumer.pop("uid")
            finalizers = claim["metadata"].get("finalizers")
            seen[name] = (status, finalizers, refusal["status"], refusal.get("message"))

    if control_plane is None:
        async with world.scheduling(features=features_of_kube_scheduler()):
            await play()
    else:
        with control_plane.start_kube_scheduler({"profiles": [{"schedulerName": world.name}]}):
            await play()
    for name in ("plain", "picky", "never", "all"):
        await world.delete("Pod", name)
        await free(world, name)
        await world.delete("ResourceClaim", name)
    for kind, name in (("ResourceSlice", f"{x}-slice"), ("DeviceClass", world.name), ("Node", x)):
        await world.delete(kind, name)
    return seen


async def unreserve(world: World, claim: str) -> None:
    """What the claim controller does first once a pod is gone."""
    await _patch_status(world, claim, {"reservedFor": None})


async def free(world: World, claim: str) -> None:
    """What the claim controller does once the last pod is gone."""
    try:
        await _patch_status(world, claim, {"reservedFor": None, "allocation": None})
        await world.patch("ResourceClaim", claim, {"metadata": {"finalizers": None}})
    except NotFound:
        return


async def _patch_status(world: World, claim: str, status: Tree) -> None:
    for _ in range(5):
        try:
            await world.patch("ResourceClaim", claim, {"status": status}, "status")
        except ApiError as refusal:
            if refusal.code != 409:
                raise
        else:
            return
