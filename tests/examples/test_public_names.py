"""The example plugins stand on what is public: nobody who writes a plugin needs to reach inside."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import moorage.controllers.runtime
import moorage.framework
import moorage.testing

EXAMPLES = Path(__file__).parents[2] / "examples"

#: What plugins, controllers and their tests may import of ours.
PUBLIC = {
    "moorage.framework": set(moorage.framework.__all__),
    "moorage.testing": set(moorage.testing.__all__),
    "moorage.controllers.runtime": set(moorage.controllers.runtime.__all__),
}
#: Beside them tests may look at how a configuration is refused.
IN_TESTS = {"moorage.config": {"ConfigErrors"}}
#: What comes with moorage, for what is not ours.
OTHERS = {"aiohttp", "numpy", "msgspec", "pytest", "yaml"}

PLUGINS = (
    "allocatable", "config_gate", "custom_binder", "elastic_quota", "first_plugin", "load_aware", "node_reservation",
    "prebind_service", "queue_order", "toy_gang",
)  # fmt: skip
#: Those that show a plugin and a controller together, in a page of their own.
WITH_CONTROLLERS = ("sticky_job",)
FILES = [file for name in (*PLUGINS, *WITH_CONTROLLERS) for file in sorted((EXAMPLES / name).glob("*.py"))]


def imports(source: str) -> Iterator[tuple[str, list[str]]]:
    """Modules imported, each with the names taken from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((name.name, []) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ".", [name.name for name in node.names]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_an_example_imports_public_names_alone(file: Path) -> None:
    allowed = {**PUBLIC, **(IN_TESTS if file.name.startswith("test_") else {})}
    for module, names in imports(file.read_text()):
        root = module.partition(".")[0]
        if root == "moorage":
            assert module in allowed, f"{module} is not public"
            assert set(names) <= allowed[module], f"{module} does not offer {set(names) - allowed[module]}"
        elif root == "examples":
            assert module == f"examples.{file.parent.name}.{module.rpartition('.')[2]}", "examples stand alone"
        else:
            assert root in sys.stdlib_module_names or root in OTHERS, f"{module} is not at hand"


@pytest.mark.parametrize("name", PLUGINS[:4] + PLUGINS[5:])
def test_an_example_is_whole(name: str) -> None:
    assert {file.name for file in (EXAMPLES / name).iterdir()} >= {
        "README.md", "plugin.py", "scheduler.yaml", "test_plugin.py",
    }  # fmt: skip
