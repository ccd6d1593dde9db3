"""Selectors found by labels."""

from moorage.columns.selectorindex import SelectorIndex
from moorage.values.selector import EVERYTHING, Requirement, Selector, from_labels


def found(index: SelectorIndex[str], namespace: str, **labels: str) -> list[str]:
    return sorted(index.candidates(namespace, labels))


def test_candidates_are_few_but_never_too_few() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    home, many = frozenset(("home",)), Selector((Requirement("app", "In", frozenset("ab")),))
    index.add(home, from_labels({"app": "web"}), "web")
    index.add(home, from_labels({"app": "db"}), "db")
    index.add(home, many, "many")
    index.add(None, from_labels({"app": "web"}), "web anywhere")
    index.add(frozenset(("home", "away")), EVERYTHING, "all")
    assert found(index, "home", app="web", tier="x") == ["all", "many", "web", "web anywhere"]
    assert found(index, "away", app="web") == ["all", "web anywhere"]
    assert found(index, "home") == ["all", "many"]


def test_what_was_removed_is_found_no_more() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    home = frozenset(("home",))
    index.add(home, from_labels({"app": "web"}), "web")
    assert index
    index.remove(home, from_labels({"app": "web"}), "web")
    assert found(index, "home", app="web") == []
    assert not index
