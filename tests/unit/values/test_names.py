"""Label keys, label values, extended resources."""

import pytest

from moorage.values import names


@pytest.mark.parametrize("key", ["zone", "a.b/zone", "A_b-c.9", "x" * 63, f"{'a' * 63}.com/x"])
def test_good_label_keys(key: str) -> None:
    assert names.label_key_problems(key) == []


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "name part must be non-empty"),
        ("a/", "name part must be non-empty"),
        ("/a", "prefix part must be non-empty"),
        ("A/b", "prefix part a lowercase RFC 1123 subdomain"),
        ("a/b/c", "with an optional DNS subdomain prefix"),
        ("a b", "name part must consist of alphanumeric characters"),
        ("-a", "name part must consist of alphanumeric characters"),
        ("x" * 64, "name part must be no more than 63"),
        (f"{'a.' * 130}a/x", "prefix part must be no more than 253"),
    ],
)
def test_bad_label_keys(key: str, problem: str) -> None:
    assert any(problem in found for found in names.label_key_problems(key))


def test_label_values() -> None:
    assert names.label_value_problems("") == []
    assert names.label_value_problems("a_b.c-9") == []
    assert names.label_value_problems("a b")
    assert "63" in names.label_value_problems("x" * 64)[0]


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("example.com/gpu", True),
        ("cpu", False),
        ("kubernetes.io/x", False),
        ("node.kubernetes.io/x", False),
        ("requests.example.com/x", False),
        (f"{'a' * 50}.{'b' * 50}.{'c' * 50}.{'d' * 50}.{'e' * 41}.com/x", False),
    ],
)
def test_extended_resources(name: str, extended: bool) -> None:
    assert names.is_extended_resource(name) is extended
