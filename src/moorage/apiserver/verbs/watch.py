"""Watch: initial events, changes as they come, bookmarks, the end."""

import asyncio
import random
from collections.abc import AsyncIterator

from moorage.apiserver import status
from moorage.apiserver.history import Change, Follower, Item, encode
from moorage.apiserver.presenting import Presenter, error_line
from moorage.apiserver.registry import ServedKind
from moorage.apiserver.requests import Request
from moorage.apiserver.selectors import Matcher
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.verbs.read import check_not_future, matcher

#: A watcher this many changes behind is let go.
PENDING_LIMIT = 100_000
BOOKMARK_SECONDS = 60.0
_CHUNK = 256 * 1024


class Watch:
    """One watch. Made synchronously, so that nothing is missed between the start and the first change."""

    def __init__(
        self, resource: ServedKind, namespace: str | None, request: Request, presenter: Presenter, name: str = ""
    ) -> None:
        _check_options(request)
        self.presenter = presenter
        self.namespace = namespace
        self.selects = matcher(resource, request, name)
        self.has_bookmarks = request.flag("allowWatchBookmarks")
        self.seconds = request.integer("timeoutSeconds") or random.uniform(1800, 3600)
        self.history = resource.collection.history
        self.store = resource.collection.store
        self.failure: status.Refusal | None = None
        self.initial: list[Item] = []
        self.marks_initial_end = False
        self.missed: list[Change] = []
        self._start(resource, request)
        self.revision = self.store.revision
        self._woken = asyncio.Event()
        self.follower = Follower(self._woken.set, PENDING_LIMIT)
        self.history.follow(self.follower, self.selects.equality)

    def close(self) -> None:
        """Stop following."""
        self.history.leave(self.follower, self.selects.equality)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The lines of the watch, several at once where several wait. Ends with the watch's time."""
        if self.failure is not None:
            yield error_line(self.failure)
            return
        for chunk in self._first_chunks():
            yield chunk
            await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        bookmark_at = loop.time() + BOOKMARK_SECONDS
        while not (self.follower.is_closed and not self.follower.pending):
            remaining = min(end, bookmark_at) - loop.time()
            if remaining <= 0:
                if self.has_bookmarks and not self.follower.pending:
                    yield self.presenter.bookmark(self.store.revision)
                if loop.time() >= end:
                    return
                bookmark_at = loop.time() + BOOKMARK_SECONDS
                continue
            await self._wait(remaining)
            for chunk in self._take():
                yield chunk

    async def _wait(self, seconds: float) -> None:
        if self.follower.pending or self.follower.is_closed:
            return
        self._woken.clear()
        handle = asyncio.get_running_loop().call_later(seconds, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            handle.cancel()

    def _take(self) -> list[bytes]:
        changes = self.follower.take()
        if not changes:
            return []
        lines = [line for change in changes if (line := self._line(change))]
        return _join(lines)

    def _start(self, resource: ServedKind, request: Request) -> None:
        """Decide what the watcher gets first: the state, or the changes since a revision."""
        revision = request.revision()
        wants_initial = request.query.get("sendInitialEvents", "")
        try:
            check_not_future(revision, self.presenter.registry)
        except status.Refusal as error:
            self.failure = error
            return
        if request.flag("sendInitialEvents") or (not revision and not wants_initial):
            items = resource.collection.items(self.namespace)
            self.initial = [item for item in items if self.selects.matches(item)]
            self.marks_initial_end = request.flag("sendInitialEvents") and self.has_bookmarks
        elif revision:
            missed = self.history.since(revision)
            if missed is None:
                text = f"too old resource version: {revision} ({self.history.compacted})"
                self.failure = status.expired(text)
            else:
                self.missed = missed

    def _first_chunks(self) -> list[bytes]:
        lines = [self.presenter.line("ADDED", item) for item in self.initial]
        if self.marks_initial_end:
            lines.append(self.presenter.bookmark(self.revision, ends_initial_events=True))
        lines += [line for change in self.missed if (line := self._line(change))]
        self.initial, self.missed = [], []
        return _join(lines)

    def _line(self, change: Change) -> bytes:
        """The line of a change for this watcher; empty where it does not concern it."""
        item = change.item
        if self.namespace is not None and item.namespace != self.namespace:
            return b""
        if self.selects.is_everything:
            return self._encoded(change, change.type)
        event = _event_type(change, self.selects)
        return self._encoded(change, event) if event else b""

    def _encoded(self, change: Change, event: str) -> bytes:
        key = (event, self.presenter.key)
        line = change.lines.get(key)
        if line is None:
            item = change.item
            if event == "DELETED" and change.type == "MODIFIED":
                item = _leaving(change)
            line = change.lines[key] = self.presenter.line(event, item)
        return line


def _event_type(change: Change, selects: Matcher) -> str:
    """What a change is to those who see only a selection: an object may come into it and go out of it."""
    was_seen = change.previous is not None and selects.matches(change.previous)
    if change.type == "DELETED":
        return "DELETED" if was_seen else ""
    is_seen = selects.matches(change.item)
    if is_seen:
        return "MODIFIED" if was_seen else "ADDED"
    return "DELETED" if was_seen else ""


def _leaving(change: Change) -> Item:
    """An object that leaves a selection: its last selected state, with the version of the change."""
    previous = change.previous
    assert previous is not None, "only an object that was seen can leave"
    obj = previous.decode()
    obj["metadata"]["resourceVersion"] = str(change.item.revision)
    revision, data = change.item.revision, encode(obj)
    return Item(previous.namespace, previous.name, revision, data, previous.labels, previous.fields)


def _join(lines: list[bytes]) -> list[bytes]:
    """Lines in chunks of a reasonable size."""
    chunks: list[bytes] = []
    pending: list[bytes] = []
    size = 0
    for line in lines:
        pending.append(line)
        size += len(line)
        if size >= _CHUNK:
            chunks.append(b"".join(pending))
            pending, size = [], 0
    if pending:
        chunks.append(b"".join(pending))
    return chunks


def _check_options(request: Request) -> None:
    faults = Faults()
    match = request.query.get("resourceVersionMatch", "")
    if "sendInitialEvents" in request.query:
        if match != "NotOlderThan":
            faults.forbidden(
                "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
    elif match:
        faults.forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        )
    if faults:
        raise status.invalid("ListOptions", "meta.k8s.io", "", faults)
