"""Points in time."""

import pytest

from moorage.errors import InputError
from moorage.values.time import parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00", 0),
        ("2026-01-31T12:00:00.123456Z", 1769860800.123456),
    ],
)
def test_read(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z", "1769860800"])
def test_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a time"):
        parse_time(text)
