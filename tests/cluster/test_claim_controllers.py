"""Claims made for pods from templates, and let go when the pods are gone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from tests.cluster.scheduler_world import Tree, World
from tests.cluster.test_scheduler_claims import V1, Devices, held
from tools.control_plane.running import ControlPlane

from moorage.controllers.running import run_controllers
from moorage.kube.access import load_access
from moorage.kube.errors import NotFound
from moorage.kube.transport import Client

OURS = ("resourceclaim", "resourceclaim-release", "device-taint-eviction", "garbage-collector")


@contextlib.asynccontextmanager
async def controlling(world: World) -> AsyncIterator[None]:
    """Our claim controllers, and the garbage collector, until the block ends."""
    ready = asyncio.Event()
    async with Client(load_access(world.access.kubeconfig)) as client:
        work = asyncio.ensure_future(run_controllers(client, only=OURS, on_ready=ready.set))
        try:
            await ready.wait()
            yield
        finally:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work


async def a_template(world: World, name: str) -> None:
    exactly = {"deviceClassName": world.name}
    claim = {"devices": {"requests": [{"name": "one", "exactly": exactly}]}}
    spec = {"metadata": {"labels": {"of": "template"}}, "spec": claim}
    manifest = {"apiVersion": V1, "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}
    await world.create(manifest)


async def claims_of(world: World, pod: str) -> dict[str, str]:
    """The pod's entries and the claims that were made for them."""

    async def look() -> dict[str, str]:
        statuses = (await world.get("Pod", pod)).get("status", {}).get("resourceClaimStatuses", [])
        return {one["name"]: one["resourceClaimName"] for one in statuses}

    found: dict[str, str] = await world.eventually(look)
    return found


async def test_claims_come_and_go_with_their_pod(world: World) -> None:
    devices = Devices(world)
    await devices.offer(await world.node("x"), "d0", "d1")
    await devices.device_class()
    await a_template(world, "t")
    entries = [{"name": name, "resourceClaimTemplateName": "t"} for name in ("b", "a")]
    async with controlling(world), world.scheduling():
        await world.pod("p", resourceClaims=entries)
        await world.bound("p")
        claims = await claims_of(world, "p")
        assert list(claims) == ["a", "b"]
        for entry, name in claims.items():
            claim = await world.get("ResourceClaim", name)
            assert name.startswith(f"p-{entry}-")
            assert claim["metadata"]["labels"] == {"of": "template"}
            assert len(held(claim["status"])) == 1
        await world.delete("Pod", "p")
        for name in claims.values():
            await gone(world, name)


async def test_a_claim_of_a_users_own_is_freed_by_its_last_pod(world: World) -> None:
    devices = Devices(world)
    await devices.offer(await world.node("x"), "d0")
    await devices.device_class()
    await devices.claim("c")
    async with controlling(world), world.scheduling():
        for name in ("p", "q"):
            await devices.pod(name, "c")
            await world.bound(name)
        await world.delete("Pod", "p")
        await world.eventually(lambda: users(world, "c", 1))
        assert held(await devices.status("c")) == ["d0"]
        await world.delete("Pod", "q")
        await world.eventually(lambda: is_free(world, "c"))


async def test_a_template_that_comes_late(world: World) -> None:
    async with controlling(world):
        await world.pod("p", resourceClaims=[{"name": "a", "resourceClaimTemplateName": "late"}])
        told = await world.event("p", "FailedResourceClaimCreation")
        assert 'resource claim template "late"' in told["note"]
        await a_template(world, "late")
        assert list(await claims_of(world, "p")) == ["a"]
        await world.delete("Pod", "p")


async def test_a_tainted_device_drives_its_users_out(world: World) -> None:
    """At once, unless the claim tolerates the taint; one that does so for a while is left when that is over."""
    devices = Devices(world)
    node = await world.node("x")
    await devices.offer(node, "d0", "d1", "d2")
    await devices.device_class()
    for_ever = {"key": "sick", "operator": "Exists", "effect": "NoExecute"}
    await devices.claim("hasty")
    await devices.claim("patient", tolerations=[{**for_ever, "tolerationSeconds": 1}])
    await devices.claim("loyal", tolerations=[for_ever])
    async with controlling(world), world.scheduling():
        for name in ("hasty", "patient", "loyal"):
            await devices.pod(name, name)
            await world.bound(name)
        slices = await world.get("ResourceSlice", f"{node}-slice")
        for device in slices["spec"]["devices"]:
            device["taints"] = [{"key": "sick", "effect": "NoExecute"}]
        await world.patch("ResourceSlice", f"{node}-slice", {"spec": {"devices": slices["spec"]["devices"]}})
        for name in ("hasty", "patient"):
            await no_pod(world, name)
        told = await world.event("hasty", "DeviceTaintManagerEviction")
        assert told["note"] == "Marking for deletion"
        assert "deletionTimestamp" not in (await world.get("Pod", "loyal"))["metadata"]


