"""Changes that are taken back: what a group's placement, preemption and what-if try things on.

Whatever is changed inside a block is written down here with the way back. At the end of the block it is undone, newest
first, unless the block was kept; a kept block inside another one is undone with that. Everything that is counted,
listed or looked up, and every order, is then as before. Memos, versions and logs go on: readers catch up inside the
block, too, so that the logs tell of the way back like of any other change.

Any map that follows the cluster can join: where `snapshot.undo` is an UndoLog, `save` the map before changing it.
"""

from collections.abc import Callable, MutableMapping
from types import TracebackType
from typing import Any, Protocol, Self


class UndoLog:
    """The way back, in the order of the changes."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []
        #: What was saved whole, by id; held so that no other takes the id.
        self._saved: dict[int, object] = {}
        self._is_undoing = False

    def record(self, step: Callable[[], None]) -> None:
        """This undoes a change that is made now."""
        if not self._is_undoing:
            self._steps.append(step)

    def save(self, mapping: MutableMapping[Any, Any]) -> None:
        """The mapping is about to change: in the end it has what it has now, in this order."""
        if self.is_first(mapping):
            before = dict(mapping)

            def restore() -> None:
                mapping.clear()
                mapping.update(before)

            self.record(restore)

    def save_key(self, mapping: MutableMapping[Any, Any], key: Any) -> None:
        """One key is about to change in a mapping too large to copy, whose order nobody reads."""
        if self._is_undoing:
            return
        if key in mapping:
            before = mapping[key]
            self.record(lambda: mapping.__setitem__(key, before))
        else:
            self.record(lambda: mapping.pop(key, None))

    def is_first(self, changed: object) -> bool:
        """Whether this is the first change to it in the block."""
        if self._is_undoing or id(changed) in self._saved:
            return False
        self._saved[id(changed)] = changed
        return True

    def knows(self, changed: object) -> bool:
        """Whether it was changed in the block in a way that is put back as a whole."""
        return id(changed) in self._saved

    def undo(self) -> None:
        """Take everything back, the newest first."""
        self._is_undoing = True
        while self._steps:
            self._steps.pop()()

    def append(self, inner: "UndoLog") -> None:
        """Take over a block that was kept: it is undone together with this one."""
        self._steps += inner._steps
        self._saved.update(inner._saved)


class Undoable(Protocol):
    """What writes down its changes while `undo` is a log, and makes them without a word while it is None."""

    undo: UndoLog | None


class Tentative:
    """A block whose changes are undone at its end, unless it is kept. What raises is never kept."""

    def __init__(self, *parts: Undoable) -> None:
        self._parts = parts
        self._log = UndoLog()
        self._is_kept = False

    def keep(self) -> None:
        """Let the changes stay, or be undone with the block around this one."""
        self._is_kept = True

    def __enter__(self) -> Self:
        self._outer = self._parts[0].undo
        self._write_to(self._log)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        if self._is_kept and error is None:
            if self._outer is not None:
                self._outer.append(self._log)
        else:
            self._log.undo()
        self._write_to(self._outer)

    def _write_to(self, log: UndoLog | None) -> None:
        for part in self._parts:
            part.undo = log
