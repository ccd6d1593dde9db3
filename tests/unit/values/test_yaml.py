"""YAML and JSON as Kubernetes reads them."""

import math
from itertools import pairwise
from typing import Any

import pytest

from moorage.errors import InputError
from moorage.values import yaml


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("yes", True),
        ("y", True),
        ("On", True),
        ("NO", False),
        ("off", False),
        ("~", None),
        ("", None),
        ("010", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("+5", 5),
        ("08", 8.0),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775809", -(2.0**63)),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
        ("1e999", "1e999"),
        ("yEs", "yEs"),
        ("0x", "0x"),
        ("1.2.3", "1.2.3"),
        ("'yes'", "yes"),
        ('"010"', "010"),
        ("!!str 5", "5"),
        ("!!float 5", 5.0),
        ("!!binary YWJj", "abc"),
        ("!mine 5", "5"),
    ],
)
def test_scalars(scalar: str, value: Any) -> None:
    read = yaml.load(f"key: {scalar}\n")["key"]
    assert read == value
    assert type(read) is type(value)


def test_keys_become_text_as_in_json() -> None:
    assert yaml.load("1: a\ntrue: b\n1.5: c\n") == {"1": "a", "true": "b", "1.5": "c"}


def test_merges_take_effect_where_they_stand() -> None:
    text = "base: &base {a: 1, b: 2}\nlater: {<<: *base, b: 3}\nearlier: {b: 3, <<: *base}\n"
    read = yaml.load(text)
    assert read["later"] == {"a": 1, "b": 3}
    assert read["earlier"] == {"a": 1, "b": 2}


def test_the_first_of_merged_mappings_wins() -> None:
    assert yaml.load("<<: [{a: 1}, {a: 2, b: 2}]") == {"a": 1, "b": 2}


def test_aliases_are_copies() -> None:
    read = yaml.load("a: &a [1]\nb: *a\n")
    read["a"].append(2)
    assert read["b"] == [1]


def test_only_the_first_document_counts() -> None:
    assert yaml.load("a: 1\n---\nb: 2\n") == {"a": 1}
    assert yaml.load("") is None


def test_all_documents() -> None:
    assert yaml.load_all("a: 1\n---\n# nothing\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    assert yaml.load_all('{"a": 1}\n{"b": 2}') == [{"a": 1}, {"b": 2}]
    assert yaml.load_all('{"a": 1}') == [{"a": 1}]
    assert yaml.load_all("{a: 1}\n---\n{b: 2}\n") == [{"a": 1}, {"b": 2}]


def test_what_begins_like_json_may_be_yaml_unless_strict() -> None:
    assert yaml.load("{a: 1}") == {"a": 1}
    with pytest.raises(InputError, match="line 1: JSON is malformed"):
        yaml.load("{a: 1}", strict=True)


def test_bytes_and_byte_order_marks() -> None:
    assert yaml.load("\ufeffa: é".encode()) == {"a": "é"}
    assert yaml.load("\ufeffa: é") == {"a": "é"}
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        yaml.load(b"a: 1\nb: \xff\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", 'line 2: key "a" is already set'),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 'line 4: key "c" is already set'),
        ("a: &a {k: 1}\nb: {<<: *a, k: 2}\n", 'line 2: key "k" is already set'),
        ('{"a": 1,\n "b": 2,\n "a": 3}', 'line 3: key "a" is already set'),
        ('{"a": 1,\n "b" 2}', "line 2: JSON is malformed"),
    ],
)
def test_strictness(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        yaml.load(text, strict=True)


def test_strictness_in_streams() -> None:
    with pytest.raises(InputError, match='key "a" is already set'):
        yaml.load_all('{"b": 1} {"a": 1, "a": 2}', strict=True)


def test_the_last_of_repeated_keys_wins_otherwise() -> None:
    assert yaml.load("a: 1\na: 2\n") == {"a": 2}
    assert yaml.load('{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [\n", "line 2: did not find expected node content"),
        ("\ta: 1", "line 1: found character that cannot start any token"),
        ("a: 1\n? [b]\n: 2", "line 2: a mapping or a list cannot be a key"),
        ("~: 1", "line 1: null cannot be a key"),
        ("a: !!int b", 'line 1: cannot read "b" as !!int'),
        ("a: !!binary '*'", "line 1: !!binary"),
        ("a: &a [*a]", "line 1: the value of an anchor contains itself"),
        ("<<: 5", "line 1: a merge"),
        ("a: \x07", "control characters are not allowed"),
        ("[" * 5000, "nested too deeply"),
        ("a: " + "[" * 500 + "]" * 500, "nested too deeply"),
        ("- " * 200_000 + "x", "nested too deeply"),
    ],
)
def test_malformed(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        yaml.load(text)


def test_exploding_aliases_are_refused() -> None:
    names = "abcdefghi"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in pairwise(names)]
    with pytest.raises(InputError, match="excessive aliasing"):
        yaml.load("\n".join(lines))


def test_dump_quotes_what_kubernetes_would_misread() -> None:
    value = {"y": "on", "a": "1e3", "b": "010", "c": "12:30", "d": "2001-01-01", "e": "", "f": "<<", "g": "null"}
    text = yaml.dump(value)
    assert "'on'" in text
    assert "'12:30'" in text
    assert yaml.load(text) == value


def test_dump_is_for_people() -> None:
    shared = ["x"]
    assert yaml.dump({"b": shared, "a": shared, "t": "one\ntwo\n"}) == "b:\n- x\na:\n- x\nt: |\n  one\n  two\n"
