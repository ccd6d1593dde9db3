"""Plugins by reference: `module:Class` or `file.py:Class`, and what went wrong with those that do not load."""

import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from moorage.errors import InputError, did_you_mean


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
        raise InputError(f"cannot import {module_name}: {told(error)}", where=f"--plugin {reference}") from error
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
    text = f"{type(error).__name__}: {error}" if not isinstance(error, ImportError | OSError) else str(error)
    text = " ".join(text.split())
    if isinstance(error, SyntaxError):
        return text
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", str(Path(__file__).parent))) and "importlib" not in frame.filename
    ]
    return f"{text} (at {frames[-1].filename}:{frames[-1].lineno})" if frames else text + where


def _load_module(name: str) -> ModuleType:
    """Import a module, also one in the working directory: a command that was installed does not look there."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    return importlib.import_module(name)


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
