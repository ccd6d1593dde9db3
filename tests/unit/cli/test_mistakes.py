"""The mistakes of mistakes.yaml: each is answered in at most three lines that say where and what instead.

docs/mistakes.md is what this test finds: MOORAGE_WRITE_DOCS=1 writes it anew.
"""

import os
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from moorage.cli.main import app
from moorage.values import yaml

MISTAKES: list[dict[str, Any]] = yaml.load(Path(__file__).with_name("mistakes.yaml").read_text())
PAGE = Path(__file__).parents[3] / "docs" / "mistakes.md"
HEAD = """\
# What goes wrong at first, and what is said then

Each of these ends with exit status 2 and nothing done. The page is written by the tests, from what is really printed.
"""


@pytest.fixture(scope="module")
def taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where things are typed: a folder without anything but what the mistake brings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def _answer(mistake: dict[str, Any], folder: Path, port: int) -> str:
    for name, text in mistake.get("files", {}).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    typed = shlex.split(mistake["typed"].replace("{taken}", str(port)))
    environment = {"COLUMNS": "120", "TERM": "dumb", "HOME": str(folder)}
    told = typer.testing.CliRunner().invoke(app, typed, env=environment)
    assert told.exit_code == 2, (told.output, told.exception)
    assert told.stdout == ""
    said = told.stderr.replace(str(folder), "~").replace(str(port), "{taken}")
    return "\n".join(line.rstrip() for line in said.splitlines() if line.strip())


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one["mistake"])
def test_the_answer_names_the_place_and_the_cure(mistake: dict[str, Any], folder: Path, taken: int) -> None:
    said = _answer(mistake, folder, taken)
    assert 1 <= len(said.splitlines()) <= 3, said
    for name in mistake["told"]:
        assert name in said


def test_the_page_says_what_is_printed(folder: Path, taken: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    parts = [HEAD]
    for number, mistake in enumerate(MISTAKES):
        place = tmp_path_factory.mktemp(f"mistake{number}")
        os.chdir(place)
        parts.append(_section(mistake, _answer(mistake, place, taken)))
    written = "\n".join(parts)
    if os.environ.get("MOORAGE_WRITE_DOCS"):
        PAGE.write_text(written)
    assert PAGE.read_text() == written, "docs/mistakes.md is not what is printed: MOORAGE_WRITE_DOCS=1 writes it anew"


def _section(mistake: dict[str, Any], said: str) -> str:
    files = "".join(
        f"`{name}`:\n\n```yaml\n{text.rstrip()}\n```\n\n" for name, text in mistake.get("files", {}).items() if text
    )
    typed = f"$ moorage {mistake['typed']}"
    return f"## {mistake['mistake']}\n\n{files}```console\n{typed}\n{said}\n```\n".replace("{taken}", "6443")
