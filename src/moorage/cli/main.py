"""The moorage command: one Typer app, a module for each verb. Heavy imports happen inside the verbs."""

from typing import Annotated

import typer

from moorage import __version__
from moorage.cli import apiserver, config, controllers, extender, manifests, scheduler, up
from moorage.cli.decide.command import decide
from moorage.cli.demo.command import demo
from moorage.cli.new import command as new

# Plain help: the boxes of the rich one cut the names of options at 80 columns.
app = typer.Typer(
    rich_markup_mode=None,
    name="moorage",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Example: moorage demo",
)

app.add_typer(config.app, name="config")
app.add_typer(new.app, name="new")
app.command(short_help="A story on a cluster in this process, with reasons.", epilog="Example: moorage demo")(demo)
app.command(
    short_help="A cluster in this process for kubectl, until Ctrl-C.",
    epilog="Example: moorage up --nodes 3 --plugin examples/first_plugin/keep_off_spot.py:KeepOffSpot",
)(up.up)
app.command(
    short_help="The API server alone.", epilog="Example: moorage apiserver --port 0 --kubeconfig-out kubeconfig"
)(apiserver.apiserver)
app.command(
    short_help="Run controllers on a cluster.", epilog="Example: moorage controllers --kubeconfig ~/.kube/config"
)(controllers.controllers)
app.command(
    short_help="Where pods would go, and why.",
    epilog="Example: moorage decide examples/notebook/cluster.yaml --pod database",
)(decide)
app.command(
    short_help="Serve plugins to a stock kube-scheduler.",
    epilog="Example: moorage extender --plugin examples/first_plugin/keep_off_spot.py:KeepOffSpot",
)(extender.extender)
app.command(
    short_help="What to apply so that it runs in a cluster.",
    epilog="Example: moorage manifests --name my-scheduler | kubectl apply -f -",
)(manifests.manifests)
app.command(
    cls=scheduler.SchedulerCommand,
    short_help="Schedule the pods of a cluster.",
    epilog="Example: moorage scheduler --config scheduler.yaml",
)(scheduler.scheduler)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moorage {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A Kubernetes scheduler in Python, and the workshop around it.

    Start with `moorage demo`; `moorage up` gives you a cluster for kubectl; `moorage scheduler` schedules a real one.
    """


def main() -> None:
    """The entry point of the `moorage` script."""
    app()
