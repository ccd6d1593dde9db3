"""What changed, in order, for readers that catch up lazily.

A reader (a cache of verdicts, a table of counts) remembers the position it has read to and asks for what came since.
The log is cut from time to time; a reader that fell behind the cut is told to start afresh.
"""

from typing import Generic, NamedTuple, TypeVar

from moorage.columns.pods import PodInfo

T = TypeVar("T")


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

    @property
    def position(self) -> int:
        """Where the next entry will stand."""
        return self._first + len(self._entries)

    def append(self, entry: T) -> None:
        """Add an entry; drops the older half once there are twice as many as we keep."""
        self._entries.append(entry)
        if len(self._entries) > 2 * self._keep:
            del self._entries[: self._keep]
            self._first += self._keep

    def since(self, position: int) -> list[T] | None:
        """The entries from that position on, or None where they are partly gone."""
        if position < self._first:
            return None
        return self._entries[position - self._first :]
