"""Plugins that do wrong before, beside and after scheduling: a class for each, such as StopRaises."""

import asyncio
import time
from typing import Any, ClassVar, Final

from tests.cluster.saboteurs import (
    ASYNC,
    BLOCKED_FOR,
    BLOCKS,
    CANCELLED,
    EXIT,
    JUNK,
    KINDS,
    NAN,
    RAISES,
    RECURSION,
    TYPE,
)

from moorage.framework import EventHint, Handle, Resource, on

INIT, EVENTS, START, SPAWNED, STOP = "`__init__`", "events_to_register", "start", "spawned", "stop"

#: When plugins do wrong things, and those of them that cannot be told from right ones.
MOMENTS: Final[dict[str, tuple[str, ...]]] = {
    INIT: (JUNK,),
    EVENTS: (),
    START: (ASYNC, JUNK),
    SPAWNED: (ASYNC, JUNK),
    STOP: (ASYNC, JUNK),
}

MEANWHILE: Final = 0.3
"""Seconds that go well before somebody blocks."""


def wrong(kind: str) -> Any:
    """Do it; what there is to answer is answered."""
    if kind == RAISES:
        raise KeyError("tide")
    if kind == CANCELLED:
        raise asyncio.CancelledError
    if kind == EXIT:
        raise SystemExit(3)
    if kind == RECURSION:
        return wrong(RECURSION)
    if kind == BLOCKS:
        time.sleep(BLOCKED_FOR)
        return None
    return float("nan") if kind == NAN else 7


class Harmless:
    """Lets everybody in."""

    kind: ClassVar[str]

    def filter(self, _state: Any, _pod: Any, _node: Any) -> None: ...


class Init(Harmless):
    def __init__(self) -> None:
        # Python itself refuses what is answered here.
        return wrong(self.kind)  # type: ignore[no-any-return]


class InitAsync(Harmless):
    async def __init__(self) -> None: ...  # type: ignore[misc]


class Events(Harmless):
    def events_to_register(self) -> Any:
        if self.kind == JUNK:
            return [on(Resource.NODE), EventHint("Node")]  # type: ignore[arg-type]
        said = wrong(self.kind)
        return [] if said is None else said


class EventsAsync(Harmless):
    async def events_to_register(self) -> Any: ...


class Start(Harmless):
    async def start(self) -> None:
        await asyncio.sleep(MEANWHILE if self.kind == BLOCKS else 0)
        wrong(self.kind)


class StartAnswers(Harmless):
    def start(self) -> Any:
        return wrong(self.kind)


class Spawned(Harmless):
    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    async def start(self) -> None:
        self.handle.spawn(wrong(self.kind) if self.kind in (TYPE, NAN) else self.work())

    async def work(self) -> None:
        await asyncio.sleep(MEANWHILE if self.kind == BLOCKS else 0)
        wrong(self.kind)


class Stop(Harmless):
    async def stop(self) -> None:
        wrong(self.kind)


class StopAnswers(Harmless):
    def stop(self) -> Any:
        return wrong(self.kind)


def _base(moment: str, kind: str) -> type:
    match moment, kind:
        case "`__init__`", _:
            return InitAsync if kind == ASYNC else Init
        case "events_to_register", _:
            return EventsAsync if kind == ASYNC else Events
        case "start", _:
            return StartAnswers if kind in (TYPE, NAN) else Start
        case "spawned", _:
            return Spawned
        case _:
            return StopAnswers if kind in (TYPE, NAN) else Stop


def name_of(moment: str, kind: str) -> str:
    """What the class is called."""
    return "".join(part.capitalize() for part in f"{moment} {kind}".replace("_", " ").replace("`", " ").split())


#: By moment and kind.
PLUGINS: Final[dict[tuple[str, str], type]] = {
    (moment, kind): type(name_of(moment, kind), (_base(moment, kind),), {"kind": kind, "__module__": __name__})
    for moment, but in MOMENTS.items()
    for kind in KINDS
    if kind not in but
}
globals().update({one.__name__: one for one in PLUGINS.values()})
