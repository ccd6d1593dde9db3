"""Node labels as columns: for one key, the id of each row's value."""

import numpy as np
from numpy.typing import NDArray

ABSENT = -1


class LabelColumn:
    """One label key over all rows. Value ids are dense, so they index tables of counts directly."""

    def __init__(self, capacity: int) -> None:
        self.ids: NDArray[np.intp] = np.full(capacity, ABSENT, dtype=np.intp)
        self.values: list[str] = []
        self._id_of: dict[str, int] = {}
        #: Rows in the order of their ids, and where in it each id begins; None after a change.
        self._order: NDArray[np.intp] | None = None
        self._begins: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def set(self, row: int, value: str | None) -> None:
        """Take over a row's value; None where it has none."""
        known = ABSENT if value is None else self.id_of(value)
        if self.ids[row] != known:
            self.ids[row] = known
            self._order = None

    def id_of(self, value: str) -> int:
        """The id of a value, given to it now if it is new."""
        known = self._id_of.get(value)
        if known is None:
            known = self._id_of[value] = len(self.values)
            self.values.append(value)
        return known

    def find(self, value: str) -> int:
        """The id of a value, ABSENT if no row ever had it."""
        return self._id_of.get(value, ABSENT)

    def rows_with(self, known: int) -> NDArray[np.intp]:
        """The rows that have the value of this id."""
        if self._order is None:
            self._order = np.argsort(self.ids, kind="stable")
            self._begins = np.searchsorted(self.ids[self._order], np.arange(len(self.values) + 1))
        return self._order[self._begins[known] : self._begins[known + 1]]

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        ids = np.full(capacity, ABSENT, dtype=np.intp)
        ids[: len(self.ids)] = self.ids
        self.ids = ids
        self._order = None
