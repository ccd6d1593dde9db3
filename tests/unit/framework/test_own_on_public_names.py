"""Our own plugins that come with controllers stand on what is public, as anybody's do: that shows it is enough."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import moorage
import moorage.controllers.runtime
import moorage.framework

SOURCES = Path(moorage.__file__).parent

#: Plugins and controllers of kinds that Kubernetes does not have.
OWN = ("plugins/sticky_job", "plugins/gangs/coscheduling.py", "controllers/stickyjobs", "controllers/podgroups")
#: A controller of Kubernetes' own, in the same folder.
KUBERNETES = {"protection.py"}
#: Where the kinds are defined that they bring along, and what they share with their own kin.
BROUGHT = {
    "moorage.objects.sticky",
    "moorage.objects.workload",
    "moorage.controllers.objects.stickyjobs",
    "moorage.controllers.objects.podgroups",
    "moorage.plugins.gangs.quorum",
}

PUBLIC = {
    id(getattr(package, name))
    for package in (moorage.framework, moorage.controllers.runtime)
    for name in package.__all__
}


def files(place: str) -> list[Path]:
    found = SOURCES / place
    return [found] if found.is_file() else [one for one in sorted(found.glob("*.py")) if one.name not in KUBERNETES]


def foreign(file: Path, place: str) -> Iterator[tuple[str, str]]:
    """Names of ours that a file takes from outside its own folder."""
    home = "moorage." + place.removesuffix(".py").replace("/", ".")
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "moorage":
            assert node.module is not None
            if not node.module.startswith(home):
                yield from ((node.module, name.name) for name in node.names)


def defined_in(value: object, name: str) -> set[str]:
    """The modules that define it: a constant does not say where it is from."""
    module = getattr(value, "__module__", None)
    return {module} if module else {one for one in BROUGHT if hasattr(importlib.import_module(one), name)}


@pytest.mark.parametrize("place", OWN)
def test_what_they_take_from_us_is_public(place: str) -> None:
    hidden = []
    for file in files(place):
        for module, name in foreign(file, place):
            value = getattr(importlib.import_module(module), name)
            if id(value) not in PUBLIC and not defined_in(value, name) & BROUGHT:
                hidden.append(f"{file.name}: {name} of {module}")
    assert hidden == []
