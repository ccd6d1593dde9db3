"""Following a collection, in three nested generators, each with one concern.

`watch_stream`     one HTTP stream: from a version until the server ends it, or silence, or an error.
`list_and_watch`   the whole collection (as a streaming list, or in pages), then stream after stream from where the
                   last one ended; an error ends it, and its `Cursor` remembers the place.
`watch_forever`    begins again after errors, with growing delays; from the start only when the place is lost.

What they yield are batches, one for each piece that came from the network. `Step.LISTING` says that a whole list
begins (again), `Step.LISTED` that it is complete: what was not in between no longer exists.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic

from moorage.errors import ApiError
from moorage.kube.backoff import Backoff
from moorage.kube.decoding import ADDED, Bookmark, Decoder, T, Unreadable, WatchEvent
from moorage.kube.errors import (
    AnswerLost,
    BadAnswer,
    BadRequest,
    DeadlineExceeded,
    Gone,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Silence,
    StatusError,
)
from moorage.kube.transport import Client

logger = logging.getLogger(__name__)

SHORT_WATCH = 1.0
"""Seconds: a stream that ends sooner and brought nothing counts as a failure, lest a broken server be asked in a
tight loop."""

INACTIVITY = 15.0
"""Seconds of silence after which a stream is left for a new connection. Servers send bookmarks about once a minute
only, so most quiet streams are left for nothing: that costs a request, and is how a dead one is noticed at all."""

OPENING = 10.0
"""Seconds in which a server has to begin a stream that goes on where another ended."""

FIRST_DELAY, LONGEST_DELAY = 0.5, 15.0
"""Seconds between tries while the server fails."""

MISSING_DELAY = 3.0
"""Seconds between looks at a server that does not have the collection yet."""


class Step(Enum):
    """Where a whole list begins and ends among the batches."""

    LISTING = "listing"
    LISTED = "listed"


Item = WatchEvent[T] | Unreadable | Bookmark
Batch = Sequence[WatchEvent[T] | Unreadable]
Query = dict[str, str | int]


@dataclass
class Cursor:
    """How far a watch has come. Empty: nowhere, so the collection must be listed."""

    resource_version: str = ""
    streaming: bool = True
    """Ask for streaming lists; turned off for good when the server does not offer them."""


@dataclass(frozen=True)
class Target(Generic[T]):
    """What is watched, and with how much patience (seconds)."""

    path: str
    decoder: Decoder[T]
    selectors: dict[str, str] = field(default_factory=dict)
    page_size: int = 500
    watch_seconds: int = 300
    """Streams end by themselves after between one and two times this, so that many do not end together."""
    inactivity: float = INACTIVITY
    opening: float = OPENING
    list_deadline: float = 60.0
    may_be_missing: bool = False
    """Whether a server that does not have the collection counts as one where it is empty: custom resources, and kinds
    that only some versions of the server have."""
    is_awaited: bool = False
    """Whether such a collection is waited for: it is looked for again, and until then nothing has been listed."""


async def watch_stream(client: Client, target: Target[T], query: Query) -> AsyncGenerator[Sequence[Item[T]], None]:
    """One stream. Ends when the server ends it; raises ApiError when it is cut, silent, or refused.

    The bookmark that ends the initial events of a streaming list is always the last of its batch.
    """
    asked: Query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": int(target.watch_seconds * random.uniform(1.0, 2.0)),
        **target.selectors,
        **query,
    }
    # A little earlier or later, so that many quiet streams do not end together.
    inactivity = target.inactivity * random.uniform(0.8, 1.0)
    opening = None if "sendInitialEvents" in query else target.opening
    async with (
        client.stream(target.path, asked, inactivity=inactivity, deadline=opening) as chunks,
        aclosing(lines(chunks)) as batches,
    ):
        async for batch in batches:
            for part in _decoded(target.decoder, batch):
                yield part


def _decoded(decoder: Decoder[T], batch: list[bytes]) -> Iterator[Sequence[Item[T]]]:
    """What these lines say, cut after the initial events. Raises the ApiError that one of them is, after all before."""
    items: list[Item[T]] = []
    failure: ApiError | None = None
    for line in batch:
        try:
            item = decoder.event(line)
        except ApiError as error:
            failure = error
            break
        items.append(item)
        if isinstance(item, Bookmark) and item.ends_initial_events:
            yield items
            items = []
    if items:
        yield items
    if failure is not None:
        raise failure


async def lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[list[bytes], None]:
    """Whole lines, however long, out of pieces cut anywhere. A last line without its end is dropped: it was cut."""
    rest: list[bytes] = []
    async for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        if not whole:
            rest.append(last)
            continue
        whole[0] = b"".join((*rest, whole[0]))
        rest = [last]
        if batch := [line for line in whole if line and not line.isspace()]:
            yield batch


async def list_and_watch(client: Client, target: Target[T], cursor: Cursor) -> AsyncGenerator[Batch[T] | Step, None]:
    """List unless `cursor` knows a place, then watch on and on. Ends only with an ApiError."""
    if not cursor.resource_version and cursor.streaming:
        async with aclosing(_streaming_list(client, target, cursor)) as streamed:
            async for step in streamed:
                yield step
    if not cursor.resource_version:
        async with aclosing(_list_in_pages(client, target, cursor)) as listed:
            async for step in listed:
                yield step
    loop = asyncio.get_running_loop()
    while True:
        started, anything = loop.time(), False
        followed = _follow(client, target, cursor, {"resourceVersion": cursor.resource_version})
        try:
            async with aclosing(followed):
                async for step in followed:
                    anything = True
                    yield step
        except Silence:
            # Nothing happened, or the connection is dead: only a new one tells which.
            continue
        if not anything and loop.time() - started < SHORT_WATCH:
            raise AnswerLost(f"{target.path}: the server ended the watch at once")


async def _follow(
    client: Client, target: Target[T], cursor: Cursor, query: Query
) -> AsyncGenerator[Batch[T] | Step, None]:
    """One stream, with `cursor` kept where it is. Initial events move it only when they are complete."""
    async with aclosing(watch_stream(client, target, query)) as batches:
        async for batch in batches:
            last = batch[-1]
            if events := [item for item in batch if not isinstance(item, Bookmark)]:
                yield events
            if isinstance(last, Bookmark) and last.ends_initial_events:
                cursor.resource_version = last.resource_version
                yield Step.LISTED
            elif cursor.resource_version:
                version = (
                    last.object.metadata.resource_version if isinstance(last, WatchEvent) else last.resource_version
                )
                cursor.resource_version = version or cursor.resource_version


async def _streaming_list(client: Client, target: Target[T], cursor: Cursor) -> AsyncGenerator[Batch[T] | Step, None]:
    """A watch that begins with all there is. Leaves `cursor` empty, and says so in it, where that is not offered."""
    query: Query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "resourceVersion": ""}
    yield Step.LISTING
    refusal: ApiError | None = None
    try:
        async with aclosing(_follow(client, target, cursor, query)) as followed:
            async for step in followed:
                yield step
    except (BadRequest, Invalid, MethodNotAllowed, DeadlineExceeded) as error:
        if cursor.resource_version and isinstance(error, Silence):
            # The list was complete; from there it goes on as after any silence.
            return
        if cursor.resource_version:
            raise
        refusal = error
    if not cursor.resource_version:
        logger.debug("%s: no streaming lists here, listing in pages: %s", target.path, refusal)
        cursor.streaming = False


async def _list_in_pages(client: Client, target: Target[T], cursor: Cursor) -> AsyncGenerator[Batch[T] | Step, None]:
    """The collection, page by page. A page whose token has expired begins it again; the third time, in one piece."""
    for page_size in (target.page_size, target.page_size, 0):
        yield Step.LISTING
        continue_token = ""
        try:
            while True:
                query: Query = dict(target.selectors)
                if page_size:
                    query["limit"] = page_size
                if continue_token:
                    query["continue"] = continue_token
                page = target.decoder.page(await client.get(target.path, query, deadline=target.list_deadline))
                yield [item if isinstance(item, Unreadable) else WatchEvent(ADDED, item) for item in page.items]
                continue_token = page.continue_token
                if not continue_token:
                    cursor.resource_version = page.resource_version
                    yield Step.LISTED
                    return
        except Gone as error:
            if not continue_token:
                raise
            logger.info("%s: the list changed under our hands, listing again: %s", target.path, error)


async def watch_forever(
    client: Client,
    target: Target[T],
    *,
    cursor: Cursor | None = None,
    backoff: Backoff | None = None,
) -> AsyncGenerator[Batch[T] | Step, None]:
    """List and watch, whatever happens to the server. Never ends by itself."""
    cursor = cursor or Cursor()
    backoff = backoff or Backoff(FIRST_DELAY, LONGEST_DELAY)
    is_missing = was_listed = False
    while True:
        try:
            async with aclosing(list_and_watch(client, target, cursor)) as steps:
                async for step in steps:
                    # A list that begins has only been asked for: everything else is an answer.
                    if step is not Step.LISTING:
                        backoff.reset()
                        client.troubles.passed(target.path)
                        if is_missing:
                            logger.info("%s: served now", target.path)
                            is_missing = False
                    was_listed = was_listed or step is Step.LISTED
                    yield step
        except (Gone, BadAnswer) as error:
            logger.info("%s: the watch lost its place, listing again: %s", target.path, error)
            cursor.resource_version = ""
            failure: ApiError = error
        except ApiError as error:
            failure = error
            if target.may_be_missing and isinstance(error, NotFound):
                cursor.resource_version = ""
                if not is_missing:
                    is_missing = True
                    if target.is_awaited and not was_listed:
                        logger.warning("%s: not served here: nothing is scheduled until it is", target.path)
                    else:
                        logger.warning("%s: not served here: left out until it is", target.path)
                        yield Step.LISTING
                        yield Step.LISTED
            elif told := client.troubles.failed(target.path, error):
                logger.warning("%s", told)
        asked = failure.retry_after if isinstance(failure, StatusError) else None
        await asyncio.sleep(MISSING_DELAY if is_missing else backoff.next(asked))
