"""moorage controllers: controllers by themselves, on any cluster."""

from typing import Annotated

import typer

from moorage.cli import completing
from moorage.cli.refusing import in_one_line


def controllers(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Which to run. Default: those that no other controller manager has.",
            autocompletion=completing.controllers,
        ),
    ] = None,
    kubeconfig: Annotated[str, typer.Option(help="How to reach the cluster.")] = "",
    master: Annotated[str, typer.Option(help="The API server's address, in place of the kubeconfig's.")] = "",
    scheduler_name: Annotated[
        str, typer.Option(help="The scheduler of StickyJobs' pods whose template names none.")
    ] = "default-scheduler",
    leader_elect: Annotated[bool, typer.Option(help="Lead by a lease, so that of several instances one acts.")] = True,
    lease_name: Annotated[str, typer.Option(help="The name of the lease.")] = "moorage-controllers",
    lease_namespace: Annotated[str, typer.Option(help="The namespace of the lease.")] = "kube-system",
    verbosity: Annotated[int, typer.Option("-v", "--v", help="How much to log: 0, 2, 4 (everything).")] = 0,
    logging_format: Annotated[str, typer.Option(metavar="text|json", help="What log lines look like.")] = "text",
) -> None:
    """Run controllers on a cluster: without names those of StickyJobs and PodGroups, which no other manager has.

    They start while the CustomResourceDefinitions of their kinds are missing, and begin once those are there.
    """
    from moorage.controllers.process import ControllerOptions, run
    from moorage.kube.access import load_access
    from moorage.kube.election import ElectionSettings
    from moorage.observe.logs import configure

    with in_one_line():
        options = ControllerOptions(
            load_access(kubeconfig, master=master),
            names=tuple(names or ()),
            scheduler_name=scheduler_name,
            election=ElectionSettings(lease_name, lease_namespace) if leader_elect else None,
        )
        configure(verbosity, as_json=logging_format == "json")
        status = run(options)
    raise typer.Exit(status)
