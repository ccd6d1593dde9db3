"""`moorage apiserver`: the embedded API server on its own."""

import asyncio
import gc
import signal
from pathlib import Path
from typing import Annotated

import typer


def apiserver(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 6443,
    bind_address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data_dir: Annotated[
        Path | None, typer.Option(help="Keep everything here, so that it outlives the process.")
    ] = None,
    kubeconfig_out: Annotated[Path | None, typer.Option(help="Write an admin's kubeconfig to this file.")] = None,
) -> None:
    """Run a Kubernetes API server that kubectl and the stock components can use."""
    from moorage.errors import InputError

    runner = asyncio.Runner(loop_factory=_loop_factory())
    try:
        with runner:
            runner.run(_serve(port, bind_address, data_dir, kubeconfig_out))
    except InputError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: it halves the cost of small requests."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop


def _relax_garbage_collection() -> None:
    """Objects are kept as bytes, hardly anything refers in circles: looking for garbage often costs more than it
    finds."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


async def _serve(port: int, bind_address: str, data_dir: Path | None, kubeconfig_out: Path | None) -> None:
    from moorage.apiserver.server import ApiServer, Options

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    _relax_garbage_collection()
    async with ApiServer(Options(bind_address=bind_address, port=port, data_dir=data_dir)) as server:
        typer.echo(f"serving on {server.url}")
        if kubeconfig_out is not None:
            server.write_kubeconfig(kubeconfig_out)
            typer.echo(f"point kubectl at it: export KUBECONFIG={kubeconfig_out}")
        await stopping.wait()
