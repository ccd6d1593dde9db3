"""The moorage command: one Typer app, a module for each verb. Heavy imports happen inside the verbs."""

import typer

from moorage.cli import apiserver, config, controllers, decide, extender, manifests, scheduler, up
from moorage.cli.demo.command import demo
from moorage.cli.new import command as new

app = typer.Typer(name="moorage", no_args_is_help=True, pretty_exceptions_enable=False)

app.add_typer(config.app, name="config")
app.add_typer(new.app, name="new")
app.command()(demo)
app.command()(up.up)
app.command()(apiserver.apiserver)
app.command()(controllers.controllers)
app.command()(decide.decide)
app.command()(extender.extender)
app.command()(manifests.manifests)
app.command(cls=scheduler.SchedulerCommand)(scheduler.scheduler)


@app.callback()
def root() -> None:
    """A Kubernetes scheduler in Python, and the workshop around it.

    Start with `moorage demo`; `moorage up` gives you a cluster for kubectl; `moorage scheduler` schedules a real one.
    """


def main() -> None:
    """The entry point of the `moorage` script."""
    app()
