"""`moorage apiserver`: the embedded API server on its own."""

import asyncio
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.options import GatesOption, VersionOption, make_features
from moorage.cli.refusing import in_one_line

if TYPE_CHECKING:
    from moorage.apiserver.server import Options


def apiserver(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 6443,
    bind_address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data_dir: Annotated[
        Path | None, typer.Option(help="Keep everything here, so that it outlives the process.")
    ] = None,
    kubeconfig_out: Annotated[Path | None, typer.Option(help="Write an admin's kubeconfig to this file.")] = None,
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
) -> None:
    """Run a Kubernetes API server that kubectl and the stock components can use."""
    from moorage.apiserver.server import Options
    from moorage.kube.process import loop_factory

    with in_one_line(), asyncio.Runner(loop_factory=loop_factory()) as runner:
        features = make_features(emulated_version, feature_gates)
        options = Options(bind_address=bind_address, port=port, data_dir=data_dir, features=features)
        runner.run(_serve(options, kubeconfig_out))


def _relax_garbage_collection() -> None:
    """Objects are kept as bytes, hardly anything refers in circles: looking for garbage often costs more than it
    finds."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


async def _serve(options: "Options", kubeconfig_out: Path | None) -> None:
    from moorage.apiserver.server import ApiServer
    from moorage.kube.process import stopping_on_signals

    with stopping_on_signals() as stopping:
        _relax_garbage_collection()
        async with ApiServer(options) as server:
            typer.echo(f"serving on {server.url}")
            if kubeconfig_out is not None:
                server.write_kubeconfig(kubeconfig_out)
                typer.echo(f"point kubectl at it: export KUBECONFIG={kubeconfig_out}")
            await stopping.wait()
