"""The CustomResourceDefinitions that Moorage brings, as an API server takes them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.apiserver.server import ApiServer, Options
from moorage.controllers.definitions import STICKY_JOBS, definition, ensure_served
from moorage.kube.access import load_access
from moorage.kube.errors import Invalid
from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH, Client

JOBS = "/apis/example.com/v1/namespaces/default/stickyjobs"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with ApiServer(Options(port=0)) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        async with Client(load_access(tmp_path / "kubeconfig")) as connected:
            await ensure_served(connected)
            yield connected


def job(**spec: Any) -> bytes:
    template = {"spec": {"containers": [{"name": "main", "image": "app", "env": [{"name": "A", "value": "b"}]}]}}
    body = {"apiVersion": "example.com/v1", "kind": "StickyJob", "metadata": {"name": "db"}}
    return msgspec.json.encode({**body, "spec": {"template": template, **spec}})


async def test_a_template_keeps_its_fields_and_stickiness_has_a_default(client: Client) -> None:
    created = msgspec.json.decode(await client.post(JOBS, job()))
    assert created["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "b"}]
    assert created["spec"]["stickiness"] == "Preferred"
    assert created["spec"]["seatSeconds"] == 0
    assert "waitSeconds" not in created["spec"]


@pytest.mark.parametrize("spec", [{"stickiness": "Maybe"}, {"waitSeconds": -1}, {"completions": 0}])
async def test_what_means_nothing_is_refused(client: Client, spec: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        await client.post(JOBS, job(**spec))


async def test_the_status_is_written_apart(client: Client) -> None:
    await client.post(JOBS, job())
    patch = msgspec.json.encode({"status": {"lastNode": "node-3"}})
    plain = msgspec.json.decode(await client.patch(f"{JOBS}/db", patch, content_type=MERGE_PATCH))
    assert "status" not in plain
    written = msgspec.json.decode(await client.patch(f"{JOBS}/db/status", patch, content_type=MERGE_PATCH))
    assert written["status"] == {"lastNode": "node-3"}


async def test_a_definition_that_is_there_is_left_as_it_is(client: Client) -> None:
    path = resource_of("CustomResourceDefinition").path(name="stickyjobs.example.com")
    mark = msgspec.json.encode({"metadata": {"labels": {"whose": "mine"}}})
    await client.patch(path, mark, content_type=MERGE_PATCH)
    await ensure_served(client)
    found = msgspec.json.decode(await client.get(path))
    assert found["metadata"]["labels"] == {"whose": "mine"}
    assert found["spec"]["versions"][0]["name"] == definition(STICKY_JOBS)["spec"]["versions"][0]["name"]
