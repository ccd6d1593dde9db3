"""`python -m tools.control_plane`: build the control plane's programs unless they are there.

--check    build nothing; exit 0 if the programs are there or can be built, else 1
--path     build nothing; print the folder the programs are in, or will be
"""

import argparse
import sys

from rich.console import Console
from rich.markup import escape

from tools.control_plane import binaries
from tools.control_plane.build import BuildError, build


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.control_plane",
        description="Build etcd and Kubernetes with Go into the user's cache.",
        epilog=f"${binaries.VERSION_VARIABLE} says which version: {', '.join(binaries.versions())}, "
        f"{binaries.DEFAULT_VERSION} if it is not set.",
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="exit 0 if the programs are there or can be built, else 1")
    choice.add_argument("--path", action="store_true", help="print the folder of the programs")
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    try:
        binaries.version()
    except binaries.UnknownVersionError as error:
        return _fail(console, str(error))
    if options.check:
        return 0 if binaries.obtainable() else 1
    if options.path:
        sys.stdout.write(f"{binaries.folder()}\n")
        return 0
    return provide(console)


def provide(console: Console) -> int:
    """See to it that the programs are there; say where. The exit status."""
    where = binaries.folder()
    lacking = binaries.missing(where)
    if lacking and binaries.assets_folder():
        return _fail(
            console, f"{binaries.ASSETS_VARIABLE}={where} has no {' and no '.join(lacking)}: add it, or unset it"
        )
    if lacking:
        note = "some minutes and 3 GB of Go's cache the first time"
        console.print(f"control plane {binaries.version()}: building it takes {note}", soft_wrap=True)
        try:
            build(where, console)
        except BuildError as error:
            if error.output:
                console.print(escape(error.output), style="dim", highlight=False)
            return _fail(console, str(error))
    console.print(f"control plane {binaries.version()}: {escape(str(where))}", highlight=False)
    return 0


def _fail(console: Console, message: str) -> int:
    console.print(f"[red]control-plane:[/red] {escape(message)}", highlight=False, soft_wrap=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())
