"""Pages in Chinese keep to those they were translated from: the same headings, tables, links and code.

Comments in code and the words of headings are the translator's. Change both pages together.
"""

import re
from itertools import zip_longest
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, Page, is_translated, pages

#: In Chinese alone: what English readers need no page for. It has no commands.
ORIGINALS = ("docs/zh/terms.md",)

TRANSLATED = [page for page in pages() if is_translated(page) and page.name not in ORIGINALS]

_COMMENT = re.compile(r"(^|\s)\s*#\s.*$", re.MULTILINE)


def original(page: Page) -> Page:
    """The page it was translated from."""
    if page.name == "README.zh-CN.md":
        return Page(ROOT / "README.md")
    return Page(ROOT / "docs" / page.path.relative_to(ROOT / "docs" / "zh"))


def code(page: Page) -> list[tuple[str, str, bool]]:
    """Its blocks without comments, and which of them are not run."""
    return [
        (
            block.language,
            "\n".join(line.rstrip() for line in _COMMENT.sub("", block.text).splitlines()),
            bool(block.not_run),
        )
        for block in page.blocks()
    ]


def targets(page: Page) -> list[str]:
    """The files it links to; a translation of a file is as good as the file."""
    found = []
    for link in page.links:
        path = link.partition("#")[0]
        if not path or re.match(r"[a-z]+:", path):
            continue
        target = Page(Path((page.path.parent / path).resolve()))
        found.append(original(target).name if is_translated(target) and target.name not in ORIGINALS else target.name)
    return found


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.name))
def test_headings_are_those_of_the_original(page: Page) -> None:
    assert [level for level, _ in page.headings] == [level for level, _ in original(page).headings]


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.name))
def test_code_is_that_of_the_original(page: Page) -> None:
    for ours, theirs in zip_longest(code(page), code(original(page))):
        assert ours == theirs


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.name))
def test_tables_have_as_many_rows(page: Page) -> None:
    rows = [sum(line.startswith("|") for line in one.prose()) for one in (page, original(page))]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.name))
def test_links_are_those_of_the_original(page: Page) -> None:
    ours = [name for name in targets(page) if name not in ORIGINALS]
    assert sorted(ours) == sorted(targets(original(page)))


def test_there_are_the_pages_that_are_promised() -> None:
    assert {page.name for page in TRANSLATED} >= {
        "README.zh-CN.md",
        "docs/zh/plugins/three-steps.md",
        "docs/zh/second-scheduler.md",
        "docs/zh/extenders.md",
        "docs/zh/sticky.md",
        "docs/zh/pods-way.md",
    }


def test_the_messages_that_are_explained_are_printed_by_somebody() -> None:
    """Names, numbers and quotations in them are somebody's; of what is between one piece stands in the source."""
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    cells = [
        line.split("|")[1] for line in Page(ROOT / "docs/zh/terms.md").lines if re.match(r"\| `[^|]* [^|]*`", line)
    ]
    told = [text for cell in cells for text in re.findall(r"`([^`]+)`", cell)]
    assert len(told) > 25
    strangers = [text for text in told if not any(_stands_in(source, piece) for piece in _pieces(text))]
    assert strangers == ["No such command 'veiw'. Did you mean 'view'?", "No such option: --leader-elct"]


def _pieces(text: str) -> list[str]:
    """What is between names, numbers and quotations, where it is long enough to tell."""
    parts = re.split(r"\.\.\.|(?<!\w)'[^']*'|\"[^\"]*\"|\b\d+s?\b|: |\S*[-/.]\w+|\b[a-z]\b", text)
    return [part.strip() for part in parts if len(part.strip()) > 8]


def _stands_in(source: str, piece: str) -> bool:
    """Whether most of it does: the end may be a name."""
    words = piece.split(" ")
    begins = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
    return any(begin in source for begin in begins if len(begin) > 0.7 * len(piece))


@pytest.mark.parametrize("name", ORIGINALS)
def test_what_is_not_translated_has_no_commands(name: str) -> None:
    assert {block.language for block in Page(ROOT / name).blocks()} <= {"text"}
