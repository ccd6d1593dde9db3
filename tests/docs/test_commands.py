"""Every command of README, docs and the examples' READMEs runs, or its page says why it cannot be run here."""

from pathlib import Path

import pytest
from tests.docs.pages import LANGUAGES, Block, Page, is_translated, pages
from tests.docs.session import Session, commands, exchanges, shows

PAGES = [page for page in pages() if not is_translated(page)]


def _runs(block: Block) -> bool:
    return block.language in ("sh", "console") and not block.not_run


@pytest.mark.timeout(900)  # a dozen processes are started one after the other: much, where a machine is busy
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(map(_runs, page.blocks()))], ids=lambda page: str(page.name)
)
def test_every_command_of_the_page_runs(page: Page, tmp_path: Path) -> None:
    with Session(page, tmp_path) as session:
        for block in page.blocks():
            if not block.not_run:
                session.take(block)
    if session.left_out:
        pytest.skip(f"kubectl (make control-plane) or curl is missing: not run were {session.left_out}")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_blocks_say_what_they_are(page: Page) -> None:
    for block in page.blocks():
        assert block.language in LANGUAGES, f"{page.name}:{block.line}: is it commands (sh), a file (yaml), or text?"
        typed = "moorage ", "kubectl ", "$ ", "make ", "pip "
        if block.language == "text":
            assert not block.text.startswith(typed), f"{page.name}:{block.line}: commands are sh or console"


def test_commands_are_told_apart() -> None:
    text = "# first\none --flag \\\n  more   # said\n\ncat > f <<EOF\na: 'b\nEOF\nfor i in 1 2; do\n  echo $i\ndone\n"
    assert commands(text) == [
        "one --flag \\\n  more",
        "cat > f <<EOF\na: 'b\nEOF",
        "for i in 1 2; do\n  echo $i\ndone",
    ]


def test_exchanges_are_told_apart() -> None:
    assert exchanges("$ one\na\nb\n$ two\n$ three \\\n  more\n") == [
        ("one", "a\nb"),
        ("two", ""),
        ("three \\\n  more", ""),
    ]


@pytest.mark.parametrize(
    ("printed", "expected", "fits"),
    [
        ("NAME   AGE\nweb    3s\n", "NAME  AGE\nweb   ...", True),
        ("one\ntwo\nthree\n", "one\n...\nthree", True),
        ("one\ntwo\n", "one", False),
        ("status (1)\n", "status .1.", False),
    ],
)
def test_what_is_printed_is_compared(printed: str, expected: str, fits: bool) -> None:
    assert shows(printed, expected) is fits
