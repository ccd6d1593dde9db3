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
from tools.control_plane.processes import free_ports

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


TIDE = """
from dataclasses import dataclass

from moorage.framework import Action, custom_kind, on, unschedulable

Chart = custom_kind("v1", "ConfigMap")


@dataclass
class TideArgs:
    chart: str


class Tide:
    \"\"\"Lets pods in at high tide, as a chart (a ConfigMap) tells.\"\"\"

    args_type = TideArgs
    reads = (Chart,)

    def __init__(self, args, handle):
        self._chart = args.chart
        self._objects = handle.snapshot.objects

    def pre_enqueue(self, pod):
        chart = self._objects.get(Chart, f"{pod.namespace}/{self._chart}")
        if chart is None or chart.data.get("tide") != "high":
            return unschedulable("the tide is low")

    def events_to_register(self):
        return [on(Chart, Action.ADD | Action.UPDATE)]
"""


async def test_what_is_printed_for_a_plugin_file_starts(world: World, kubectl: Kubectl, tmp_path: Path) -> None:
    """The container's own command, on what the ConfigMap holds, with the rights that are printed."""
    (tmp_path / "tide.py").write_text(TIDE)
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": world.name,
                "plugins": {"multiPoint": {"enabled": [{"name": "Tide"}]}},
                "pluginConfig": [{"name": "Tide", "args": {"chart": "chart"}}],
            }
        ],
    }
    (tmp_path / "given.yaml").write_text(yaml.safe_dump(config))
    names = (f"--name={world.name}", f"--namespace={world.name}", "--replicas=1")
    text = printed(f"--config={tmp_path / 'given.yaml'}", f"--plugin={tmp_path / 'tide.py'}:Tide", *names)
    await asyncio.to_thread(kubectl, "apply", "--server-side", "-f", "-", stdin=text)
    made = {one["kind"]: one for one in yaml.safe_load_all(text)}
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    for name, content in made["ConfigMap"]["data"].items():
        (mounted / name).write_text(content)
    (container,) = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    args = [one.replace("/etc/moorage", str(mounted)) for one in container["args"]]
    kubeconfig = await write_kubeconfig(world, tmp_path / "kubeconfig")
    (port,) = free_ports(1)
    more = [f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", f"--secure-port={port}"]
    with (tmp_path / "log").open("wb") as log:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "moorage", *args, *more, stdout=log, stderr=log
        )
    try:
        node = await world.node("a")
        await world.pod("boat")
        chart = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "chart"}, "data": {"tide": "low"}}
        await world.create(chart)
        await world.patch("ConfigMap", "chart", {"data": {"tide": "high"}})
        assert await world.bound("boat") == node
    except BaseException:
        print((tmp_path / "log").read_text())
        raise
    finally:
        child.terminate()
        status = await child.wait()
    await asyncio.to_thread(kubectl, "delete", "-f", "-", stdin=text)
    assert status == 0
    assert "forbidden" not in (tmp_path / "log").read_text()


async def write_kubeconfig(world: World, path: Path) -> Path:
    """The access of the manifests' service account, as a file."""
    access = await service_account(world)
    token = (await access.source.fetch()).authorization.removeprefix("Bearer ")
    admin = yaml.safe_load(world.access.kubeconfig.read_text())
    cluster = {"name": "c", "cluster": admin["clusters"][0]["cluster"]}
    user = {"name": "u", "user": {"token": token}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    parts = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": "x"}
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **parts})
    await asyncio.to_thread(path.write_text, text)
    return path
