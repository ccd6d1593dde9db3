"""`moorage controllers`: which run, by whose lease, and what they do while a definition is missing."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from moorage.apiserver.server import ApiServer
from moorage.apiserver.server import Options as ServerOptions
from moorage.cli.main import app
from moorage.controllers.definitions import ensure_served
from moorage.controllers.process import ControllerOptions, run_until
from moorage.errors import InputError
from moorage.kube import watching
from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.election import ElectionSettings
from moorage.kube.errors import NotFound
from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH, Client

JOBS = "/apis/example.com/v1/namespaces/default/stickyjobs"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def access(tmp_path: Path) -> AsyncIterator[ClusterAccess]:
    async with ApiServer(ServerOptions(port=0)) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield load_access(tmp_path / "kubeconfig")


@asynccontextmanager
async def running(access: ClusterAccess, election: ElectionSettings | None = None) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    options = ControllerOptions(access, scheduler_name="mine", election=election)
    task = asyncio.create_task(run_until(options, stopping))
    try:
        yield
    finally:
        stopping.set()
        await task


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await holds():  # noqa: ASYNC110 - it happens behind a socket
            await asyncio.sleep(0.05)


async def create_job(client: Client, name: str) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "app"}]}}
    body = {"apiVersion": "example.com/v1", "kind": "StickyJob", "metadata": {"name": name}}
    await client.post(JOBS, msgspec.json.encode({**body, "spec": {"template": template}}))


def has_pod(client: Client, name: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        try:
            pod = msgspec.json.decode(await client.get(f"{PODS}/{name}"))
        except NotFound:
            return False
        return bool(pod["spec"]["schedulerName"] == "mine")

    return look


async def test_they_start_while_a_definition_is_missing_and_say_so(
    access: ClusterAccess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watching, "MISSING_DELAY", 0.05)
    with caplog.at_level(logging.WARNING):
        async with Client(access) as client, running(access):

            async def is_said() -> bool:
                return "stickyjobs: not served here" in caplog.text

            await eventually(is_said)
            await ensure_served(client)
            await create_job(client, "db")
            await eventually(has_pod(client, "db"))


async def test_of_two_instances_one_acts_and_the_other_takes_over(access: ClusterAccess) -> None:
    def election(identity: str) -> ElectionSettings:
        return ElectionSettings("controllers", identity=identity, lease_duration=3, renew_deadline=2, retry_period=0.2)

    async def holder(client: Client) -> str:
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/controllers"
        try:
            return str(msgspec.json.decode(await client.get(path))["spec"]["holderIdentity"])
        except NotFound:
            return ""

    async with Client(access) as client:
        await ensure_served(client)

        async def is_held_by(name: str) -> bool:
            return await holder(client) == name

        async with running(access, election("first")):
            await eventually(lambda: is_held_by("first"))
            second = running(access, election("second"))
            await second.__aenter__()
            await create_job(client, "one")
            await eventually(has_pod(client, "one"))
            assert await holder(client) == "first"
        await eventually(lambda: is_held_by("second"))
        await create_job(client, "two")
        await eventually(has_pod(client, "two"))
        await second.__aexit__(None, None, None)


def test_without_names_only_those_run_that_nobody_else_has() -> None:
    access = ClusterAccess("http://nowhere")
    assert ControllerOptions(access).chosen == ("stickyjob", "podgroup")
    assert ControllerOptions(access, names=("job",)).chosen == ("job",)
    with pytest.raises(InputError, match="no controller is called 'jobs'"):
        ControllerOptions(access, names=("jobs",))


def test_a_name_that_is_none_is_told_in_a_line(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: it, clusters: [{name: it, cluster: {server: 'http://x'}}],"
        " users: [{name: it, user: {}}], contexts: [{name: it, context: {cluster: it, user: it}}]}"
    )
    result = CliRunner().invoke(app, ["controllers", "nobody", "--kubeconfig", str(kubeconfig)])
    assert result.exit_code == 2
    assert "no controller is called 'nobody'" in result.output


LITERAL = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "stickyjobs.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "stickyjobs", "singular": "stickyjob", "kind": "StickyJob"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"template": {"type": "object"}}},
                            "status": {"type": "object", "properties": {"lastNode": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}


async def reasons(client: Client) -> set[str]:
    """Of the events about StickyJobs."""
    events = msgspec.json.decode(await client.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    return {event["reason"] for event in events if event["regarding"]["kind"] == "StickyJob"}


async def test_a_definition_that_prunes_template_and_status_is_told_by_an_event(access: ClusterAccess) -> None:
    async with Client(access) as client, running(access):
        await client.post(resource_of("CustomResourceDefinition").path(), msgspec.json.encode(LITERAL))
        await create_job(client, "db")

        async def is_told() -> bool:
            return "TemplatePruned" in await reasons(client)

        await eventually(is_told)
        assert not await has_pod(client, "db")()


async def test_a_definition_with_no_more_status_than_the_last_node_will_do(access: ClusterAccess) -> None:
    definition = msgspec.json.decode(msgspec.json.encode(LITERAL))
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["template"]["x-kubernetes-preserve-unknown-fields"] = True
    async with Client(access) as client, running(access):
        await client.post(resource_of("CustomResourceDefinition").path(), msgspec.json.encode(definition))
        await create_job(client, "db")
        await eventually(has_pod(client, "db"))
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "db"}, "target": {"name": "node-3"}}
        await client.post(f"{PODS}/db/binding", msgspec.json.encode(binding))
        running_now = msgspec.json.encode({"status": {"phase": "Running"}})
        await client.patch(f"{PODS}/db/status", running_now, content_type=MERGE_PATCH)

        async def is_known() -> bool:
            job = msgspec.json.decode(await client.get(f"{JOBS}/db"))
            return bool(job.get("status") == {"lastNode": "node-3"})

        await eventually(is_known)
        await client.delete(f"{PODS}/db", msgspec.json.encode({"gracePeriodSeconds": 0}))

        async def is_made_anew() -> bool:
            if not await has_pod(client, "db")():
                return False
            pod = msgspec.json.decode(await client.get(f"{PODS}/db"))
            return bool(pod["metadata"].get("annotations", {}).get("example.com/last-node") == "node-3")

        await eventually(is_made_anew)
