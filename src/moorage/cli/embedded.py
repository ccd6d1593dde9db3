"""A whole cluster in this process: API server, hollow nodes, controllers, scheduler."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from moorage.apiserver.server import ApiServer
from moorage.apiserver.server import Options as ServerOptions
from moorage.cli.reloading import Sources, keep_scheduling
from moorage.config import DEFAULT_FEATURES, Features
from moorage.controllers.definitions import ensure_served
from moorage.controllers.running import run_controllers
from moorage.kube.access import load_access
from moorage.kube.transport import Client
from moorage.live.options import Options as SchedulerOptions
from moorage.live.options import Serving, make_options
from moorage.nodes.running import run_nodes
from moorage.nodes.shapes import NodeShape


@dataclass(frozen=True)
class ClusterOptions:
    """What the cluster is made of. Port 0 takes any free one."""

    shapes: Sequence[NodeShape]
    port: int = 0
    data_dir: Path | None = None
    kubeconfig_out: Path | None = None
    config: Path | None = None
    plugins: Sequence[str] = field(default_factory=tuple)
    #: Whose decisions the scheduler takes, and what the API server says it is.
    features: Features = DEFAULT_FEATURES
    with_scheduler: bool = True
    with_controllers: bool = True
    #: Whether the scheduler begins again when the code of a plugin or the configuration changes.
    reload: bool = False
    #: Where the scheduler's metrics are served, on loopback; 0 for nowhere.
    metrics_port: int = 0


@dataclass(frozen=True)
class EmbeddedCluster:
    """A cluster that runs."""

    server: ApiServer
    client: Client
    kubeconfig: Path


@asynccontextmanager
async def embedded_cluster(options: ClusterOptions) -> AsyncIterator[EmbeddedCluster]:
    """Run a cluster until the block ends; its nodes are there when the block begins. Raises InputError."""
    with tempfile.TemporaryDirectory(prefix="moorage-") as folder:
        kubeconfig = options.kubeconfig_out or Path(folder, "kubeconfig")
        async with ApiServer(_server_options(options)) as server:
            server.write_kubeconfig(kubeconfig)
            access = load_access(kubeconfig)
            make = partial(_scheduler, options, kubeconfig, Path(folder))
            async with Client(access) as client:
                await ensure_served(client)
                async with _running(options, client, make):
                    yield EmbeddedCluster(server, client, kubeconfig)


@asynccontextmanager
async def _running(
    options: ClusterOptions, client: Client, make_scheduler: Callable[[], SchedulerOptions]
) -> AsyncIterator[None]:
    """Nodes, controllers and scheduler, all of them clients of the API server, until the block ends."""
    ready, stopping = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        parts = [
            group.create_task(run_nodes(client, options.shapes, on_ready=ready.set), name="nodes"),
        ]
        if options.with_controllers:
            parts.append(group.create_task(run_controllers(client), name="controllers"))
        if options.with_scheduler:
            sources = Sources(options.plugins, options.config)
            scheduling = keep_scheduling(make_scheduler, sources, stopping, reload=options.reload)
            parts.append(group.create_task(scheduling, name="scheduler"))
        await ready.wait()
        try:
            yield
        finally:
            stopping.set()
            for part in parts:
                part.cancel()


def _server_options(options: ClusterOptions) -> ServerOptions:
    return ServerOptions(port=options.port, data_dir=options.data_dir, features=options.features)


def _scheduler(options: ClusterOptions, kubeconfig: Path, folder: Path) -> SchedulerOptions:
    return make_options(
        config_file=options.config or _unthrottled(folder / "scheduler.json"),
        kubeconfig=str(kubeconfig),
        plugins=options.plugins,
        features=options.features,
        leader_election={"leader_elect": False},
        serving=Serving("127.0.0.1", options.metrics_port, plain=True),
    )


def _unthrottled(path: Path) -> Path:
    """The default configuration and plugins of our own; without limits: this API server has nobody else to serve."""
    settings = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 5000, "burst": 5000},
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "StickyJob"}, {"name": "WarmSeats"}, {"name": "Coscheduling"}]},
                    "queueSort": {"disabled": [{"name": "Coscheduling"}]},
                }
            }
        ],
    }
    path.write_text(json.dumps(settings))
    return path
