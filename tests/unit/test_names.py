"""One concept, one word: what the scheduler's packages still call alike stands in docs/glossary.md, nothing else."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "moorage"

PACKAGES: Final = ("config", "columns", "framework", "cluster", "queue", "engine", "attempt", "kube", "live", "testing")
"""Those that a reader of a pod's way meets. Plugins, the API server and CEL have vocabularies of their own."""


def _classes() -> dict[str, list[str]]:
    found = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(SOURCE)))
    return found


def _told() -> dict[str, list[str]]:
    page = (ROOT / "docs" / "glossary.md").read_text().partition("## One name, several things\n")[2]
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.MULTILINE)
    return {name: sorted(re.findall(r"`([\w/]+\.py)`", rest)) for name, rest in rows}


def test_the_glossary_has_the_names_that_stand_for_several_things() -> None:
    classes = _classes()
    assert len(classes) > 200
    assert _told() == {name: sorted(places) for name, places in classes.items() if len(places) > 1}
