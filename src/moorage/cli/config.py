"""moorage config: check, show and convert scheduler configurations."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moorage.cli.options import GatesOption, PluginOption, VersionOption, make_features, make_registry

if TYPE_CHECKING:
    from moorage.config import Config, Features, Profile
    from moorage.config.oldversions import PolicyConfigMap
    from moorage.config.policy import Conversion
    from moorage.framework.registry import Registry

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Check, show and convert scheduler configurations.",
    epilog="Example: moorage config validate scheduler.yaml",
)

_STDIN = "-"
_REFUSED = 2


class Output(StrEnum):
    """How to show a configuration."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


@app.command(
    short_help="Check files as kube-scheduler would.", epilog="Example: moorage config validate scheduler.yaml"
)
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Configurations; - reads standard input.")],
    plugin: PluginOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse what is only a warning, too.")] = False,
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
) -> None:
    """Check KubeSchedulerConfiguration files as kube-scheduler would: one line for each fault.

    Plugins of your own are checked, too: their arguments against what they declare, and by making them once.
    """
    from moorage.errors import InputError

    try:
        features = make_features(emulated_version, feature_gates)
        registry = make_registry(plugin)
    except InputError as error:
        raise _refusal(error) from None
    refused = False
    for file in files:
        try:
            config = _load(file, registry, features)
            _make_plugins(file, config, registry)
        except InputError as error:
            typer.echo(str(error), err=True)
            refused = True
            continue
        for warning in config.warnings:
            typer.echo(f"{file}: {'' if strict else 'warning: '}{warning}", err=True)
        refused = refused or (strict and bool(config.warnings))
        if not (strict and config.warnings):
            names = ", ".join(profile.scheduler_name for profile in config.profiles)
            typer.echo(f"{file}: valid (profiles: {names})")
    if refused:
        raise typer.Exit(_REFUSED)


@app.command(
    short_help="Show what a configuration makes run.", epilog="Example: moorage config view scheduler.yaml -o yaml"
)
def view(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A configuration; - reads standard input.")],
    output: Annotated[Output, typer.Option("-o", "--output", help="How to show it.")] = Output.TABLE,
    plugin: PluginOption = None,
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
) -> None:
    """Show what a configuration makes run: the plugins at each point in their order, weights, arguments, settings.

    What the file leaves out has its default.
    """
    from moorage.config.view import as_data
    from moorage.errors import InputError
    from moorage.values import yaml

    try:
        config = _load(file, make_registry(plugin), make_features(emulated_version, feature_gates))
    except InputError as error:
        raise _refusal(error) from None
    match output:
        case Output.TABLE:
            _print_tables(config, as_data(config))
        case Output.JSON:
            typer.echo(_as_json(as_data(config)))
        case Output.YAML:
            typer.echo(yaml.dump(as_data(config)), nl=False)


@app.command(short_help="Turn an old form into today's.", epilog="Example: moorage config convert policy.json")
def convert(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="A Policy or an old configuration; - reads standard input.")
    ] = "",
    policy: Annotated[
        str, typer.Option(metavar="FILE", help="The policy a v1alpha1 configuration names, where it stands elsewhere.")
    ] = "",
    policy_configmap: Annotated[
        str, typer.Option(metavar="[NAMESPACE/]NAME", help="Convert the policy in this ConfigMap.")
    ] = "",
    kubeconfig: Annotated[str, typer.Option(help="How to reach the cluster, where a ConfigMap has to be read.")] = "",
) -> None:
    """Turn a Policy (up to 1.22) or a configuration of v1alpha1 to v1beta3 into today's form.

    What a v1alpha1 configuration says of a policy is followed: the file it names or one of that name beside it, or
    the ConfigMap (with --kubeconfig). Notes on what has no equivalent go to standard error.
    """
    from moorage.config.oldversions import PolicyConfigMap
    from moorage.errors import MoorageError
    from moorage.values import yaml

    if bool(file) == bool(policy_configmap):
        raise typer.BadParameter("expected a FILE, or --policy-configmap")
    try:
        if policy_configmap:
            namespace, _, name = policy_configmap.rpartition("/")
            conversion = _convert_config_map(PolicyConfigMap(namespace or "kube-system", name), kubeconfig)
        else:
            conversion = _convert_file(file, policy, kubeconfig)
    except MoorageError as error:
        raise _refusal(error) from None
    typer.echo(yaml.dump(conversion.document), nl=False)
    for note in conversion.notes:
        typer.echo(f"note: {note}", err=True)


