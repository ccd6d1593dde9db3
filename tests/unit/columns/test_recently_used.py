"""The bounded memory."""

import pytest

from moorage.columns import NodeTable, recent
from moorage.columns.recent import RecentlyUsed


def test_values_are_made_once() -> None:
    made: list[str] = []

    def make(text: str) -> int:
        made.append(text)
        return len(text)

    memory: RecentlyUsed[int] = RecentlyUsed(NodeTable())
    assert [memory.get("key", make, "text") for _ in range(3)] == [4, 4, 4]
    assert made == ["text"]


def test_what_was_used_longest_ago_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "FEWEST", 2)
    monkeypatch.setattr(recent, "MOST_ROWS", 0)
    memory: RecentlyUsed[str] = RecentlyUsed(NodeTable())
    for key in ("a", "b", "a", "c"):
        memory.get(key, str.upper, key)
    assert len(memory) == 2
    assert [memory.get(key, str, "made anew") for key in ("a", "c", "b")] == ["A", "C", "made anew"]


def test_small_clusters_keep_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "FEWEST", 1)
    monkeypatch.setattr(recent, "MOST_ROWS", 256)
    for capacity, kept in ((64, 4), (128, 2), (1024, 1)):
        memory: RecentlyUsed[int] = RecentlyUsed(NodeTable(capacity))
        for key in range(10):
            memory.get(key, int, key)
        assert len(memory) == kept
