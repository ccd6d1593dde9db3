"""The HTTPS endpoint: health for everybody, the rest for whom the cluster allows."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from tools.control_plane.processes import free_ports

from moorage.errors import InputError
from moorage.kube.access import ClusterAccess
from moorage.kube.errors import Unreachable
from moorage.kube.reviews import Reviewer
from moorage.kube.transport import JSON, Client, Query
from moorage.live.certificates import self_signed, serving_context
from moorage.live.endpoint import Endpoint
from moorage.live.health import Health
from moorage.live.options import Serving
from moorage.observe.exposition import Exposition
from moorage.observe.metrics import SchedulerMetrics


class Cluster(Client):
    """Knows the tokens "operator" and "guest"; lets the operator see everything, and answers while it is up."""

    def __init__(self) -> None:
        super().__init__(ClusterAccess("http://nowhere"))
        self.up = True

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        query: Query | None = None,
        content_type: str = JSON,
        deadline: float | None = None,
    ) -> bytes:
        if not self.up:
            raise Unreachable("nobody there")
        spec = msgspec.json.decode(body)["spec"]
        if path.endswith("tokenreviews"):
            known = spec["token"] in ("operator", "guest")
            return msgspec.json.encode({"status": {"authenticated": known, "user": {"username": spec["token"]}}})
        return msgspec.json.encode({"status": {"allowed": spec["user"] == "operator"}})


class Served:
    """An endpoint, and a way to ask it."""

    def __init__(self, port: int, cluster: Cluster, health: Health) -> None:
        self.port = port
        self.cluster = cluster
        self.health = health
        self.scheme = "https"

    async def ask(self, path: str, token: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session,
            session.get(f"{self.scheme}://127.0.0.1:{self.port}{path}", headers=headers) as answer,
        ):
            return answer.status, await answer.text()


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Served]:
    (port,) = free_ports(1)
    cluster, health = Cluster(), Health()
    settings = Serving(address="127.0.0.1", port=port, **options)
    document = {"kind": "KubeSchedulerConfiguration"}
    async with Endpoint(
        serving=settings,
        reviewer=Reviewer(cluster),
        health=health,
        exposition=Exposition(SchedulerMetrics()),
        document=document,
    ) as endpoint:
        assert endpoint.port == port
        yield Served(port, cluster, health)


async def test_health_is_open_to_everybody() -> None:
    async with serving() as served:
        for path in ("/healthz", "/livez", "/readyz"):
            assert await served.ask(path) == (200, "ok")
        assert await served.ask("/livez?verbose") == (200, "[+]ping ok\nlivez check passed\n")
        assert await served.ask("/livez/ping") == (200, "ok")
        assert (await served.ask("/livez/pong"))[0] == 404


async def test_a_failing_check_is_named_and_can_be_excluded() -> None:
    async with serving() as served:
        served.health.add("shutdown", lambda: "stopping", "readyz")
        status, text = await served.ask("/readyz")
        assert status == 500
        assert "[-]shutdown failed: reason withheld" in text
        assert await served.ask("/readyz?exclude=shutdown") == (200, "ok")
        assert (await served.ask("/readyz/shutdown"))[0] == 500
        assert await served.ask("/healthz") == (200, "ok")


async def test_metrics_and_configuration_are_for_whom_the_cluster_allows() -> None:
    async with serving() as served:
        for path in ("/metrics", "/configz"):
            assert (await served.ask(path))[0] == 403
            assert (await served.ask(path, "guest"))[0] == 403
            assert (await served.ask(path, "stranger"))[0] == 401
            assert (await served.ask(path, "operator"))[0] == 200
        _, metrics = await served.ask("/metrics", "operator")
        assert "# TYPE scheduler_schedule_attempts_total counter" in metrics
        _, config = await served.ask("/configz", "operator")
        assert json.loads(config) == {"componentconfig": {"kind": "KubeSchedulerConfiguration"}}


async def test_when_the_cluster_cannot_say_nobody_is_let_in() -> None:
    async with serving() as served:
        served.cluster.up = False
        assert (await served.ask("/metrics", "operator"))[0] == 503
        assert (await served.ask("/healthz"))[0] == 200


async def test_paths_can_be_opened_and_closed() -> None:
    async with serving(always_allowed=["/metrics"]) as served:
        assert (await served.ask("/metrics"))[0] == 200
        assert (await served.ask("/healthz"))[0] == 403


async def test_a_port_that_is_taken_is_named() -> None:
    async with serving() as served:
        settings = Serving(address="127.0.0.1", port=served.port)
        second = Endpoint(
            serving=settings,
            reviewer=Reviewer(served.cluster),
            health=Health(),
            exposition=Exposition(SchedulerMetrics()),
            document={},
        )
        with pytest.raises(InputError, match=f"--secure-port {served.port}: cannot listen"):
            await second.__aenter__()


async def test_port_0_serves_nothing() -> None:
    settings = Serving(port=0)
    async with Endpoint(
        serving=settings,
        reviewer=Reviewer(Cluster()),
        health=Health(),
        exposition=Exposition(SchedulerMetrics()),
        document={},
    ) as endpoint:
        assert endpoint.port == 0


def test_a_certificate_of_ones_own(tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    pair.write_bytes(self_signed("scheduler.example", "127.0.0.1"))
    assert serving_context(pair, pair)
    with pytest.raises(InputError, match="expected both"):
        serving_context(pair, None)
    with pytest.raises(InputError, match="--tls-cert-file"):
        serving_context(tmp_path / "missing", pair)


async def test_a_plain_endpoint_tells_everything_to_everybody() -> None:
    async with serving(plain=True) as served:
        served.scheme = "http"
        assert await served.ask("/livez") == (200, "ok")
        status, metrics = await served.ask("/metrics")
        assert status == 200
        assert "scheduler_pending_pods" in metrics or "scheduler_schedule_attempts_total" in metrics
