"""Options that several commands have, and what they choose: the version of Kubernetes, its feature gates, plugins."""

from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.completing import feature_gates, plugin_references

if TYPE_CHECKING:
    from moorage.config import Features
    from moorage.framework.registry import Registry

VersionOption = Annotated[
    str,
    typer.Option(
        "--emulated-version",
        metavar="VERSION",
        help="Which Kubernetes to be: 1.37 (if not given) or 1.36, in decisions and in what is served.",
        show_default=False,
    ),
]
GatesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-gates",
        metavar="GATE=true|false,...",
        help="Turn gates of that version; repeatable.",
        autocompletion=feature_gates,
    ),
]


def make_features(emulated_version: str, feature_gates: list[str] | None) -> "Features":
    """What these two options choose. Raises InputError that names the option."""
    from moorage.config.gates import DEFAULT_VERSION, features_of, parse_gates, parse_version
    from moorage.errors import InputError

    option = "--emulated-version"
    try:
        version = parse_version(emulated_version) if emulated_version else DEFAULT_VERSION
        option = "--feature-gates"
        return features_of(version, parse_gates(feature_gates or ()))
    except InputError as error:
        raise InputError(error.problem, where=option) from None


PluginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="REF",
        help="A plugin of your own, module:Class or file.py:Class; repeatable.",
        autocompletion=plugin_references,
    ),
]


def make_registry(references: list[str] | None) -> "Registry":
    """The built-in plugins, those that installed packages offer, and those named. Raises InputError."""
    from moorage.engine.engine import default_registry

    registry = default_registry()
    for reference in references or ():
        registry.register_named(reference)
    return registry
