"""The mistakes of mistakes.yaml: each is answered in at most three lines that say where and what instead.

docs/mistakes.md is what this test finds: MOORAGE_WRITE_DOCS=1 writes it anew.
"""

import http.server
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
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

Most of these end with exit status 2 and nothing done; where the cure may come from outside, the process keeps trying.
The page is written by the tests, from what is really printed.
"""
#: What stands in the page for what is another in each run.
SHOWN = {"taken": "6443", "server": "https://10.0.0.1:6443"}
PATIENCE = 30.0


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, str]]:
    """A port that somebody else listens on, and a server that lets nobody read anything."""
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        RefusingServer(("127.0.0.1", 0), Refusing) as server,
    ):
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield {"taken": str(taken.getsockname()[1]), "server": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()
        serving.join()


class Refusing(http.server.BaseHTTPRequestHandler):
    """Knows jane alone, and gives her no rights."""

    def do_GET(self) -> None:
        code, message = 401, "Unauthorized"
        if self.headers["Authorization"] == "Bearer jane":
            code, message = 403, 'nodes is forbidden: User "jane" cannot list resource "nodes" at the cluster scope'
        body = json.dumps({"kind": "Status", "code": code, "message": message}).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


class RefusingServer(http.server.ThreadingHTTPServer):
    """Says nothing of those who were ended while they asked."""

    def handle_error(self, *_: Any) -> None: ...


def _said(mistake: dict[str, Any], places: dict[str, str], folder: Path) -> str:
    """What is printed about a mistake, made in a folder without anything but what the mistake brings."""
    for name, text in mistake.get("files", {}).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_filled(text, places))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KUBECONFIG", raising=False)
        patch.chdir(folder)
        told = _running if mistake.get("runs") else _ending
        said = told(shlex.split(_filled(mistake["typed"], places)), folder)
    for name, value in places.items():
        said = said.replace(value, f"{{{name}}}")
    # Lines of code are told by the last folder alone.
    said = said.replace(str(folder), "~").replace(f"{folder.name}/", "~/")
    return "\n".join(line.rstrip() for line in said.splitlines() if line.strip())


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _ending(typed: list[str], folder: Path) -> str:
    """What a command says that refuses."""
    environment = {"COLUMNS": "120", "TERM": "dumb", "HOME": str(folder)}
    told = typer.testing.CliRunner().invoke(app, typed, env=environment)
    assert told.exit_code == 2, (told.output, told.exception)
    assert told.stdout == ""
    return told.stderr


def _running(typed: list[str], folder: Path) -> str:
    """What a process that goes on warns of first about its server, without the head of its log's lines."""
    command = [sys.executable, "-m", "moorage", *typed]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(folder)}) as child:
        last = threading.Timer(PATIENCE, child.kill)
        last.start()
        assert child.stderr is not None
        said = next((line for line in child.stderr if re.match(r"W.* watching:", line)), "")
        last.cancel()
        child.kill()
    # Which of the collections answers first is another one each time.
    return re.sub(r"/apis?/[\w./]+", "/api/v1/nodes", said.partition("] ")[2])


@pytest.fixture(scope="module")
def page(places: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """docs/mistakes.md; written anew first where that is wanted."""
    if os.environ.get("MOORAGE_WRITE_DOCS"):
        said = {one["mistake"]: _said(one, places, tmp_path_factory.mktemp("mistake")) for one in MISTAKES}
        PAGE.write_text("\n".join([HEAD, *(_section(one, said[one["mistake"]]) for one in MISTAKES)]))
    return PAGE.read_text()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one["mistake"])
def test_the_answer_names_the_place_and_the_cure(
    mistake: dict[str, Any], places: dict[str, str], tmp_path: Path, page: str
) -> None:
    said = _said(mistake, places, tmp_path)
    assert 1 <= len(said.splitlines()) <= 3, said
    for name in mistake["told"]:
        assert name in said
    beginning = page.index(f"\n## {mistake['mistake']}\n") + 1
    following = [one["mistake"] for one in MISTAKES[MISTAKES.index(mistake) + 1 :][:1]]
    end = page.index(f"\n## {following[0]}\n") if following else None
    assert page[beginning:end] == _section(mistake, said), f"{PAGE.name} says something else: MOORAGE_WRITE_DOCS=1"


def test_the_page_begins_as_it_should(page: str) -> None:
    assert page.startswith(f"{HEAD}\n## {MISTAKES[0]['mistake']}\n")


def _section(mistake: dict[str, Any], said: str) -> str:
    files = "".join(
        f"`{name}`:\n\n```{_language(name)}\n{text.rstrip()}\n```\n\n"
        for name, text in mistake.get("files", {}).items()
        if text
    )
    typed = f"$ moorage {mistake['typed']}"
    return _filled(f"## {mistake['mistake']}\n\n{files}```console\n{typed}\n{said}\n```\n", SHOWN)


def _language(file: str) -> str:
    return {".py": "python", ".jsonl": "json"}.get(Path(file).suffix, "yaml")
