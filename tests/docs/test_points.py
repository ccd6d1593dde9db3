"""Each extension point has a page, of one shape, that speaks of every answer which the contract knows."""

import re
from typing import Final

import pytest
from tests.docs.pages import ROOT, Page

from moorage.config.points import POD_POINTS
from moorage.framework.answers import CONTRACTS
from moorage.framework.status import Code

PLUGINS: Final = ROOT / "docs" / "plugins"
SHAPE: Final = ["When", "What it gets", "What it may answer", "What it must not do", "Example"]
WORDS: Final = {
    Code.UNSCHEDULABLE: "unschedulable(",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "unresolvable(",
    Code.PENDING: "pending(",
    Code.SKIP: "`SKIP`",
    Code.WAIT: "wait(",
    Code.ERROR: "error(",
}


def page_of(point: str) -> Page:
    """The page of a point as the configuration spells it."""
    words = re.findall(r"[A-Z]?[a-z]+", point)
    return Page(PLUGINS / f"{'-'.join(words).lower()}.md")


@pytest.mark.parametrize("point", POD_POINTS)
def test_the_page_has_its_shape(point: str) -> None:
    page = page_of(point)
    (level, title), *_ = page.headings
    assert (level, title.partition(":")[0]) == (1, point[0].upper() + point[1:])
    assert [text for level, text in page.headings if level == 2] == SHAPE
    assert any("def test_" in block.text for block in page.blocks() if block.language == "python")
    assert page.path.name in Page(PLUGINS / "README.md").links


@pytest.mark.parametrize("point", [point for point in POD_POINTS if point[0].upper() + point[1:] in CONTRACTS])
def test_the_page_speaks_of_every_answer(point: str) -> None:
    contract = CONTRACTS[point[0].upper() + point[1:]]
    table = "\n".join(line for line in page_of(point).lines if line.startswith("|"))
    wanted = [WORDS[code] for code in contract.codes] + [kind.__name__ for kind in contract.kinds]
    assert [word for word in wanted if word not in table] == []
