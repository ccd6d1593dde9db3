"""Volumes: bound with the pod by the real volume controller, or given up after a while."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster.scheduler_world import World
from tools.control_plane.running import ControlPlane

NO_PROVISIONER = "kubernetes.io/no-provisioner"


@pytest.fixture
def volume_controller(control_plane: ControlPlane) -> Iterator[None]:
    """The controller that binds claims to volumes."""
    controllers = "persistentvolume-binder-controller,persistentvolumeclaim-protection-controller"
    with control_plane.start_kube_controller_manager(controllers):
        yield


async def storage_class(world: World, provisioner: str = NO_PROVISIONER) -> str:
    """A class whose volumes are bound when a pod wants them."""
    await world.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": world.name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    return world.name


async def volume(world: World, name: str, node: str) -> str:
    """A local volume of a node."""
    full = f"{world.name}-{name}"
    at = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    await world.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": full},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": world.name,
                "local": {"path": "/mnt/disk"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [at]}]}},
            },
        }
    )
    return full


async def claim(world: World, name: str) -> dict[str, Any]:
    """A claim, and the volume of a pod that uses it."""
    await world.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": world.name,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}


@pytest.mark.usefixtures("volume_controller")
async def test_a_claim_is_bound_where_the_pod_goes(world: World) -> None:
    await storage_class(world)
    await world.node("a")
    node = await world.node("b")
    disk = await volume(world, "disk", node)
    async with world.scheduling():
        await world.pod("db", volumes=[await claim(world, "data")])
        assert await world.bound("db") == node
    bound = await world.get("PersistentVolumeClaim", "data")
    assert bound["spec"]["volumeName"] == disk
    assert bound["status"]["phase"] == "Bound"


@pytest.mark.usefixtures("volume_controller")
async def test_two_pods_do_not_take_one_volume(world: World) -> None:
    await storage_class(world)
    node = await world.node("a")
    await volume(world, "one", node)
    async with world.scheduling():
        await world.pod("first", volumes=[await claim(world, "one")])
        await world.pod("second", volumes=[await claim(world, "two")])
        assert await world.bound("first") == node
        text = (await world.refused("second"))["message"]
        assert "1 node(s) didn't find available persistent volumes to bind" in text
        await volume(world, "two", node)
        assert await world.bound("second") == node


async def test_a_pod_waits_for_its_claim(world: World) -> None:
    await world.node("a")
    async with world.scheduling():
        await world.pod("db", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
        message = (await world.refused("db"))["message"]
    assert message == '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'


async def test_a_provisioner_that_does_nothing_is_waited_for_no_longer_than_configured(world: World) -> None:
    await storage_class(world, "example.com/idle")
    node = await world.node("a")
    profile = {
        "schedulerName": world.name,
        "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 1}}],
    }
    async with world.scheduling(profiles=[profile]):
        await world.pod("db", volumes=[await claim(world, "data")])

        async def expected() -> bool:
            return bool((await world.get("Pod", "db"))["status"].get("nominatedNodeName") == node)

        await world.eventually(expected)
        refusal = await world.refused("db")
        selected = await world.get("PersistentVolumeClaim", "data")
    assert refusal["reason"] == "SchedulerError"
    assert refusal["message"] == ('running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded')
    assert selected["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == node
