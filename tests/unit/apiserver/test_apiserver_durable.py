"""Storage that outlives the process: restarts, crashes, failures of the disk."""

import asyncio
import contextlib
import itertools
import json
import random
import sqlite3
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.unit.apiserver.victim import Victim

from moorage.apiserver.durable import Durable
from moorage.apiserver.history import Item
from moorage.apiserver.server import ApiServer, Options
from moorage.apiserver.status import Refusal
from moorage.errors import InputError

Json = dict[str, Any]
MakeServer = Callable[[], ApiServer]

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextlib.asynccontextmanager
async def client(url: str, token: str, ca: str) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=ca))
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url, headers=headers, connector=connector) as session:
        yield session


@contextlib.asynccontextmanager
async def started(make_server: MakeServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        make_server() as server,
        client(server.url, server.admin_token, server.ca.decode()) as session,
    ):
        yield session


async def call(session: aiohttp.ClientSession, method: str, path: str, body: Json | None = None) -> tuple[int, Json]:
    async with session.request(method, path, json=body) as answer:
        found: Json = await answer.json()
        return answer.status, found


async def test_objects_and_versions_survive_a_restart(make_server: MakeServer) -> None:
    async with started(make_server) as http:
        _, made = await call(http, "POST", CONFIGMAPS, {"metadata": {"name": "a", "labels": {"x": "y"}}})
        await call(http, "POST", CONFIGMAPS, {"metadata": {"name": "gone"}})
        await call(http, "DELETE", f"{CONFIGMAPS}/gone")
        version = (await call(http, "GET", CONFIGMAPS))[1]["metadata"]["resourceVersion"]
    async with started(make_server) as http:
        _, listed = await call(http, "GET", f"{CONFIGMAPS}?labelSelector=x%3Dy")
        assert listed["items"] == [made]
        assert (await call(http, "GET", f"{CONFIGMAPS}/gone"))[0] == 404
        assert listed["metadata"]["resourceVersion"] == version
        _, later = await call(http, "POST", CONFIGMAPS, {"metadata": {"name": "b"}})
        assert int(later["metadata"]["resourceVersion"]) == int(version) + 1
        async with http.get(f"{CONFIGMAPS}?watch=true&resourceVersion={version}") as stream:
            event = json.loads(await stream.content.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")


async def test_the_authority_and_the_admin_survive(make_server: MakeServer) -> None:
    first, second = make_server(), None
    async with first:
        token, ca = first.admin_token, first.ca
    second = make_server()
    async with second:
        assert (second.admin_token, second.ca) == (token, ca)


async def test_custom_kinds_survive(make_server: MakeServer) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "boats", "kind": "Boat"}
    spec = {"group": "sea.example.com", "scope": "Cluster", "names": names, "versions": [version]}
    async with started(make_server) as http:
        await call(http, "POST", DEFINITIONS, {"metadata": {"name": "boats.sea.example.com"}, "spec": spec})
        body = {"apiVersion": "sea.example.com/v1", "kind": "Boat", "metadata": {"name": "anna"}, "any": "thing"}
        assert (await call(http, "POST", "/apis/sea.example.com/v1/boats", body))[0] == 201
    async with started(make_server) as http:
        _, found = await call(http, "GET", "/apis/sea.example.com/v1/boats/anna")
        assert found["any"] == "thing"


async def test_two_servers_cannot_share_a_directory(make_server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.apiserver.durable.LOCK_SECONDS", 0.1)
    async with make_server():
        with pytest.raises(InputError, match="cannot be used as storage"):
            make_server()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "objects.sqlite").write_bytes(b"something else entirely" * 100)
    with pytest.raises(InputError, match="cannot be used as storage"):
        ApiServer(Options(data_dir=tmp_path))


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be used as data directory"):
        ApiServer(Options(data_dir=tmp_path / "file"))


def test_another_version_of_the_format(tmp_path: Path) -> None:
    Durable(tmp_path / "objects.sqlite").close(1)
    with contextlib.closing(sqlite3.connect(tmp_path / "objects.sqlite")) as database, database:
        database.execute("UPDATE state SET value = '99' WHERE key = 'format'")
    with pytest.raises(InputError, match="another version"):
        Durable(tmp_path / "objects.sqlite")


