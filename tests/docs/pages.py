"""The pages people read: README, docs and the READMEs of the examples, cut into their blocks of code.

A block says what it is by its language:

sh        commands, which have to succeed
console   commands behind `$ `, each with what it prints; `...` stands for anything
text      something to look at
others    code and files; one whose first line is a comment with a file's name is that file

Above a block that cannot be run here stands why: `<!-- not run: it needs a registry -->`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

#: Written by tests of their own, which run what they show.
WRITTEN: Final = ("docs/mistakes.md",)

LANGUAGES: Final = frozenset(("sh", "console", "text", "yaml", "json", "toml", "python", "go", "dockerfile"))

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<language>[\w-]*)\s*$")
_NOT_RUN = re.compile(r"^\s*<!-- not run: (?P<why>.+) -->$")
_FILE = re.compile(r"^(#|//) (?P<name>[\w./-]+\.(yaml|py|toml|go))$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code on a page."""

    language: str
    text: str
    #: The line its text begins at.
    line: int
    #: Why it is not run, as the page says it.
    not_run: str = ""

    @property
    def file(self) -> str:
        """The name of the file that it is; "" where it is none."""
        found = _FILE.match(self.text.partition("\n")[0])
        return found["name"] if found else ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page in Markdown."""

    path: Path

    @property
    def name(self) -> str:
        """Its path within the repository."""
        return str(self.path.relative_to(ROOT))

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.path.read_text().splitlines()

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Its headings, each with its level."""
        found = (re.match(r"^(#+) (.+)$", line) for line in self.prose())
        return [(len(one[1]), one[2]) for one in found if one]

    @property
    def links(self) -> list[str]:
        """What it links to."""
        return [target for line in self.prose() for target in re.findall(r"\]\(([^)\s]+)\)", line)]

    def blocks(self) -> Iterator[Block]:
        """Its blocks, in order. Raises ValueError for one that does not end."""
        lines = iter(enumerate(self.lines, start=1))
        why = ""
        for number, line in lines:
            marked = _NOT_RUN.match(line)
            opened = _FENCE.match(line)
            if opened is None:
                why = marked["why"] if marked else why if not line.strip() else ""
                continue
            text = []
            for _, inner in lines:
                if inner.strip() == opened["fence"]:
                    break
                text.append(inner.removeprefix(opened["indent"]))
            else:
                raise ValueError(f"{self.name}:{number}: this block has no end")
            yield Block(opened["language"], "\n".join(text) + "\n", number + 1, why)
            why = ""

    def prose(self) -> Iterator[str]:
        """The lines outside of blocks."""
        fence = ""
        for line in self.lines:
            opened = _FENCE.match(line)
            if opened and not fence:
                fence = opened["fence"]
            elif fence and line.strip() == fence:
                fence = ""
            elif not fence:
                yield line


def pages() -> list[Page]:
    """Every page, but those that tests write."""
    found = [*ROOT.glob("README*.md"), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/*/README.md"))]
    return [page for page in map(Page, found) if page.name not in WRITTEN]


def is_translated(page: Page) -> bool:
    """Whether it is in another language: its commands are those of the page it was translated from."""
    return page.name.startswith("docs/zh/") or page.name == "README.zh-CN.md"
