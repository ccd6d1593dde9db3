"""Objects at one revision, the changes of one collection in order, and those who follow them."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

Json = dict[str, Any]
Key = tuple[str, str]

_decoder = msgspec.json.Decoder()
#: JSON bytes of an object.
encode = msgspec.json.Encoder().encode


class Item:
    """One object at one revision. Never changed in place: a write makes a new item."""

    __slots__ = ("data", "fields", "labels", "name", "namespace", "revision")

    def __init__(
        self, namespace: str, name: str, revision: int, data: bytes, labels: dict[str, str], fields: tuple[str, ...]
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.revision = revision
        self.data = data
        self.labels = labels
        self.fields = fields

    def decode(self) -> Json:
        """The object as fresh dicts: the caller's own."""
        obj: Json = _decoder.decode(self.data)
        return obj

    @property
    def key(self) -> Key:
        """Namespace (empty for cluster-wide objects) and name."""
        return (self.namespace, self.name)


class Change:
    """One change: ADDED, MODIFIED or DELETED, the object then and before. Lines are encoded once for all watchers."""

    __slots__ = ("item", "lines", "previous", "type")

    def __init__(self, kind: str, item: Item, previous: Item | None) -> None:
        self.type = kind
        self.item = item
        self.previous = previous
        self.lines: dict[object, bytes] = {}


class Follower:
    """What a watcher sees of a history: the changes not yet taken, and whether the history let it go.

    `wake` is called when something is there to take after nothing was."""

    __slots__ = ("is_closed", "limit", "pending", "wake")

    def __init__(self, wake: Callable[[], None], limit: int) -> None:
        self.wake = wake
        self.limit = limit
        self.pending: list[Change] = []
        self.is_closed = False

    def take(self) -> list[Change]:
        """Everything that waits, in order."""
        taken = self.pending
        self.pending = []
        return taken

    def offer(self, change: Change) -> None:
        """Add a change; a follower that is too far behind is let go, and its client starts anew."""
        if len(self.pending) >= self.limit:
            self.close()
            return
        self.pending.append(change)
        if len(self.pending) == 1:
            self.wake()

    def close(self) -> None:
        """Let the follower go: what is pending is still its own, nothing more comes."""
        self.is_closed = True
        self.wake()


class History:
    """A ring of the latest changes. `compacted` is the last revision that can no longer be told apart."""

    def __init__(self, revision: int, limit: int) -> None:
        self.compacted = revision
        self.limit = limit
        self._changes: deque[Change] = deque()
        self._followers: set[Follower] = set()
        self._keyed: dict[tuple[int, str], set[Follower]] = {}
        self._keyed_fields: dict[int, int] = {}

    def append(self, change: Change) -> None:
        """Remember a change and hand it to the followers it may concern."""
        changes = self._changes
        if len(changes) >= self.limit:
            self.compacted = changes.popleft().item.revision
        changes.append(change)
        for follower in self._followers:
            follower.offer(change)
        for position in self._keyed_fields:
            self._offer_keyed(position, change)

    def since(self, revision: int) -> list[Change] | None:
        """The changes after a revision, or None where the ring no longer reaches back that far."""
        if revision < self.compacted:
            return None
        changes = self._changes
        if not changes or changes[-1].item.revision <= revision:
            return []
        start = bisect_right(changes, revision, key=lambda change: change.item.revision)
        return [changes[position] for position in range(start, len(changes))]

    def before(self, revision: int) -> dict[Key, Item | None]:
        """For each object changed after the revision, what it was at that revision (None: not there)."""
        past: dict[Key, Item | None] = {}
        for change in reversed(self._changes):
            if change.item.revision <= revision:
                break
            past[change.item.key] = change.previous
        return past

    def follow(self, follower: Follower, field: tuple[int, str] | None = None) -> None:
        """Send changes from now on; with `field` (position, value) only those whose field has or had that value."""
        if field is None:
            self._followers.add(follower)
            return
        self._keyed.setdefault(field, set()).add(follower)
        self._keyed_fields[field[0]] = self._keyed_fields.get(field[0], 0) + 1

    def leave(self, follower: Follower, field: tuple[int, str] | None = None) -> None:
        """Stop sending changes."""
        if field is None:
            self._followers.discard(follower)
            return
        self._keyed[field].discard(follower)
        if not self._keyed[field]:
            del self._keyed[field]
        self._keyed_fields[field[0]] -= 1
        if not self._keyed_fields[field[0]]:
            del self._keyed_fields[field[0]]

    def close(self) -> None:
        """Let every follower go."""
        for follower in (*self._followers, *(f for group in self._keyed.values() for f in group)):
            follower.close()

    def _offer_keyed(self, position: int, change: Change) -> None:
        value = change.item.fields[position]
        for follower in self._keyed.get((position, value), ()):
            follower.offer(change)
        if change.previous is not None and change.previous.fields[position] != value:
            for follower in self._keyed.get((position, change.previous.fields[position]), ()):
                follower.offer(change)