async def test_the_status_of_a_rule_tells_whom_it_drives_out(world: World) -> None:
    await rules_are_served(world)
    devices = Devices(world)
    await devices.offer(await world.node("x"), "d0", "d1")
    await devices.device_class()
    await devices.claim("c")
    async with controlling(world), world.scheduling():
        await devices.pod("p", "c")
        await world.bound("p")
        name = await a_rule(world, "NoSchedule")
        told = await eviction_in_progress(world, name, 1)
        assert (told["status"], told["reason"]) == ("False", "OtherEffect")
        await set_effect(world, name, "None")
        told = await eviction_in_progress(world, name, 2)
        assert (told["status"], told["reason"]) == ("False", "NoEffect")
        assert told["message"].startswith(
            "2 published devices selected. 1 allocated device selected. "
            "1 pod would be evicted in 1 namespace if the effect was NoExecute. "
        )
        await set_effect(world, name, "NoExecute")
        assert (await eviction_in_progress(world, name, 3))["reason"] in ("PodsPendingEviction", "Completed")
        await no_pod(world, "p")
        told = await eviction_in_progress(world, name, 3, reason="Completed")
        assert (told["status"], told["message"]) == ("False", "1 pod evicted since starting the controller.")


async def test_the_same_status_of_rules_as_kube_controller_manager_writes(
    world: World, control_plane: ControlPlane
) -> None:
    await rules_are_served(world)
    devices = Devices(world)
    await devices.offer(await world.node("x"), "d0", "d1")
    await devices.device_class()
    exists = {"operator": "Exists", "effect": "NoExecute"}
    await devices.claim("patient", tolerations=[{**exists, "tolerationSeconds": 600}])
    await devices.claim("loyal", tolerations=[exists])
    async with world.scheduling():
        for name in ("patient", "loyal"):
            await devices.pod(name, name)
            await world.bound(name)
    seen: list[list[Tree]] = []
    for who in ("ours", "theirs"):
        names = [await a_rule(world, effect, who) for effect in ("None", "NoSchedule", "NoExecute")]
        names.append(await a_rule(world, "NoExecute", f"{who}-elsewhere", driver="other.example.com"))
        async with contextlib.AsyncExitStack() as stack:
            if who == "ours":
                await stack.enter_async_context(controlling(world))
            else:
                stack.enter_context(control_plane.start_kube_controller_manager("device-taint-eviction-controller"))
            told = [await eviction_in_progress(world, name, 1) for name in names]
        seen.append([{key: value for key, value in one.items() if key != "lastTransitionTime"} for one in told])
        for name in names:
            await world.delete("DeviceTaintRule", name)
    assert seen[0] == seen[1]
    assert [one["reason"] for one in seen[0]] == ["NoEffect", "OtherEffect", "PodsPendingEviction", "NotStarted"]


async def rules_are_served(world: World) -> None:
    """Before v1.37 they are of an API that is off by default."""
    try:
        await world.listed("DeviceTaintRule")
    except NotFound:
        pytest.skip("this API server has no DeviceTaintRules")


async def a_rule(world: World, effect: str, suffix: str = "rule", *, driver: str = "") -> str:
    """A rule over every device of the world."""
    name = f"{world.name}-{suffix}-{effect.lower()}"
    selector = {"driver": driver or f"{world.name}.example.com"}
    spec = {"deviceSelector": selector, "taint": {"key": "sick", "effect": effect}}
    await world.create({"apiVersion": V1, "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec})
    return name


async def set_effect(world: World, rule: str, effect: str) -> None:
    await world.patch("DeviceTaintRule", rule, {"spec": {"taint": {"effect": effect}}})


async def eviction_in_progress(world: World, rule: str, generation: int, *, reason: str = "") -> Tree:
    """The condition of a rule, once it is of this generation, and of that reason if one is asked for."""

    async def look() -> Tree | None:
        conditions = (await world.get("DeviceTaintRule", rule)).get("status", {}).get("conditions", [])
        for one in conditions:
            if one["observedGeneration"] == generation and reason in ("", one["reason"]):
                assert one["type"] == "EvictionInProgress"
                return dict(one)
        return None

    found: Tree = await world.eventually(look)
    return found


async def no_pod(world: World, name: str) -> None:
    async def look() -> bool:
        try:
            found = await world.get("Pod", name)
        except NotFound:
            return True
        return "deletionTimestamp" in found["metadata"]

    await world.eventually(look)


async def users(world: World, claim: str, count: int) -> bool:
    status: Tree = (await world.get("ResourceClaim", claim)).get("status", {})
    return len(status.get("reservedFor", [])) == count


async def is_free(world: World, claim: str) -> bool:
    found = await world.get("ResourceClaim", claim)
    return not found.get("status", {}).get("allocation") and not found["metadata"].get("finalizers")


async def gone(world: World, claim: str) -> None:
    async def look() -> bool:
        try:
            await world.get("ResourceClaim", claim)
        except NotFound:
            return True
        return False

    await world.eventually(look)
