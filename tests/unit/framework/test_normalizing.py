"""Normalising by the highest score, as Go's integers do it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.framework import NormalizeByMax, Scores


def normalized(scores: list[int], *, reverse: bool = False) -> list[int]:
    array: Scores = np.array(scores, dtype=np.int64)
    found: list[int] = NormalizeByMax(reverse=reverse)(None, None, array, np.arange(len(scores))).tolist()
    return found


@pytest.mark.parametrize(
    ("scores", "plain", "reverse"),
    [
        ([], [], []),
        ([0, 0], [0, 0], [100, 100]),
        ([1, 2, 3], [33, 66, 100], [67, 34, 0]),
        ([7], [100], [0]),
        ([0, 9], [0, 100], [100, 0]),
    ],
)
def test_known_values(scores: list[int], plain: list[int], reverse: list[int]) -> None:
    assert normalized(scores) == plain
    assert normalized(scores, reverse=True) == reverse


@given(st.lists(st.integers(0, 2**40), min_size=1), st.booleans())
def test_against_plain_integers(scores: list[int], reverse: bool) -> None:
    highest = max(scores)
    expected = [100 * score // highest if highest else 0 for score in scores]
    assert normalized(scores, reverse=reverse) == [100 - score if reverse else score for score in expected]
