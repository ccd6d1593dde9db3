"""List pages and watch events into Structs, in one pass.

The usual object decodes straight from the answer's bytes. When that fails, the slower way looks at what is wrong:
an object that cannot be decoded becomes an `Unreadable` item, which names it and its field, so that one bad object
stops nothing else.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from moorage.errors import ObjectError
from moorage.kube.errors import BadAnswer, StatusBody, error_of_status
from moorage.objects import KubeObject, decode

T = TypeVar("T", bound=KubeObject)

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
BOOKMARK, ERROR = "BOOKMARK", "ERROR"

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the list part of a streaming list."""


class WatchEvent(msgspec.Struct, Generic[T]):
    """An object was ADDED, MODIFIED or DELETED (then `object` is its last state)."""

    type: str
    object: T


class Bookmark(msgspec.Struct):
    """The watch has got as far as `resource_version`; nothing changed."""

    resource_version: str
    ends_initial_events: bool


class Unreadable(msgspec.Struct):
    """An object that does not decode. Its last readable state, if one is known, stays good until it is DELETED."""

    type: str
    namespace: str
    name: str
    resource_version: str
    error: ObjectError


class Page(msgspec.Struct, Generic[T]):
    """One page of a list. `continue_token` is empty on the last one."""

    items: Sequence[T | Unreadable]
    resource_version: str
    continue_token: str


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")


class _ListOf(msgspec.Struct, Generic[T]):
    metadata: _ListMeta
    items: list[T] | None = None


class _RawList(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _LooseMeta(msgspec.Struct, rename="camel"):
    """Metadata of which nothing is expected."""

    name: Any = ""
    namespace: Any = ""
    resource_version: Any = ""
    annotations: Any = None


class _LooseObject(msgspec.Struct):
    metadata: _LooseMeta = msgspec.field(default_factory=_LooseMeta)


class Decoder(Generic[T]):
    """Decodes lists and watch events of one kind.

    `keep` is shown each object that decodes with the whole of its text, of which the kind has only what it reads.
    """

    def __init__(self, kind: type[T], keep: Callable[[T, msgspec.Raw], None] | None = None) -> None:
        self._kind = kind
        self._keep = keep
        self._event: msgspec.json.Decoder[WatchEvent[T]] = msgspec.json.Decoder(WatchEvent[kind])  # type: ignore[valid-type]
        self._list: msgspec.json.Decoder[_ListOf[T]] = msgspec.json.Decoder(_ListOf[kind])  # type: ignore[valid-type]

    def page(self, body: bytes) -> Page[T]:
        """One page of a list. Raises BadAnswer when it is no list at all."""
        if self._keep is not None:
            return self._page_item_by_item(body)
        try:
            answer = self._list.decode(body)
            return Page(answer.items or [], answer.metadata.resource_version, answer.metadata.continue_token)
        except msgspec.ValidationError:
            return self._page_item_by_item(body)
        except msgspec.DecodeError as error:
            raise BadAnswer(f"a list of {self._kind.KIND} that is not JSON: {error}") from error

    def _page_item_by_item(self, body: bytes) -> Page[T]:
        try:
            answer = msgspec.json.decode(body, type=_RawList)
        except msgspec.DecodeError as error:
            raise BadAnswer(f"not a list of {self._kind.KIND}: {error}") from error
        items = [self._object(ADDED, raw) for raw in answer.items or ()]
        return Page(items, answer.metadata.resource_version, answer.metadata.continue_token)

    def event(self, line: bytes) -> WatchEvent[T] | Bookmark | Unreadable:
        """One line of a watch. Raises the StatusError that an ERROR event holds."""
        if self._keep is not None:
            return self._special_event(line)
        try:
            event = self._event.decode(line)
            if event.type in (ADDED, MODIFIED, DELETED):
                return event
        except msgspec.ValidationError:
            # An ERROR or BOOKMARK that lacks what the kind requires, or a malformed object: told apart below.
            pass
        except msgspec.DecodeError as error:
            raise BadAnswer(f"a watch event of {self._kind.KIND} that is not JSON: {error}") from error
        return self._special_event(line)

    def _special_event(self, line: bytes) -> WatchEvent[T] | Bookmark | Unreadable:
        try:
            event = msgspec.json.decode(line, type=_RawEvent)
            if event.type == ERROR:
                raise error_of_status(msgspec.json.decode(event.object, type=StatusBody))
        except msgspec.DecodeError as error:
            raise BadAnswer(f"not a watch event of {self._kind.KIND}: {error}") from error
        if event.type == BOOKMARK:
            meta = _loose_metadata(event.object)
            annotations = meta.annotations if isinstance(meta.annotations, dict) else {}
            return Bookmark(_text(meta.resource_version), annotations.get(INITIAL_EVENTS_END) == "true")
        item = self._object(event.type, event.object)
        return item if isinstance(item, Unreadable) else WatchEvent(event.type, item)

    def _object(self, event_type: str, raw: msgspec.Raw) -> T | Unreadable:
        try:
            item = decode(bytes(raw), self._kind)
            if self._keep is not None:
                self._keep(item, raw)
            return item
        except ObjectError as error:
            meta = _loose_metadata(raw)
            namespace, name = _text(meta.namespace), _text(meta.name)
            called = f"{namespace}/{name}" if namespace else name or "without a name"
            where = f"{self._kind.KIND} {called}" + (f": {error.where}" if error.where else "")
            return Unreadable(
                event_type, namespace, name, _text(meta.resource_version), ObjectError(error.problem, where=where)
            )


def _loose_metadata(raw: msgspec.Raw) -> _LooseMeta:
    try:
        return msgspec.json.decode(raw, type=_LooseObject).metadata
    except msgspec.DecodeError:
        return _LooseMeta()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
