"""The `moorage demo` command."""

import tempfile
from pathlib import Path

from moorage.cli.up import run_to_the_end


def demo() -> None:
    """Show what Moorage does: a cluster in this process, real workloads, every decision with its reasons.

    Takes well under half a minute and leaves nothing behind. `moorage up` keeps a cluster running for kubectl.
    """
    from moorage.cli.demo import manifests
    from moorage.observe.logs import QUIET, configure
    from moorage.values import yaml

    configure(QUIET)
    with tempfile.TemporaryDirectory(prefix="moorage-demo-") as folder:
        file = Path(folder, "scheduler.yaml")
        file.write_text(yaml.dump(manifests.CONFIGURATION))
        run_to_the_end(_demo(file))


async def _demo(configuration: Path) -> None:
    from rich.console import Console

    from moorage.cli.demo import asking, manifests
    from moorage.cli.demo.story import Story
    from moorage.cli.embedded import ClusterOptions, embedded_cluster
    from moorage.cli.options import make_registry
    from moorage.config import parse_config
    from moorage.errors import MoorageError
    from moorage.observe.logs import keep_last_error

    last_error = keep_last_error()
    console = Console()
    registry = make_registry([manifests.PLUGIN])
    config = parse_config(manifests.CONFIGURATION, known=registry.known)
    options = ClusterOptions(manifests.nodes(), config=configuration, plugins=(manifests.PLUGIN,))
    console.print("starting an API server, eight nodes, controllers and the scheduler in this process ...")
    async with embedded_cluster(options) as cluster:
        try:
            await Story(cluster.client, console, config, registry).tell()
        except asking.InVain as error:
            told = [str(error), *await asking.waiting(cluster.client)]
            told.append(f"the scheduler's last error: {last_error() or 'none'}")
            raise MoorageError("\n".join(told)) from None
    console.print("\nAll of it in one Python process. [bold]moorage up[/] keeps such a cluster for kubectl.")
