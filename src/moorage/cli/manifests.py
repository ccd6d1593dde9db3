"""moorage manifests: what to apply so that the scheduler runs in a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.options import GatesOption, PluginOption, VersionOption, make_features
from moorage.cli.refusing import in_one_line

if TYPE_CHECKING:
    from moorage.framework.registry import Registry
    from moorage.live.manifests import Deployment


def manifests(
    config: Annotated[
        Path | None, typer.Option(help="A KubeSchedulerConfiguration. Default: one profile under the name of --name.")
    ] = None,
    name: Annotated[
        str, typer.Option(help="The name of everything, and of the default profile.")
    ] = "moorage-scheduler",
    namespace: Annotated[str, typer.Option(help="Where the scheduler runs.")] = "kube-system",
    image: Annotated[str, typer.Option(help="The image to run.")] = "moorage:latest",
    replicas: Annotated[int, typer.Option(min=1, help="How many instances; one of them leads.")] = 2,
    plugin: PluginOption = None,
    extender: Annotated[
        bool, typer.Option("--extender", help="Run the plugins as an extender (moorage extender) instead.")
    ] = False,
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
    definitions: Annotated[
        bool, typer.Option("--definitions", help="Print Moorage's CustomResourceDefinitions and nothing else.")
    ] = False,
) -> None:
    """Print manifests for kubectl: a deployment with its configuration, and no more rights than that needs.

    Where the configuration enables StickyJob, what that needs comes along: the definition and the controllers.
    """
    from moorage.config import load_config, parse_config
    from moorage.engine.engine import default_registry
    from moorage.live.controllermanifests import all_definitions, companions
    from moorage.live.manifests import Deployment, default_document
    from moorage.live.manifests import manifests as make_manifests
    from moorage.values import yaml

    if definitions:
        typer.echo("---\n".join(yaml.dump(one) for one in all_definitions()), nl=False)
        return
    with in_one_line():
        features = make_features(emulated_version, feature_gates)
        registry = default_registry()
        for reference in plugin or ():
            registry.register_named(reference)
        document = default_document(name)
        if config is not None:
            text = config.read_bytes()
            load_config(text, source=str(config), known=registry.known, features=features)
            document = yaml.load(text, strict=True)
        deployment = Deployment(name, namespace, image, replicas, tuple(plugin or ()), features)
        if extender:
            _print_extender(config, plugin or [], deployment)
            return
        parsed = parse_config(document, known=registry.known, features=features)
        before, after = companions(parsed, deployment)
        made = [*before, *make_manifests(document, registry, deployment), *after]
    enabled = {name for profile in parsed.profiles for name in profile.plugins.names}
    for package, whose in _packages(plugin or [], enabled, registry).items():
        typer.echo(f"note: the image {image} must have {package} installed, for {whose}", err=True)
    typer.echo("---\n".join(yaml.dump(one) for one in made), nl=False)


def _packages(references: list[str], enabled: set[str], registry: "Registry") -> dict[str, str]:
    """The packages that the plugins need beside Moorage, each with one that needs it."""
    from moorage.framework.loading import packages_of

    found: dict[str, str] = {}
    for reference in references:
        file = reference.rpartition(":")[0]
        needed = packages_of(Path(file)) if file.endswith(".py") else [file.partition(".")[0]]
        for package in needed:
            found.setdefault(package, reference)
    for name, declaration in registry.declarations.items():
        package = declaration.factory.__module__.partition(".")[0]
        if name in enabled and package != "moorage" and not package.startswith("moorage_plugin_"):
            found.setdefault(package, f"plugin {name}")
    return found


def _print_extender(config: Path | None, plugins: list[str], deployment: "Deployment") -> None:
    from moorage.engine.engine import default_registry
    from moorage.extender.configuring import register
    from moorage.live.extendermanifests import extender_manifests
    from moorage.values import yaml

    registry = default_registry()
    names = register(registry, plugins)
    document = yaml.load(config.read_bytes(), strict=True) if config is not None else None
    made = extender_manifests(document, names, registry, deployment)
    typer.echo("---\n".join(yaml.dump(one) for one in made), nl=False)
    typer.echo(
        f"note: the secret {deployment.name}-tls must have tls.crt, tls.key and the scheduler's ca.crt", err=True
    )
