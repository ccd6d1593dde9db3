"""The printed manifests apply cleanly, and the rights they give are enough for everything the scheduler does."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from tests.cluster.conftest import Kubectl
from tests.cluster.scheduler_world import World

from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.credentials import Credential, StaticSource, bearer
from moorage.kube.election import ElectionSettings, LeaderElector
from moorage.kube.reviews import Reviewer
from moorage.kube.transport import Client


def printed(*flags: str) -> str:
    command = [sys.executable, "-m", "moorage", "manifests", *flags]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def service_account(world: World) -> ClusterAccess:
    """The access that the service account of the manifests has, and nothing else."""
    path = f"/api/v1/namespaces/{world.name}/serviceaccounts/{world.name}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = json.loads(await world.client.post(path, json.dumps(request).encode()))["status"]["token"]
    admin = load_access(world.access.kubeconfig)
    return ClusterAccess(
        server=admin.server,
        source=StaticSource(Credential(bearer(token))),
        certificate_authority=admin.certificate_authority,
        insecure=admin.insecure,
    )


async def apply(world: World, kubectl: Kubectl, folder: Path) -> str:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": world.name}],
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    text = printed(f"--config={path}", f"--name={world.name}", f"--namespace={world.name}")
    await asyncio.to_thread(kubectl, "apply", "--server-side", "-f", "-", stdin=text)
    return text


async def test_the_manifests_apply_cleanly(world: World, kubectl: Kubectl, tmp_path: Path) -> None:
    text = await apply(world, kubectl, tmp_path)
    again = await asyncio.to_thread(kubectl, "diff", "--server-side", "-f", "-", stdin=text)
    await asyncio.to_thread(kubectl, "delete", "-f", "-", stdin=text)
    assert again == ""


async def test_the_rights_suffice(control_plane: object, world: World, kubectl: Kubectl, tmp_path: Path) -> None:
    text = await apply(world, kubectl, tmp_path)
    access = await service_account(world)
    node = await world.node("a", cpu="1")
    async with world.scheduling(access=access):
        await world.pod("low")
        assert await world.bound("low") == node
        await world.pod("next")
        await world.refused("next")
        await world.event("next", "FailedScheduling")
        await world.pod("high", priorityClassName="system-cluster-critical")
        assert await world.bound("high") == node
        await world.event("low", "Preempted")
    await lead_and_review(world, access)
    await asyncio.to_thread(kubectl, "delete", "-f", "-", stdin=text)


async def lead_and_review(world: World, access: ClusterAccess) -> None:
    """What the process does beside scheduling: hold the lease, ask who may see metrics."""
    async with Client(access) as client:
        led: list[Any] = []

        async def lead() -> None:
            led.append(True)

        await LeaderElector(client, ElectionSettings(name=world.name, namespace=world.name)).run(lead)
        assert led
        reviewer = Reviewer(client)
        user = await reviewer.authenticate(world.access.token)
        assert user is not None
        assert await reviewer.authorize(user, verb="get", path="/metrics")
