"""moorage config: check, show and convert scheduler configurations."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moorage.cli.plugins import PluginOption, make_registry

if TYPE_CHECKING:
    from moorage.config import Config, Profile

app = typer.Typer(no_args_is_help=True, help="Check, show and convert scheduler configurations.")

_STDIN = "-"
_REFUSED = 2


class Output(StrEnum):
    """How to show a configuration."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


@app.command()
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Configurations; - reads standard input.")],
    plugin: PluginOption = None,
) -> None:
    """Check KubeSchedulerConfiguration files as kube-scheduler would: one line for each fault."""
    from moorage.errors import InputError

    refused = False
    for file in files:
        try:
            config = _load(file, plugin)
        except InputError as error:
            typer.echo(str(error), err=True)
            refused = True
        else:
            names = ", ".join(profile.scheduler_name for profile in config.profiles)
            typer.echo(f"{file}: valid (profiles: {names})")
    if refused:
        raise typer.Exit(_REFUSED)


@app.command()
def view(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A configuration; - reads standard input.")],
    output: Annotated[Output, typer.Option("-o", "--output", help="How to show it.")] = Output.TABLE,
    plugin: PluginOption = None,
) -> None:
    """Show what a configuration makes run: the plugins at each point in their order, weights, defaulted values."""
    from moorage.config.view import as_data
    from moorage.errors import InputError
    from moorage.values import yaml

    try:
        config = _load(file, plugin)
    except InputError as error:
        raise _refusal(error) from None
    match output:
        case Output.TABLE:
            _print_tables(config, as_data(config)["top"])
        case Output.JSON:
            typer.echo(_as_json(as_data(config)))
        case Output.YAML:
            typer.echo(yaml.dump(as_data(config)), nl=False)


@app.command()
def convert(
    file: Annotated[str, typer.Argument(metavar="POLICY", help="A Policy file; - reads standard input.")],
) -> None:
    """Turn an old Policy file (up to 1.22) into a KubeSchedulerConfiguration; notes go to standard error."""
    from moorage.config.policy import convert_policy
    from moorage.errors import InputError
    from moorage.values import yaml

    try:
        conversion = convert_policy(_read(file), source=file)
    except InputError as error:
        raise _refusal(error) from None
    typer.echo(yaml.dump(conversion.document), nl=False)
    for note in conversion.notes:
        typer.echo(f"note: {note}", err=True)


def _load(file: str, plugins: list[str] | None) -> "Config":
    from moorage.config import load_config

    return load_config(_read(file), source=file, registry_points=make_registry(plugins).points)


def _read(file: str) -> bytes:
    from moorage.errors import InputError

    if file == _STDIN:
        return typer.get_binary_stream("stdin").read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), where=file) from None


def _refusal(error: Exception) -> typer.Exit:
    typer.echo(str(error), err=True)
    return typer.Exit(_REFUSED)


def _as_json(data: Any) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()


def _print_tables(config: "Config", top: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for profile in config.profiles:
        console.print(_profile_table(profile))
    values = Table("setting", "value", title="Settings", title_justify="left")
    for name, value in top.items():
        values.add_row(name, _as_json(value))
    console.print(values)


def _profile_table(profile: "Profile") -> Any:
    from rich.table import Table

    from moorage.config import EXTENSION_POINTS

    title = f"Profile {profile.scheduler_name}"
    if profile.percentage_of_nodes_to_score is not None:
        title += f" (percentageOfNodesToScore {profile.percentage_of_nodes_to_score})"
    table = Table("point", "plugins, in running order", title=title, title_justify="left")
    weights = {
        "score": profile.plugins.score_weights,
        "placementScore": profile.plugins.placement_score_weights,
    }
    for point in EXTENSION_POINTS:
        names = profile.plugins.at(point)
        if names:
            weight_of = weights.get(point, {})
            shown = (f"{name} ({weight_of[name]})" if name in weight_of else name for name in names)
            table.add_row(point, ", ".join(shown))
    return table
