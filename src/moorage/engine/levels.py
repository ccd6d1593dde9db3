"""The rows that rank highest, by rank, kept while rows move one by one."""

from bisect import bisect_left, insort

import numpy as np

from moorage.framework.points import Scores


class Levels:
    """All rows of at least one rank, the floor: the highest there was when they were listed.

    A pod that is placed moves its node a little: mostly below the floor, where nobody looks; sometimes above the
    others, until the next pod is there, too. Only when no row is left at the floor or above it has everything to be
    looked at again.
    """

    __slots__ = ("_floor", "_rows")

    def __init__(self, ranked: Scores) -> None:
        self._floor = int(np.maximum.reduce(ranked))
        #: By rank, ascending.
        self._rows: dict[int, list[int]] = {self._floor: np.flatnonzero(ranked == self._floor).tolist()}

    def move(self, row: int, before: int, after: int) -> None:
        """A row ranks otherwise from now on."""
        if before >= self._floor:
            rows = self._rows[before]
            del rows[bisect_left(rows, row)]
            if not rows:
                del self._rows[before]
        if after >= self._floor:
            insort(self._rows.setdefault(after, []), row)

    def best(self) -> list[int]:
        """The rows that rank highest, ascending; none where nothing is known of those that do."""
        return self._rows[max(self._rows)] if self._rows else []
