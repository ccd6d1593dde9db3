"""Plugins on the command line: the --plugin option, and the registry it adds to."""

from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.completing import plugin_references

if TYPE_CHECKING:
    from moorage.framework.registry import Registry

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
