"""What changed, in order, for readers that catch up lazily.

A reader (a cache of verdicts, a table of counts) remembers the position it has read to and asks for what came since.
The log is cut from time to time; a reader that fell behind the cut is told to start afresh.
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.columns.pods import PodInfo

T = TypeVar("T")

_NO_ROWS: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
_NO_ROWS.flags.writeable = False


class PodChange(NamedTuple):
    """A pod came to (+1) or went from (-1) a row."""

    row: int
    pod: PodInfo
    delta: int


class ChangeLog(Generic[T]):
    """An append-only list with absolute positions, of which the oldest part may be gone."""

    def __init__(self, keep: int = 1 << 16) -> None:
        self._entries: list[T] = []
        self._first = 0
        self._keep = keep
        #: While it is, nothing is dropped: a large group must not make every reader start afresh.
        self.is_held = False

    @property
    def position(self) -> int:
        """Where the next entry will stand."""
        return self._first + len(self._entries)

    def append(self, entry: T) -> None:
        """Add an entry; drops the older half once there are twice as many as we keep."""
        self._entries.append(entry)
        if len(self._entries) > 2 * self._keep and not self.is_held:
            dropped = (len(self._entries) // self._keep - 1) * self._keep
            del self._entries[:dropped]
            self._first += dropped

    def since(self, position: int) -> list[T] | None:
        """The entries from that position on, or None where they are partly gone."""
        if position < self._first:
            return None
        return self._entries[position - self._first :]


class RowLog:
    """The same for bare rows, kept as an array so that a reader gets them without walking the log."""

    def __init__(self, keep: int = 1 << 16) -> None:
        self._rows: NDArray[np.intp] = np.zeros(2 * keep, dtype=np.intp)
        self._used = 0
        self._first = 0
        self._keep = keep

    @property
    def position(self) -> int:
        """Where the next row will stand."""
        return self._first + self._used

    def append(self, row: int) -> None:
        """Add a row; drops the older half when the array is full."""
        if self._used == len(self._rows):
            self._rows[: self._keep] = self._rows[self._keep :]
            self._used = self._keep
            self._first += self._keep
        self._rows[self._used] = row
        self._used += 1

    def since(self, position: int) -> NDArray[np.intp] | None:
        """The rows from that position on, some perhaps more than once; None where they are partly gone."""
        if position < self._first:
            return None
        start = position - self._first
        return self._rows[start : self._used].copy() if start < self._used else _NO_ROWS
