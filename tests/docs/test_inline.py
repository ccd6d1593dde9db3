"""Commands within sentences name commands and options that there are."""

import re
from collections.abc import Iterator

import pytest
import typer
from tests.docs.pages import Page, pages

from moorage.cli.main import app

_INLINE = re.compile(r"`moorage ([a-z][^`]*)`")


def _unknown(command: str) -> str:
    """The first word of it that nothing is called; "" where all are known."""
    found = typer.main.get_command(app)
    words = command.split("|")[0].split()
    while words and hasattr(found, "commands") and words[0] in found.commands:
        found = found.commands[words.pop(0)]
    if hasattr(found, "commands") and words and re.fullmatch("[a-z]+", words[0]):
        return words[0]
    known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    return next((word for word in words if word.startswith("-") and word.partition("=")[0] not in known), "")


def _inline(page: Page) -> Iterator[str]:
    text = "\n".join(page.prose())
    return (re.sub(r"\s+", " ", found) for found in _INLINE.findall(text))


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.name))
def test_commands_in_sentences_are_known(page: Page) -> None:
    assert {command: word for command in _inline(page) if (word := _unknown(command))} == {}


def test_what_is_not_known_is_found() -> None:
    assert _unknown("up --nodes 3 -v 4 --plugin FILE.py:Class") == ""
    assert _unknown("up --nods 3") == "--nods"
    assert _unknown("config veiw FILE") == "veiw"
    assert _unknown("manifests --extender | kubectl apply -f -") == ""