async def test_a_disk_that_fails_is_reported(tmp_path: Path) -> None:
    durable = Durable(tmp_path / "objects.sqlite")
    durable.start(asyncio.get_running_loop())
    item = Item("", "a", 7, "not bytes but a thing no database takes", {}, ())  # type: ignore[arg-type]
    item.data = object()  # type: ignore[assignment]
    durable.record("things", item, deleted=False)
    with pytest.raises(Refusal) as failed:
        await durable.settle(7)
    assert failed.value.code == 500
    with pytest.raises(Refusal):
        await durable.settle(8)
    durable.close(8)


def test_after_a_crash_revisions_go_on_beyond_everything_seen(tmp_path: Path) -> None:
    path = tmp_path / "objects.sqlite"
    first = Durable(path)
    assert first.first_revision == 1
    first._database.close()  # a crash: nothing is noted at the end
    second = Durable(path)
    assert second.first_revision > 100_000
    second.close(second.first_revision + 5)
    third = Durable(path)
    assert third.first_revision == second.first_revision + 5
    third.close(third.first_revision)


class Storm:
    """Writers that create, change and delete as fast as the server lets them, and note what it acknowledged."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.doubtful: set[str] = set()
        self.gone: set[str] = set()

    async def blow(self, http: aiohttp.ClientSession, worker: str) -> None:
        """Write until the server is gone."""
        with contextlib.suppress(aiohttp.ClientError):
            for number in itertools.count():
                name = f"{worker}-{number}"
                await self.write(http, "POST", CONFIGMAPS, name)
                if number % 3 == 1:
                    await self.write(http, "PUT", f"{CONFIGMAPS}/{name}", name)
                elif number % 3 == 2:
                    await self.remove(http, name)

    async def write(self, http: aiohttp.ClientSession, method: str, path: str, name: str) -> None:
        code, made = await call(http, method, path, {"metadata": {"name": name}, "data": {"by": method}})
        assert code in (200, 201)
        self.versions[name] = int(made["metadata"]["resourceVersion"])

    async def remove(self, http: aiohttp.ClientSession, name: str) -> None:
        self.doubtful.add(name)  # until the answer comes it may be gone or not
        code, _ = await call(http, "DELETE", f"{CONFIGMAPS}/{name}")
        assert code == 200
        self.doubtful.discard(name)
        self.gone.add(name)
        del self.versions[name]


ROUNDS = 20


async def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    victim, storm, moments = Victim(tmp_path / "data"), Storm(), random.Random(5)
    for round_number in range(ROUNDS):
        async with await connect(victim) as http:
            last = await check(http, storm)
            writers = [asyncio.create_task(storm.blow(http, f"w{round_number}-{n}")) for n in range(8)]
            await asyncio.sleep(moments.uniform(0.05, 0.3))
            await victim.kill()
            await asyncio.gather(*writers)
    assert len(storm.versions) > ROUNDS
    async with await connect(victim) as http:
        await check(http, storm)
        async with http.get(f"{CONFIGMAPS}?watch=true&resourceVersion={last}") as stream:
            event = json.loads(await stream.content.readline())
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    await victim.kill()


async def connect(victim: Victim) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientSession]:
    return client(*await victim.start())


async def check(http: aiohttp.ClientSession, storm: Storm) -> int:
    """Every acknowledged write is there, no acknowledged delete is undone, revisions go on. Answers the revision."""
    _, listed = await call(http, "GET", CONFIGMAPS)
    found = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in listed["items"]}
    for name, version in storm.versions.items():
        assert name in storm.doubtful or found[name] >= version
    assert not storm.gone & found.keys()
    storm.versions = {name: found[name] for name in storm.versions if name in found}
    storm.doubtful.clear()
    revision = int(listed["metadata"]["resourceVersion"])
    assert revision > max(storm.versions.values(), default=0)
    return revision
