"""Plugins by reference: `module:Class` or `file.py:Class`, and what went wrong with those that do not load."""

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
import traceback
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from types import ModuleType
from typing import Final

from moorage.errors import InputError, did_you_mean
from moorage.framework.answers import in_words

_STANDARD: Final = sysconfig.get_path("stdlib")
_NO_NAME: Final = re.compile(r"cannot import name '(.+?)' from '(.+?)'")


def load_class(reference: str) -> type:
    """Import `module:Class` or `file.py:Class`. Raises InputError that says which part is wrong, and its line."""
    module_name, colon, class_name = reference.rpartition(":")
    if not colon or not module_name or not class_name:
        raise InputError("expected module:Class or path/to/file.py:Class", where=f"--plugin {reference}")
    try:
        module = _load_file(Path(module_name)) if module_name.endswith(".py") else _load_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"cannot import {module_name}: {told(error)}"
        if isinstance(error, ModuleNotFoundError) and error.name in neighbours(Path(module_name)):
            problem += f"; {A_FILE_STANDS_ALONE}"
        raise InputError(problem, where=f"--plugin {reference}") from error
    found = getattr(module, class_name, None)
    if inspect.isfunction(found):
        problem = f"{class_name} is a function: expected the class that it makes (functions serve as entry points)"
        raise InputError(problem, where=f"--plugin {reference}")
    if not isinstance(found, type):
        hint = did_you_mean(class_name, (name for name, value in vars(module).items() if isinstance(value, type)))
        raise InputError(f"{module_name} has no class {class_name}{hint}", where=f"--plugin {reference}")
    return found


def told(error: BaseException, where: str = "") -> str:
    """What was raised, in one line, with the line of code where that is not ours or Python's own; else with `where`."""
    text = str(error) if isinstance(error, ImportError | OSError) else in_words(error)
    if isinstance(error, ImportError) and (missing := _NO_NAME.match(text)):
        text = f"{missing[2]} has no {missing[1]}{did_you_mean(missing[1], dir(sys.modules.get(missing[2])))}"
    text = " ".join(text.split())
    if isinstance(error, SyntaxError):
        return text
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", str(Path(__file__).parent))) and not _is_pythons(frame.filename)
    ]
    return f"{text} (at {frames[-1].filename}:{frames[-1].lineno})" if frames else text + where


def _is_pythons(file: str) -> bool:
    return file.startswith(_STANDARD) and "site-packages" not in file


A_FILE_STANDS_ALONE: Final = "a plugin in a file stands alone: make a package of several, and name it package:Class"


def neighbours(path: Path) -> list[str]:
    """The modules that a file imports and that stand beside it: they are not where modules are looked for."""
    return [name for name in _imported(path) if _is_beside(path, name)]


def packages_of(path: Path) -> list[str]:
    """The packages that a file imports and that do not come with Python or with Moorage."""
    brought = {_plain(re.split(r"[^\w.-]", one)[0]) for one in requires("moorage") or () if "extra ==" not in one}
    found = packages_distributions()
    return [
        name
        for name in _imported(path)
        if name not in sys.stdlib_module_names
        and name != "moorage"
        and not _is_beside(path, name)
        and not brought & {_plain(one) for one in found.get(name, ())}
    ]


def _imported(path: Path) -> list[str]:
    """The topmost packages of what a file imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    imports = [one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    names = [alias.name for one in imports if isinstance(one, ast.Import) for alias in one.names]
    names += [one.module for one in imports if isinstance(one, ast.ImportFrom) and one.module and not one.level]
    return list(dict.fromkeys(name.partition(".")[0] for name in names))


def _is_beside(path: Path, name: str) -> bool:
    return (path.parent / f"{name}.py").is_file() or (path.parent / name).is_dir()


def _plain(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _load_module(name: str) -> ModuleType:
    """Import a module, also one in the working directory: a command that was installed does not look there."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    return importlib.import_module(name)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        hint = did_you_mean(path.name, [one.name for one in path.parent.glob("*.py")])
        raise FileNotFoundError(f"no such file: {path}{hint}")
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
