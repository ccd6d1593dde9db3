"""Logs that readers catch up from."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.columns import ChangeLog
from moorage.columns.changes import RowLog

Log = ChangeLog[int] | RowLog


@pytest.fixture(params=[ChangeLog, RowLog])
def make(request: pytest.FixtureRequest) -> Callable[[int], Log]:
    def build(keep: int) -> Log:
        made: Log = request.param(keep=keep)
        return made

    return build


def since(log: Log, position: int) -> list[int] | None:
    entries = log.since(position)
    return None if entries is None else [int(entry) for entry in entries]


def test_a_reader_gets_what_came_since(make: Callable[[int], Log]) -> None:
    log = make(8)
    assert log.position == 0
    assert since(log, 0) == []
    for entry in (5, 6, 7):
        log.append(entry)
    assert since(log, 0) == [5, 6, 7]
    assert since(log, 2) == [7]
    assert since(log, log.position) == []


def test_a_reader_that_fell_behind_is_told_so(make: Callable[[int], Log]) -> None:
    log = make(4)
    for entry in range(9):
        log.append(entry)
    assert since(log, 0) is None
    assert since(log, 3) is None
    assert since(log, 4) == [4, 5, 6, 7, 8]
    assert log.position == 9


@given(st.integers(1, 5), st.lists(st.integers(0, 99), max_size=60), st.integers(0, 60))
def test_never_a_gap(keep: int, entries: list[int], position: int) -> None:
    for log in (ChangeLog[int](keep=keep), RowLog(keep=keep)):
        for entry in entries:
            log.append(entry)
        found = since(log, min(position, len(entries)))
        assert log.position == len(entries)
        assert found in (None, entries[position:])
        if len(entries) - position <= keep:
            assert found is not None


def test_what_a_reader_got_does_not_change_under_it() -> None:
    log = RowLog(keep=2)
    log.append(1)
    got = log.since(0)
    for _ in range(5):
        log.append(9)
    assert got is not None
    assert got.tolist() == [1]
