"""What plugins remember within a cycle."""

import pytest

from moorage.framework import CycleState


class Counter:
    """State that dry runs change."""

    def __init__(self, count: int = 0) -> None:
        self.count = count

    def clone(self) -> "Counter":
        return Counter(self.count)


def test_write_and_read() -> None:
    state = CycleState()
    state.write("key", 5)
    assert (state.read("key"), state.get("key"), state.get("other")) == (5, 5, None)
    with pytest.raises(KeyError, match="nothing was written under 'other' in this cycle"):
        state.read("other")


def test_reads_fall_through_to_what_is_kept_for_the_class() -> None:
    base = CycleState()
    base.write("kept", 1)
    state = CycleState(base)
    assert (state.read("kept"), state.get("kept")) == (1, 1)
    state.write("kept", 2)
    assert (state.read("kept"), base.read("kept")) == (2, 1)


def test_a_clone_changes_on_its_own() -> None:
    state = CycleState()
    shared = [1]
    state.write("counter", Counter())
    state.write("shared", shared)
    state.skipped_filters = frozenset(["A"])
    state.skipped_scores = frozenset(["B"])
    twin = state.clone()
    twin.read("counter").count += 1
    twin.write("own", True)
    assert (state.read("counter").count, state.get("own")) == (0, None)
    assert twin.read("shared") is shared
    assert (twin.skipped_filters, twin.skipped_scores) == (frozenset(["A"]), frozenset(["B"]))
