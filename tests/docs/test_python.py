"""Every piece of Python on a page runs, in the order of the page, and every test in it passes.

A piece that stands under `<!-- from: path/of/a/file.py -->` is part of that file, word for word.
"""

import asyncio
import inspect
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.docs.pages import ROOT, Block, Page, is_translated, pages

PAGES = [page for page in pages() if not is_translated(page)]


def _pieces(page: Page) -> list[Block]:
    return [block for block in page.blocks() if block.language == "python" and not block.not_run]


@pytest.fixture
def module(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """What the pieces of a page are run in: a module, as plugins expect to be in one."""
    made = ModuleType("page_" + re.sub(r"\W", "_", request.node.name))
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


@pytest.mark.parametrize("page", [page for page in PAGES if _pieces(page)], ids=lambda page: str(page.name))
def test_the_python_of_the_page_runs(
    page: Page, module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for block in page.blocks():
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text)
        if block.language != "python" or block.not_run:
            continue
        source = _source(page, block)
        # Lines are numbered as on the page.
        code = compile("\n" * (block.line - 1) + (source or block.text), page.name, "exec")
        before = dict(vars(module))
        exec(code, vars(module))
        if source is None:
            for name, test in vars(module).items():
                if name.startswith("test_") and before.get(name) is not test:
                    _run(test)


def _run(test: Callable[[], Any]) -> None:
    outcome = test()
    if inspect.iscoroutine(outcome):
        asyncio.run(outcome)


def _source(page: Page, block: Block) -> str | None:
    """The file that a piece is part of; None where the piece is whole."""
    above = page.lines[block.line - 3] if block.line > 2 else ""
    found = re.match(r"<!-- from: (.+) -->", above)
    if found is None:
        return None
    source = (ROOT / found[1]).read_text()
    assert block.text in source, f"{page.name}:{block.line}: {found[1]} has no such lines"
    return source
