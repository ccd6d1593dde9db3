"""Label selectors."""

import pytest

from moorage.errors import InputError
from moorage.objects import LabelSelector, LabelSelectorRequirement
from moorage.values.selector import (
    EVERYTHING,
    NOTHING,
    Requirement,
    Selector,
    compile_selector,
    from_labels,
    parse_int64,
)


def selector(*expressions: tuple[str, str, tuple[str, ...]], **labels: str) -> Selector:
    items = tuple(LabelSelectorRequirement(key, operator, values) for key, operator, values in expressions)
    return compile_selector(LabelSelector(labels, items))


@pytest.mark.parametrize(
    ("operator", "values", "matching", "other"),
    [
        ("In", ("web", "api"), [{"app": "web"}, {"app": "api"}], [{"app": "db"}, {}, {"tier": "web"}]),
        ("NotIn", ("web",), [{"app": "db"}, {}], [{"app": "web"}]),
        ("Exists", (), [{"app": ""}, {"app": "x"}], [{}]),
        ("DoesNotExist", (), [{}, {"tier": "x"}], [{"app": ""}]),
    ],
)
def test_operators(
    operator: str, values: tuple[str, ...], matching: list[dict[str, str]], other: list[dict[str, str]]
) -> None:
    compiled = selector(("app", operator, values))
    assert all(compiled.matches(labels) for labels in matching)
    assert not any(compiled.matches(labels) for labels in other)


def test_all_requirements_must_hold() -> None:
    compiled = selector(("tier", "NotIn", ("test",)), app="web")
    assert compiled.matches({"app": "web", "tier": "live"})
    assert not compiled.matches({"app": "web", "tier": "test"})
    assert not compiled.matches({"tier": "live"})


def test_absent_matches_nothing_and_empty_everything() -> None:
    assert compile_selector(None) is NOTHING
    assert not NOTHING.matches({})
    assert compile_selector(LabelSelector()) == EVERYTHING
    assert EVERYTHING.matches({"any": "thing"})
    assert EVERYTHING.is_empty
    assert not NOTHING.is_empty


@pytest.mark.parametrize(
    ("operator", "values", "problem"),
    [
        ("Gt", ("1",), '"Gt" is not a valid label selector operator'),
        ("in", ("x",), '"in" is not a valid label selector operator'),
        ("", (), '"" is not a valid label selector operator'),
        ("In", (), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        ("NotIn", (), "values: Invalid value: null: for 'in', 'notin' operators"),
        ("Exists", ("x",), 'values: Invalid value: ["x"]: values set must be empty for exists and does not exist'),
        (
            "DoesNotExist",
            ("x", "y"),
            'values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_malformed(operator: str, values: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError) as refusal:
        selector(("app", operator, values))
    assert str(refusal.value).startswith(problem)


def test_further_labels_narrow_but_never_widen() -> None:
    narrowed = from_labels({"app": "web"}).and_labels({"hash": "1"})
    assert narrowed.matches({"app": "web", "hash": "1"})
    assert not narrowed.matches({"app": "web", "hash": "2"})
    assert NOTHING.and_labels({"hash": "1"}) is NOTHING


def test_equal_selectors_are_equal_whatever_the_order_of_labels() -> None:
    assert from_labels({"a": "1", "b": "2"}) == from_labels({"b": "2", "a": "1"})
    assert len({from_labels({"a": "1", "b": "2"}), from_labels({"b": "2", "a": "1"})}) == 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-5", -5),
        ("+5", 5),
        ("007", 7),
        (str(2**63 - 1), 2**63 - 1),
        (str(-(2**63)), -(2**63)),
        (str(2**63), None),
        ("", None),
        ("-", None),
        ("1.5", None),
        (" 1", None),
        ("1_0", None),
        ("٣", None),
        ("0x1", None),
    ],
)
def test_integers_as_go_reads_them(text: str, number: int | None) -> None:
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    ("operator", "value", "fits"),
    [
        ("Gt", "6", True),
        ("Gt", "5", False),
        ("Gt", "x", False),
        ("Gt", None, False),
        ("Lt", "4", True),
        ("Lt", "5", False),
    ],
)
def test_comparisons(operator: str, value: str | None, fits: bool) -> None:
    assert Requirement("rank", operator, frozenset(["5"])).accepts(value) is fits
