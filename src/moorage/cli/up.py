"""moorage up: a cluster in one process, for kubectl."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moorage.cli.options import GatesOption, PluginOption, VersionOption, make_features
from moorage.cli.refusing import BAD_INPUT, told

if TYPE_CHECKING:
    from moorage.cli.embedded import ClusterOptions
    from moorage.nodes.shapes import NodeShape

_BROKEN = 1


def up(
    nodes: Annotated[int, typer.Option(min=0, help="How many nodes, of each shape that gives no count.")] = 5,
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHAPE", help="cpu=4,memory=16Gi,labels=disk:ssd,taints=gpu=yes:NoSchedule or a YAML file."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A KubeSchedulerConfiguration.")] = None,
    plugin: PluginOption = None,
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The API server's port; 0 takes any free one.")] = 0,
    data_dir: Annotated[
        Path | None, typer.Option(help="Keep the cluster here, so that it outlives the process.")
    ] = None,
    kubeconfig_out: Annotated[Path, typer.Option(help="Where to write the admin's kubeconfig.")] = Path("kubeconfig"),
    reload: Annotated[
        bool, typer.Option("--reload", help="Begin the scheduler again when a plugin's code or --config changes.")
    ] = False,
    no_scheduler: Annotated[bool, typer.Option("--no-scheduler", help="Leave the pods to another scheduler.")] = False,
    no_controllers: Annotated[
        bool,
        typer.Option("--no-controllers", help="Leave Deployments, Jobs and the rest to another controller manager."),
    ] = False,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Serve the scheduler's metrics and health on loopback; 0 for nowhere.")
    ] = 0,
    verbosity: Annotated[
        int,
        typer.Option("-v", "--v", help="What to log: 0 (the process), 2 (pods), 4 (scores). Default: what is wrong."),
    ] = -1,
) -> None:
    """Run a cluster in this process until Ctrl-C: API server, nodes, workload controllers, scheduler.

    Nothing else is needed: no Docker, no Go, nothing to download. Point kubectl at the kubeconfig it writes.
    """
    from moorage.cli.embedded import ClusterOptions
    from moorage.observe.logs import configure

    configure(verbosity)

    async def serve() -> None:
        options = ClusterOptions(
            shapes=_shapes(node or [], nodes),
            port=port,
            data_dir=data_dir,
            kubeconfig_out=kubeconfig_out,
            config=config,
            plugins=plugin or (),
            features=make_features(emulated_version, feature_gates),
            reload=reload,
            with_scheduler=not no_scheduler,
            with_controllers=not no_controllers,
            metrics_port=metrics_port,
        )
        await _serve(options)

    run_to_the_end(serve())


def run_to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Run until the work ends. What goes wrong with the input or the cluster is told in a line each, not a trace."""
    from moorage.errors import InputError, MoorageError
    from moorage.kube.process import loop_factory

    status = 0
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(work)
    except* (InputError, OSError) as group:
        status = _tell(group, BAD_INPUT)
    except* MoorageError as group:
        status = _tell(group, _BROKEN)
    if status:
        raise typer.Exit(status)


def _tell(group: BaseExceptionGroup[Any], status: int) -> int:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            _tell(error, status)
        else:
            typer.echo(told(error), err=True)
    return status


def _shapes(shapes: list[str], count: int) -> "list[NodeShape]":
    from moorage.nodes.files import load_shapes
    from moorage.nodes.shapes import NodeShape, parse_shape

    if not shapes:
        return [NodeShape(count=count)]
    found: list[NodeShape] = []
    for text in shapes:
        if "=" in text:
            found.append(parse_shape(text, count=count))
        else:
            found += load_shapes(Path(text), count=count)
    return found


async def _serve(options: "ClusterOptions") -> None:
    from moorage.cli.embedded import embedded_cluster
    from moorage.kube.process import stopping_on_signals

    with stopping_on_signals() as stopping:
        async with embedded_cluster(options) as cluster:
            typer.echo(f"serving on {cluster.server.url} with {sum(shape.count for shape in options.shapes)} nodes")
            typer.echo(f"in another terminal: export KUBECONFIG={cluster.kubeconfig.absolute()}")
            typer.echo("                     kubectl create deployment web --image=nginx --replicas=3")
            typer.echo("Ctrl-C stops it.")
            await stopping.wait()
    typer.echo("stopped")
