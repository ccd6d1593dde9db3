"""Every link within the repository leads to something, headings included."""

import re

import pytest
from tests.docs.pages import ROOT, WRITTEN, Page, pages


def anchor(heading: str) -> str:
    """What a heading is called in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [*pages(), Page(ROOT / "ARCHITECTURE.md")], ids=lambda page: str(page.name))
def test_links_lead_somewhere(page: Page) -> None:
    for link in page.links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, place = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), f"{page.name}: {link}"
        if place:
            assert place in [anchor(text) for _, text in Page(target).headings], f"{page.name}: {link}"


def test_the_index_has_every_page() -> None:
    indexes = [Page(ROOT / "docs" / "README.md"), Page(ROOT / "docs" / "plugins" / "README.md")]
    linked = {(index.path.parent / link.partition("#")[0]).resolve() for index in indexes for link in index.links}
    written = {ROOT / name for name in WRITTEN} | {
        page.path for page in pages() if page.path.is_relative_to(ROOT / "docs")
    }
    own = {index.path for index in indexes} | {path for path in written if path.parent.name == "decisions"}
    assert sorted(str(path.relative_to(ROOT)) for path in written - linked - own) == []
