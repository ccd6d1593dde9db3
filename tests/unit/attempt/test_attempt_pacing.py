"""How many questions an extender is asked at once, for extenders of several kinds, in virtual time."""

import heapq

import pytest

from moorage.attempt.pacing import FIRST, PROBATION, Asked, Pace

PATIENCE = 5.0
MOST = 32


class Waiting:
    """Pods without end that ask one extender, which serves `workers` of them at once, `seconds` each.

    What was given up is served all the same: nobody tells a server that its caller is gone.
    """

    def __init__(self, seconds: float, *, workers: int, most: int = MOST) -> None:
        self.pace = Pace("http://one", most, PATIENCE)
        self._seconds = seconds
        self._free_at = [0.0] * workers
        self._out: list[tuple[float, int, bool, Asked]] = []
        self.now = 0.0
        self.answered = self.missed = self.most_out = 0

    def run(self, until: float) -> None:
        while True:
            while len(self._out) < self.pace.size:
                self._ask()
            ends, _, in_time, asked = self._out[0]
            if ends > until:
                return
            heapq.heappop(self._out)
            self.now = ends
            self.answered += in_time
            self.missed += not in_time
            self.pace.hear(asked, ends, is_broken=not in_time)

    def _ask(self) -> None:
        asked = self.pace.ask(self.now, len(self._out))
        served = max(heapq.heappop(self._free_at), self.now) + self._seconds
        heapq.heappush(self._free_at, served)
        in_time = served - self.now < PATIENCE
        ends = served if in_time else self.now + PATIENCE
        heapq.heappush(self._out, (ends, self.answered + self.missed + len(self._out), in_time, asked))
        self.most_out = max(self.most_out, len(self._out))


@pytest.mark.parametrize("seconds", [0.005, 1.0, 4.0])
def test_one_that_serves_many_at_once_is_asked_as_much_as_allowed(seconds: float) -> None:
    waiting = Waiting(seconds, workers=1000)
    waiting.run(100 * seconds)
    assert (waiting.most_out, waiting.missed) == (MOST, 0)


@pytest.mark.parametrize("seconds", [0.001, 0.02, 0.1])
def test_one_that_serves_one_after_the_other_but_quickly_misses_none(seconds: float) -> None:
    waiting = Waiting(seconds, workers=1)
    waiting.run(300)
    assert waiting.missed == 0
    assert waiting.answered > 250 / seconds


@pytest.mark.parametrize("seconds", [0.8, 1.5, 2.4, 3.0])
def test_one_that_serves_slowly_one_after_the_other_is_not_flooded(seconds: float) -> None:
    """What it could do in the time it nearly does: most of it is not spent on questions that were given up."""
    waiting = Waiting(seconds, workers=1)
    waiting.run(1000)
    assert waiting.answered > 0.7 * 1000 / seconds
    assert waiting.missed < 0.15 * waiting.answered


def test_one_where_nobody_is_at_home_is_not_taken_for_slow() -> None:
    pace = Pace("http://one", MOST, PATIENCE)
    for asked in [pace.ask(0.0, beside) for beside in range(FIRST)]:
        pace.hear(asked, PATIENCE, is_broken=True)
    assert pace.size == FIRST


def test_what_breaks_at_once_says_nothing() -> None:
    pace = Pace("http://one", MOST, PATIENCE)
    for _ in range(100):
        pace.hear(pace.ask(0.0, pace.size - 1), 0.001, is_broken=True)
    assert pace.size == FIRST


def test_room_that_was_not_used_is_not_added_to() -> None:
    pace = Pace("http://one", MOST, PATIENCE)
    for _ in range(100):
        pace.hear(pace.ask(0.0, 2), 0.001, is_broken=False)
    assert pace.size == FIRST


def test_after_a_while_more_is_tried_again() -> None:
    pace = Pace("http://one", MOST, PATIENCE)
    lost, *others = [pace.ask(0.0, beside) for beside in range(FIRST)]
    for asked in others:
        pace.hear(asked, 0.1, is_broken=False)
    grown = pace.size
    pace.hear(lost, PATIENCE, is_broken=True)
    small = pace.size
    assert small < grown
    for _ in range(100):
        pace.hear(pace.ask(PATIENCE, pace.size - 1), PATIENCE + 0.1, is_broken=False)
    assert pace.size == small
    for times in range(1, 20):
        later = PATIENCE + times * (PROBATION + 1)
        for _ in range(100):
            pace.hear(pace.ask(later, pace.size - 1), later + 0.1, is_broken=False)
    assert pace.size == MOST


def test_no_more_than_allowed_from_the_first() -> None:
    waiting = Waiting(0.01, workers=100, most=2)
    waiting.run(10)
    assert waiting.most_out == 2
