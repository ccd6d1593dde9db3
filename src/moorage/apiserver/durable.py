"""Keeps objects in SQLite, so that they outlive the process.

Writes are committed in groups by a thread of its own; a client is answered once its write is on disk. Others may
see a write a moment before that. So that nobody can mistake a lost one for another, revisions are reserved ahead:
after a crash the counter goes on above every revision that anybody can have seen, and older watches start anew.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from moorage.apiserver import status
from moorage.apiserver.history import Item
from moorage.errors import InputError

_FORMAT = "1"
_RESERVE = 1_000_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    collection TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (collection, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_PUT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM objects WHERE collection = ? AND namespace = ? AND name = ?"
_SET = "INSERT OR REPLACE INTO state VALUES (?, ?)"

Row = tuple[str, str, str, int, bytes]


class Durable:
    """The journal of a store, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = _open(path)
        self.first_revision = self._start()
        self.committed = self.first_revision
        self.failure: str = ""
        self._pending: list[tuple[str, Item, bool]] = []
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._wake = threading.Condition()
        self._is_closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def _start(self) -> int:
        """The revision to go on from: exact after a clean end, beyond everything seen after a crash."""
        state = dict(self._database.execute("SELECT key, value FROM state"))
        if state.get("format", _FORMAT) != _FORMAT:
            raise InputError("was written by another version of moorage", where=str(self.path))
        revision = int(state.get("clean") or state.get("reserved") or 1)
        with self._database:
            self._database.execute(_SET, ("format", _FORMAT))
            self._database.execute(_SET, ("reserved", str(revision + _RESERVE)))
            self._database.execute("DELETE FROM state WHERE key = 'clean'")
        self._reserved = revision + _RESERVE
        return revision

    def rows(self) -> Iterator[Row]:
        """Every object, as it was stored last."""
        yield from self._database.execute("SELECT collection, namespace, name, revision, data FROM objects")

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write what is recorded."""
        self._loop = loop
        self._thread = threading.Thread(target=self._run, name="durable", daemon=True)
        self._thread.start()

    def record(self, collection: str, item: Item, *, deleted: bool) -> None:
        """Take note of a change."""
        with self._wake:
            self._pending.append((collection, item, deleted))
            self._wake.notify()

    async def settle(self, revision: int) -> None:
        """Wait until everything up to a revision is on disk. 500 where the disk failed."""
        if revision > self.committed and not self.failure:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((revision, future))
            await future
        if self.failure:
            raise status.internal(f"the change could not be stored: {self.failure}")

    def close(self, revision: int) -> None:
        """Write what is left, note the clean end, let go of the file."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()
        if not self.failure:
            with self._database:
                self._database.execute(_SET, ("clean", str(revision)))
        self._database.close()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._pending and not self._is_closing:
                    self._wake.wait()
                batch, self._pending = self._pending, []
            if not batch:
                return
            try:
                self._commit(batch)
            except sqlite3.Error as error:
                self._tell(0, f"{self.path}: {error}")
                return
            self._tell(batch[-1][1].revision, "")

    def _commit(self, batch: list[tuple[str, Item, bool]]) -> None:
        last = batch[-1][1].revision
        with self._database:
            for collection, item, deleted in batch:
                if deleted:
                    self._database.execute(_DELETE, (collection, item.namespace, item.name))
                else:
                    row = (collection, item.namespace, item.name, item.revision, item.data)
                    self._database.execute(_PUT, row)
            if last > self._reserved - _RESERVE // 2:
                self._reserved = last + _RESERVE
                self._database.execute(_SET, ("reserved", str(self._reserved)))

    def _tell(self, revision: int, failure: str) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._acknowledge, revision, failure)

    def _acknowledge(self, revision: int, failure: str) -> None:
        self.committed = max(self.committed, revision)
        self.failure = self.failure or failure
        waiting, self._waiting = self._waiting, []
        for wanted, future in waiting:
            if future.done():
                continue
            if wanted <= self.committed or self.failure:
                future.set_result(None)
            else:
                self._waiting.append((wanted, future))


LOCK_SECONDS = 5.0


def _open(path: Path) -> sqlite3.Connection:
    try:
        database = sqlite3.connect(path, timeout=LOCK_SECONDS, check_same_thread=False)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.executescript(_SCHEMA)
    except sqlite3.Error as error:
        raise InputError(f"cannot be used as storage: {error}", where=str(path)) from error
    return database
