"""Where plugins come from: built in, entry points of installed packages, `--plugin` on the command line."""

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from moorage.config.points import IN_TREE_POINTS, PluginPoints
from moorage.errors import InputError
from moorage.framework.handle import Handle
from moorage.framework.points import POINTS

ENTRY_POINT_GROUP = "moorage.plugins"

PluginFactory = Callable[[Any, Handle], Any]


class Registry:
    """Plugins by name. A name can be taken once."""

    def __init__(self) -> None:
        self._factories: dict[str, PluginFactory] = {}
        self._points: dict[str, frozenset[str]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._factories

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._factories)

    def register(self, plugin: type, *, name: str = "") -> None:
        """Add a plugin class under its own name, or under another."""
        name = name or plugin_name(plugin)
        if name in self._factories:
            raise InputError(f'plugin "{name}" is registered twice; give the class another `name`')
        points = served_points(plugin)
        if not points:
            known = ", ".join(POINTS)
            raise InputError(f'plugin "{name}" serves no extension point: it has none of the methods of {known}')
        self._factories[name] = plugin
        self._points[name] = points

    def register_all(self, plugins: Iterable[type]) -> None:
        """Add several."""
        for plugin in plugins:
            self.register(plugin)

    def register_entry_points(self) -> None:
        """Add what installed packages offer in the entry point group `moorage.plugins`."""
        for entry in entry_points(group=ENTRY_POINT_GROUP):
            try:
                plugin = entry.load()
            except Exception as error:
                raise InputError(
                    f"cannot load it: {error}", where=f"entry point {entry.name} ({entry.value})"
                ) from error
            self.register(plugin, name=entry.name)

    def register_named(self, reference: str) -> str:
        """Add a plugin named as `module:Class` or `path/to/file.py:Class`; returns its name."""
        plugin = load_class(reference)
        self.register(plugin)
        return plugin_name(plugin)

    def create(self, name: str, args: Any, handle: Handle) -> Any:
        """Make the plugin."""
        factory = self._factories.get(name)
        if factory is None:
            raise InputError(f'plugin "{name}" is known but not implemented; disable it')
        try:
            return factory(args, handle)
        except InputError as error:
            raise InputError(str(error), where=f"plugin {name}") from error
        except Exception as error:
            raise InputError(f"cannot be created: {type(error).__name__}: {error}", where=f"plugin {name}") from error

    @property
    def points(self) -> PluginPoints:
        """Which points every plugin serves, as reading a configuration needs it."""
        # Of built-in plugins the table has the last word: it also knows the points of placing groups.
        return {**self._points, **IN_TREE_POINTS}


def plugin_name(plugin: type) -> str:
    """The `name` the class gives itself, or the name of the class."""
    own: str = getattr(plugin, "name", "") or plugin.__name__
    return own


def served_points(plugin: type) -> frozenset[str]:
    """The extension points whose methods the class has."""
    return frozenset(
        point for point, contracts in POINTS.items() if any(_has_methods(plugin, contract) for contract in contracts)
    )


def load_class(reference: str) -> type:
    """Import `module:Class` or `file.py:Class`. Raises InputError that says which part is wrong."""
    module_name, colon, class_name = reference.rpartition(":")
    if not colon or not module_name or not class_name:
        raise InputError("expected module:Class or path/to/file.py:Class", where=f"--plugin {reference}")
    try:
        module = _load_file(Path(module_name)) if module_name.endswith(".py") else importlib.import_module(module_name)
    except Exception as error:
        raise InputError(f"cannot import {module_name}: {error}", where=f"--plugin {reference}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise InputError(f"{module_name} has no class {class_name}", where=f"--plugin {reference}")
    return found


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    # One module for each file, however many plugins of it are named and whatever other files are called.
    name = "moorage_plugin_" + re.sub(r"\W", "_", str(path.resolve()))
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _has_methods(plugin: type, contract: type) -> bool:
    wanted: Mapping[str, Any] = {n: m for n, m in vars(contract).items() if callable(m) and not n.startswith("_")}
    return all(callable(getattr(plugin, name, None)) for name in wanted)
