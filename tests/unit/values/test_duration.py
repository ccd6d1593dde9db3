"""Durations in Go's notation."""

import pytest

from moorage.errors import InputError
from moorage.values.duration import Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds", "shown"),
    [
        ("10s", 10_000_000_000, "10s"),
        ("1m30s", 90_000_000_000, "1m30s"),
        ("1.5h", 5_400_000_000_000, "1h30m0s"),
        ("100ms", 100_000_000, "100ms"),
        (".5s", 500_000_000, "500ms"),
        ("1.s", 1_000_000_000, "1s"),
        ("300us", 300_000, "300µs"),
        ("1ns", 1, "1ns"),
        ("-1.25s", -1_250_000_000, "-1.25s"),
        ("+1s", 1_000_000_000, "1s"),
        ("0", 0, "0s"),
        ("1s1s", 2_000_000_000, "2s"),
    ],
)
def test_notation(text: str, nanoseconds: int, shown: str) -> None:
    duration = Duration.parse(text)
    assert duration.nanoseconds == nanoseconds
    assert str(duration) == shown


@pytest.mark.parametrize("text", ["", "5", "s", "-", "1 s", "1s2", "1d", "s1", "9223372036854775808ns", "1.2.3s"])
def test_malformed(text: str) -> None:
    with pytest.raises(InputError, match="is not a duration"):
        Duration.parse(text)


def test_order_and_truth() -> None:
    assert Duration(1) < Duration(2) <= Duration(2)
    assert not Duration(0)
    assert {Duration(5): "x"}[Duration(5)] == "x"
    assert Duration(1) != 1
    assert Duration.of_seconds(90).seconds == 90.0
