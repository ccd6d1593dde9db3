"""The `moorage new` command."""

from pathlib import Path
from typing import Annotated

import typer

from moorage.cli.refusing import in_one_line

_DEFAULT_POINTS = "filter,score"

app = typer.Typer(
    rich_markup_mode=None,
    name="new",
    no_args_is_help=True,
    help="Start a package of your own.",
    epilog="Example: moorage new plugin prefer-green",
)


@app.callback()
def new() -> None:
    """Start a package of your own: `moorage new plugin NAME`."""


@app.command(
    short_help="Make a package with a plugin in it.",
    epilog="Example: moorage new plugin prefer-green --points filter,score,reserve",
)
def plugin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it: prefer-green, or PreferGreen.")],
    points: Annotated[
        str, typer.Option(metavar="POINT,...", help="The extension points to start with, or `all`.")
    ] = _DEFAULT_POINTS,
    into: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to make the folder of the package.")] = Path(),
) -> None:
    """Make a package with a plugin in it: tests that pass, a configuration, an image, what to do next.

    Points: preEnqueue, queueSort, preFilter, filter, postFilter, preScore, score, normalizeScore, reserve, permit,
    preBind, bind, postBind.
    """
    from moorage.cli.new.names import names
    from moorage.cli.new.package import files

    with in_one_line():
        chosen = names(name)
        made = files(chosen, _points(points))
        folder = into / chosen.distribution
        _write(folder, made)
    typer.echo(f"{folder}/: {chosen.plugin} in src/{chosen.module}/plugin.py. Next:")
    typer.echo(f"  cd {folder}\n  make test    # its tests pass as they are\n  make up      # try it with kubectl")


def _points(given: str) -> list[str]:
    """The points in the order a pod meets them, each once, in whatever case or with whatever underscores given."""
    from moorage.cli.new.package import POINTS
    from moorage.errors import InputError, did_you_mean

    known = {point.lower(): point for point in POINTS} | {"normalizescores": "normalizeScore", "sortkey": "queueSort"}
    wanted: set[str] = set()
    for text in given.split(","):
        bare = text.strip().replace("_", "").replace("-", "").lower()
        if bare == "all":
            return list(POINTS)
        if bare not in known:
            hint = did_you_mean(text.strip(), POINTS) or f": expected one of {', '.join(POINTS)}, or all"
            raise InputError(f'no extension point is called "{text.strip()}"{hint}', where="--points")
        wanted.add(known[bare])
    if "normalizeScore" in wanted or "preScore" in wanted:
        wanted.add("score")
    return [point for point in POINTS if point in wanted]


def _write(folder: Path, made: dict[str, str]) -> None:
    """Write the files into a folder that must not be there yet. Raises InputError and OSError."""
    from moorage.errors import InputError

    if folder.exists():
        raise InputError("is there already: choose another name, or another folder by --into", where=str(folder))
    for path, text in made.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
