"""What the shell may complete: plugins, nodes and pods, feature gates, controllers. Read, never run: no plugin is
imported here, and what cannot be read completes to nothing."""

import ast
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import typer

_MOST_FILES: Final = 2000
_DEEPEST: Final = 4


def plugin_references(incomplete: str) -> list[str]:
    """file.py:Class of the plugins in and below the folder that is being typed."""
    return sorted(_starting(incomplete, _references(incomplete)))


def plugins(incomplete: str) -> list[str]:
    """The same, and the names of plugins that are known without a file."""
    from moorage.engine.engine import default_registry

    return [*sorted(_starting(incomplete, default_registry().names)), *plugin_references(incomplete)]


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """The nodes in the files named before."""
    return sorted(_starting(incomplete, _objects(ctx, "Node")))


def pods(ctx: typer.Context, incomplete: str) -> list[str]:
    """The pods in the files named before; the namespace may be left out where it is `default`."""
    known = _objects(ctx, "Pod")
    bare = [key.removeprefix("default/") for key in known if key.startswith("default/")]
    return sorted(_starting(incomplete, [*known, *bare] if incomplete else known))


def feature_gates(ctx: typer.Context, incomplete: str) -> list[str]:
    """The gates of the version that is emulated, each to be turned on or off."""
    from moorage.config.gates import DEFAULT_VERSION, features_of, parse_version
    from moorage.errors import InputError

    try:
        features = features_of(parse_version(ctx.params.get("emulated_version") or DEFAULT_VERSION))
    except InputError:
        return []
    before, comma, name = incomplete.rpartition(",")
    offered = [f"{gate.name}={value}" for gate, _ in features.gates() for value in ("true", "false")]
    return [f"{before}{comma}{one}" for one in sorted(_starting(name, offered))]


def controllers(incomplete: str) -> list[str]:
    """The names of the controllers."""
    from moorage.controllers.running import CONTROLLERS

    return sorted(_starting(incomplete, [controller.name for controller in CONTROLLERS]))


def _starting(incomplete: str, known: Iterable[str]) -> Iterator[str]:
    return (name for name in known if name.startswith(incomplete))


def _references(incomplete: str) -> Iterator[str]:
    typed = incomplete.partition(":")[0]
    folder = Path(typed).parent if typed else Path()
    for path in _python_files(folder):
        if str(path).startswith(typed):
            with suppress(OSError, SyntaxError, ValueError):
                tree = ast.parse(path.read_bytes())
                yield from (f"{path}:{name}" for name in _plugin_classes(tree))


def _python_files(folder: Path) -> Iterator[Path]:
    seen = 0
    for place, folders, files in os.walk(folder):
        here = Path(place)
        is_deepest = len(here.relative_to(folder).parts) >= _DEEPEST
        folders[:] = [] if is_deepest else sorted(one for one in folders if not one.startswith((".", "__", "tests")))
        for file in files:
            if file.endswith(".py") and not file.startswith("test_"):
                seen += 1
                if seen > _MOST_FILES:
                    return
                yield here / file


def _plugin_classes(tree: ast.Module) -> Iterator[str]:
    """Classes that have a method of an extension point, and are no contracts of one."""
    from moorage.framework.methods import point_methods

    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not _is_protocol(node):
            defined = {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
            if defined & point_methods():
                yield node.name


def _is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def _objects(ctx: typer.Context, kind: str) -> list[str]:
    from moorage.errors import InputError
    from moorage.notebook import read_objects

    keys: list[str] = []
    # Where the last option waits for its value, click has left the files unparsed.
    for file in ctx.params.get("files") or ctx.args:
        if file != "-":
            with suppress(InputError, OSError):
                keys += [item.key for item in read_objects(Path(file)) if kind == item.KIND]
    return keys
