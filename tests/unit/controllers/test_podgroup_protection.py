"""A PodGroup of scheduling.k8s.io stays while pods that have not finished are in it, in every version."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.controllers.test_controllers_running import begin, eventually, stop

from moorage.apiserver.server import ApiServer, Options
from moorage.config.gates import features_of
from moorage.controllers.running import run_controllers
from moorage.kube.access import load_access
from moorage.kube.errors import NotFound
from moorage.kube.transport import MERGE_PATCH, Client

PODS = "/api/v1/namespaces/default/pods"


def body(name: str, spec: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"metadata": {"name": name}, "spec": spec})


async def is_gone(client: Client, path: str) -> bool:
    try:
        await client.get(path)
    except NotFound:
        return True
    return False


@pytest.mark.parametrize(("version", "served"), [("1.37", "v1beta1"), ("1.36", "v1alpha2")])
async def test_a_group_goes_with_its_last_pod(tmp_path: Path, version: str, served: str) -> None:
    groups = f"/apis/scheduling.k8s.io/{served}/namespaces/default/podgroups"
    async with ApiServer(Options(features=features_of(version, {"GenericWorkload": True}))) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        async with Client(load_access(tmp_path / "kubeconfig")) as client:
            running = await begin(run_controllers, client, only=["podgroup-protection"])
            await client.post(groups, body("train", {"schedulingPolicy": {"basic": {}}}))
            for name in ("a", "b"):
                spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGroup": {"podGroupName": "train"}}
                await client.post(PODS, body(name, spec))
            await client.delete(f"{groups}/train")
            await client.patch(f"{PODS}/a/status", b'{"status": {"phase": "Succeeded"}}', content_type=MERGE_PATCH)
            await asyncio.sleep(0.2)
            assert not await is_gone(client, f"{groups}/train")
            await client.delete(f"{PODS}/b")
            await eventually(lambda: is_gone(client, f"{groups}/train"))
            await stop(running)


async def test_where_there_are_no_such_groups_nothing_is_followed(tmp_path: Path) -> None:
    async with ApiServer(Options()) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        async with Client(load_access(tmp_path / "kubeconfig")) as client:
            await stop(await begin(run_controllers, client, only=["podgroup-protection"]))
