"""Claims that wait for a node: volumes are reserved, written and bound before the pod is. The test plays controller."""

import json
from typing import Any

from tests.cluster.scheduler_world import Tree, World

from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


class Storage:
    """Classes, claims and volumes of a world; those without a namespace carry its name."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def storage_class(self, provisioner: str) -> None:
        await self.world.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": self.world.name},
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        )

    async def claim(self, name: str) -> None:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.world.name,
            "resources": {"requests": {"storage": "1Gi"}},
        }
        manifest = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        await self.world.create(manifest)

    async def volume(self, name: str, node: str, *, size: str = "1Gi") -> str:
        """Create a volume that one node reaches; its full name."""
        full = f"{self.world.name}-{name}"
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        spec = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.world.name,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "csi.example.com", "volumeHandle": full},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        }
        manifest = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": full}, "spec": spec}
        await self.world.create(manifest)
        await self.patch("PersistentVolume", full, {"status": {"phase": "Available"}}, "/status")
        return full

    async def patch(self, kind: str, name: str, patch: Tree, subresource: str = "") -> None:
        resource = resource_of(kind)
        path = resource.path(self.world.name if resource.namespaced else "", name) + subresource
        await self.world.client.patch(path, json.dumps(patch).encode(), content_type=MERGE_PATCH)

    async def finish_binding(self, claim: str, volume: str) -> None:
        """What the volume controller does last."""
        done = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": volume}}
        await self.patch("PersistentVolumeClaim", claim, done)

    async def selected_node(self, claim: str) -> str:
        """Wait until provisioning is asked for; the node it is asked for."""

        async def look() -> str:
            seen = await self.world.get("PersistentVolumeClaim", claim)
            return str(seen["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))

        return str(await self.world.eventually(look))

    async def claim_of(self, volume: str) -> Tree:
        """Wait until the volume is reserved; the volume then."""

        async def look() -> Tree | None:
            seen = await self.world.get("PersistentVolume", volume)
            return seen if "claimRef" in seen["spec"] else None

        found: Tree = await self.world.eventually(look)
        return found


async def expected_on(world: World, pod: str) -> str:
    """The node on which a pod that still waits for its volumes is expected."""
    return str((await world.get("Pod", pod)).get("status", {}).get("nominatedNodeName", ""))


def using(claim: str) -> list[Any]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


async def test_an_existing_volume_is_bound_before_its_pod_and_draws_it_to_its_node(world: World) -> None:
    storage = Storage(world)
    await storage.storage_class("kubernetes.io/no-provisioner")
    await world.node("a")
    far = await world.node("b")
    volume = await storage.volume("v", far)
    await storage.claim("data")

    async with world.scheduling():
        await world.pod("db", volumes=using("data"))
        reserved = await storage.claim_of(volume)
        unbound = await world.get("Pod", "db")
        await storage.finish_binding("data", volume)
        assert await world.bound("db") == far

    claim = await world.get("PersistentVolumeClaim", "data")
    reference = reserved["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"]) == (world.name, "data")
    assert reference["uid"] == claim["metadata"]["uid"]
    assert reserved["metadata"]["annotations"][BOUND_BY_CONTROLLER] == "yes"
    # Only our fields were sent: the rest of the volume is as it was made.
    assert reserved["spec"]["csi"] == {"driver": "csi.example.com", "volumeHandle": volume}
    assert "nodeName" not in unbound["spec"]


async def test_two_pods_at_once_get_two_volumes(world: World) -> None:
    storage = Storage(world)
    await storage.storage_class("kubernetes.io/no-provisioner")
    node = await world.node("a")
    volumes = {await storage.volume(f"v{at}", node) for at in range(2)}
    for at in range(2):
        await storage.claim(f"data{at}")
        await world.pod(f"db{at}", volumes=using(f"data{at}"))

    async with world.scheduling():
        for volume in volumes:
            reserved = await storage.claim_of(volume)
            await storage.finish_binding(reserved["spec"]["claimRef"]["name"], volume)
        assert {await world.bound(f"db{at}") for at in range(2)} == {node}


async def test_a_provisioner_that_gives_up_is_asked_again(world: World) -> None:
    storage = Storage(world)
    await storage.storage_class("csi.example.com")
    node = await world.node("a")
    await storage.claim("data")

    async with world.scheduling(podInitialBackoffSeconds=1, podMaxBackoffSeconds=1):
        await world.pod("db", volumes=using("data"))
        assert await storage.selected_node("data") == node
        await world.eventually(lambda: expected_on(world, "db"))
        gave_up = {"metadata": {"annotations": {SELECTED_NODE: None, "note": "no space"}}}
        await storage.patch("PersistentVolumeClaim", "data", gave_up)
        event = await world.event("db", "FailedScheduling")
        assert await storage.selected_node("data") == node
        await storage.finish_binding("data", await storage.volume("made", node))
        assert await world.bound("db") == node

    problem = 'binding volumes: provisioning failed for PVC "data"'
    assert event["note"] == f'running PreBind plugin "VolumeBinding": {problem}'


async def test_a_pod_deleted_while_its_volume_is_made_gives_back_its_room(world: World) -> None:
    storage = Storage(world)
    await storage.storage_class("csi.example.com")
    node = await world.node("a", cpu="1")
    await storage.claim("data")

    async with world.scheduling():
        await world.pod("db", volumes=using("data"))
        assert await storage.selected_node("data") == node
        await world.delete("Pod", "db")
        await world.pod("next")
        assert await world.bound("next") == node