def _convert_file(file: str, policy: str, kubeconfig: str) -> "Conversion":
    from moorage.config.oldversions import PolicyConfigMap, convert_document, named_policy, read_document

    document = read_document(_read(file), source=file)
    named = named_policy(document, source=file)
    text: str | bytes | None = None
    source = policy
    if policy:
        text = _read(policy)
    elif isinstance(named, PolicyConfigMap):
        text, source = _read_config_map(named, kubeconfig), f"ConfigMap {named.namespace}/{named.name}"
    elif named is not None:
        source = _policy_file(file, named.path)
        text = _read(source)
    return convert_document(document, source=file, policy=text, policy_source=source)


def _policy_file(file: str, named: str) -> str:
    """The file a configuration names, or, where there is none, the one of that name beside the configuration."""
    from moorage.errors import InputError

    beside = (Path() if file == _STDIN else Path(file).parent) / Path(named).name
    for path in (Path(named), beside):
        if path.exists():
            return str(path)
    problem = f"neither {named} nor {beside} is there: name the policy with --policy FILE"
    raise InputError(problem, where=f"{file}: algorithmSource.policy.file.path")


def _convert_config_map(named: "PolicyConfigMap", kubeconfig: str) -> "Conversion":
    from moorage.config.policy import convert_policy

    return convert_policy(_read_config_map(named, kubeconfig), source=f"ConfigMap {named.namespace}/{named.name}")


def _read_config_map(named: "PolicyConfigMap", kubeconfig: str) -> str:
    import asyncio

    import msgspec

    from moorage.config.oldversions import POLICY_KEY
    from moorage.errors import InputError
    from moorage.kube.access import load_access
    from moorage.kube.paths import resource_of
    from moorage.kube.transport import Client

    async def read() -> bytes:
        async with Client(load_access(kubeconfig)) as client:
            return await client.get(resource_of("ConfigMap").path(named.namespace, named.name))

    data = msgspec.json.decode(asyncio.run(read())).get("data") or {}
    if POLICY_KEY not in data:
        raise InputError(f"has no key {POLICY_KEY}", where=f"ConfigMap {named.namespace}/{named.name}")
    return str(data[POLICY_KEY])


def _load(file: str, registry: "Registry", features: "Features") -> "Config":
    from moorage.config import load_config

    return load_config(_read(file), source=file, known=registry.known, features=features)


def _make_plugins(file: str, config: "Config", registry: "Registry") -> None:
    """Make every plugin once and read what it declares: what one refuses then is a fault of the file."""
    from moorage.errors import InputError
    from moorage.live.trying import try_plugins

    try:
        try_plugins(config, registry)
    except InputError as error:
        raise InputError(str(error), where=file) from None


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


def _print_tables(config: "Config", data: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from moorage.values import yaml

    console = Console()
    for profile in config.profiles:
        console.print(_profile_table(profile))
        args = Table("plugin", "arguments", title=f"Arguments in {profile.scheduler_name}", title_justify="left")
        for name, value in sorted(data["args"][profile.scheduler_name].items()):
            args.add_row(name, Text(yaml.dump(value).rstrip()))
        if args.row_count:
            console.print(args)
    values = Table("setting", "value", title="Settings", title_justify="left")
    for name, value in data["top"].items():
        values.add_row(name, _as_json(value))
    values.add_row("emulatedVersion", config.features.version)
    for gate, on in config.features.changed().items():
        values.add_row(f"featureGates.{gate}", _as_json(on))
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
