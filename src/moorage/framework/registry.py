"""Where plugins come from: built in, entry points of installed packages, `--plugin` on the command line."""

import logging
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any

from moorage.config.ownargs import read_args
from moorage.config.points import IN_TREE_POINTS, KnownPlugins
from moorage.errors import InputError
from moorage.framework.answers import let_pass
from moorage.framework.declaration import Declaration, Factory, declared, plugin_name, served_points
from moorage.framework.handle import Handle
from moorage.framework.loading import load_class, told

__all__ = ["ENTRY_POINT_GROUP", "Registry", "load_class", "plugin_name", "served_points"]

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "moorage.plugins"


class Registry:
    """Plugins by name. A name can be taken once; the same class may come by several ways."""

    def __init__(self) -> None:
        self._declared: dict[str, Declaration] = {}
        self._broken: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._declared

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._declared)

    @property
    def declarations(self) -> Mapping[str, Declaration]:
        """What every plugin says of itself."""
        return self._declared

    def register(self, plugin: Factory, *, name: str = "") -> None:
        """Add a plugin class, or a function that makes one, under its own name or under another."""
        self.add(declared(plugin, name))

    def add(self, declaration: Declaration) -> None:
        """Add a plugin that has been read already."""
        known = self._declared.setdefault(declaration.name, declaration)
        if known.plugin is not declaration.plugin and known.identity != declaration.identity:
            raise InputError(f'plugin "{declaration.name}" is registered twice; give the class another `name`')

    def register_all(self, plugins: Iterable[Factory]) -> None:
        """Add several."""
        for plugin in plugins:
            self.register(plugin)

    def register_entry_points(self) -> None:
        """Add what installed packages offer in the entry point group `moorage.plugins`.

        One that cannot be used is a warning here: it may be nobody's concern. Enabled, it is an error.
        """
        for entry in entry_points(group=ENTRY_POINT_GROUP):
            try:
                self.register(entry.load(), name=entry.name)
            except BaseException as error:
                let_pass(error)
                problem = error.problem if isinstance(error, InputError) else f"cannot load it: {told(error)}"
                self._broken[entry.name] = f"entry point {entry.name} ({entry.value}): {problem}"
                logger.warning("left out: %s", self._broken[entry.name])

    def register_named(self, reference: str) -> str:
        """Add a plugin named as `module:Class` or `path/to/file.py:Class`; returns its name."""
        plugin = load_class(reference)
        try:
            self.register(plugin)
        except InputError as error:
            raise InputError(error.problem, where=f"--plugin {reference}") from None
        return plugin_name(plugin)

    def create(self, name: str, args: Any, handle: Handle) -> Any:
        """Make the plugin. `args` may be typed already, or as a file says them."""
        declaration = self._declared.get(name)
        if declaration is None:
            problem = self._broken.get(name) or f'plugin "{name}" is known but not implemented; disable it'
            raise InputError(problem)
        try:
            return declaration.make(_typed(declaration.args_type, args), handle)
        except InputError as error:
            raise InputError(str(error), where=f"plugin {name}") from error
        except BaseException as error:
            let_pass(error)
            raise InputError(f"cannot be created: {told(error, declaration.where)}", where=f"plugin {name}") from error

    @property
    def known(self) -> KnownPlugins:
        """What reading a configuration needs to know of the plugins."""
        own = [one for one in self._declared.values() if one.name not in IN_TREE_POINTS]
        return KnownPlugins(
            points=self.points,
            args_types={one.name: one.args_type for one in own if one.args_type is not None},
            weights={one.name: one.default_weight for one in own},
            broken={name: problem for name, problem in self._broken.items() if name not in self._declared},
        )

    @property
    def points(self) -> Mapping[str, frozenset[str]]:
        """Which points every plugin serves: as its class says, as the table says of those that have no class yet."""
        return {**IN_TREE_POINTS, **{name: one.points for name, one in self._declared.items()}}


def _typed(kind: type | None, args: Any) -> Any:
    """The arguments as the plugin declares them. Raises InputError with the first fault."""
    if kind is None:
        return args
    faults: list[Any] = []
    made = read_args(kind, args, "", faults)
    if faults:
        raise InputError(faults[0].problem, where=f"args.{faults[0].path}" if faults[0].path else "args")
    return made
