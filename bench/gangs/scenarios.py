"""The rows: what is done to a scheduler, and what is asked of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from tests.cluster.faulty_server import failure
from tests.cluster.gangs.places import Place

PATIENCE = 60.0
"""Seconds after which it is given up that something comes to be."""

WAITING = 75.0
"""Seconds for which a gang that cannot fit is watched."""


@dataclass(frozen=True)
class Outcome:
    """What came of one scenario. `seconds` is None where it was not reached; `said` is what else is of note."""

    seconds: float | None
    cpu: float = 0.0
    attempts: int = 0
    #: The longest time that a part of a gang was alone; how many are at the end, or when that was looked at.
    alone: float = 0.0
    left_alone: int = 0
    said: str = ""
    #: Whether people were told which members run alone; how many members are bound; pods in all.
    is_told: bool = False
    bound: int = 0
    pods: int = 0
    #: CPU seconds for each pod that was bound while CPU was counted: a scheduler may begin before it says it is ready.
    cpu_a_pod: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """One row."""

    name: str
    title: str
    #: What is played, in turns where there are several.
    plays: tuple[Callable[[Place], Awaitable[Outcome]], ...]
    #: Those of one wave wait more than they do: they are played beside each other, for all schedulers. "" for none.
    wave: str = ""


async def two_gangs(place: Place) -> Outcome:
    """Two gangs of 8 with room for one, for 5 s after the first is whole."""
    await place.nodes(4, cpu=2)
    await place.start()
    gangs = place.watcher.gangs
    await place.gang("a", 8)
    await place.gang("b", 8)
    took = await place.watcher.until(lambda: any(gang.whole_at for gang in gangs.values()), PATIENCE)
    place.begin()
    await asyncio.sleep(5)
    whole = sum(bool(gang.whole_at) for gang in gangs.values())
    return _outcome(place, took, f"{whole} whole")


async def sixty_gangs(place: Place) -> Outcome:
    """60 gangs of 5 on 150 slots, each deleted 3 s after it runs."""
    await place.nodes(15, cpu=10)
    await place.start()
    started = time.monotonic()
    gangs = place.watcher.gangs
    for number in range(60):
        await place.gang(f"g{number}", 5)

    async def end(name: str) -> None:
        await place.watcher.until(lambda: bool(gangs[name].whole_at), PATIENCE)
        await asyncio.sleep(max(0.0, gangs[name].whole_at + 3 - time.monotonic()) if gangs[name].whole_at else 0)
        await place.delete_gang(name)

    await asyncio.gather(*(end(name) for name in list(gangs)))
    whole = [gang.whole_at for gang in gangs.values() if gang.whole_at]
    took = max(whole) - started if len(whole) == len(gangs) else None
    return _outcome(place, took, f"{len(whole)} of 60 ran")


async def behind_a_large_one(place: Place) -> Outcome:
    """A gang of 50 on 45 slots, and 20 gangs of 2 behind it."""
    await place.nodes(9, cpu=5)
    await place.start()
    await place.gang("large", 50)
    await asyncio.sleep(1)
    started = time.monotonic()
    for number in range(20):
        await place.gang(f"small{number}", 2)
    small = [gang for name, gang in place.watcher.gangs.items() if name != "large"]
    took = await place.watcher.until(lambda: all(gang.whole_at for gang in small), PATIENCE + 10)
    last = max(gang.whole_at for gang in small) - started if took is not None else None
    return _outcome(place, last, f"{sum(bool(gang.whole_at) for gang in small)} of 20 small ones ran")


async def one_short(place: Place) -> Outcome:
    """A gang of 1,000 with room for 999: CPU while it waits; then a node comes."""
    await place.nodes(27, cpu=37)
    await place.start()
    await place.gang("big", 1000)
    gang = place.watcher.gangs["big"]
    await asyncio.sleep(WAITING)
    waiting, attempts, bound = place.cpu(), place.attempts(), len(gang.bound)
    await place.nodes(1, cpu=4, prefix="more")
    took = await place.watcher.until(lambda: bool(gang.whole_at), 30)
    said = f"{bound} bound while it waited; whole after the node came" if took is not None else "never whole"
    watcher = place.watcher
    return Outcome(took, waiting, attempts, watcher.longest_alone(), watcher.alone_now(), said, bound=bound)


async def killed(place: Place) -> Outcome:
    """kill -9 in the middle of 300 binds, some of the freed room taken by others; then started again."""
    await place.nodes(30, cpu=10)
    # So that there is a middle of them: else they are all out in no time.
    await place.start(qps=200, burst=20)
    making = asyncio.create_task(place.gang("torn", 300))
    gangs = place.watcher.gangs
    await place.watcher.until(lambda: "torn" in gangs and len(gangs["torn"].bound) >= 30, PATIENCE)
    place.kill()
    await making
    gang = gangs["torn"]
    await asyncio.sleep(1)
    bound, takers = len(gang.bound), 12
    await place.singles("taker", takers, node="node-29")
    await place.start()
    await place.watcher.until(lambda: bool(gang.whole_at) or not gang.bound, 10)
    left = place.watcher.alone_now()
    told = await _told(place, "torn") if left else ""
    freed = time.monotonic()
    await _free(place, "taker", takers)
    healed = await place.watcher.until(lambda: bool(gang.whole_at) or not gang.bound, 30)
    took = time.monotonic() - freed if healed is not None else None
    said = f"killed at {bound}; {left} alone after 10 s; {told or 'nothing told'}"
    return replace(_outcome(place, took, said, left_alone=left), is_told=bool(told))


def refused_bind(seconds: float) -> Callable[[Place], Awaitable[Outcome]]:
    """The bind of one of 8 is refused for so long."""

    async def play(place: Place) -> Outcome:
        return await _refused_bind(place, seconds)

    return play


async def _refused_bind(place: Place, seconds: float) -> Outcome:
    await place.nodes(4, cpu=4)
    await place.start(may_fail=True)
    place.faults.fail("POST", "/g-6/binding", failure(500, "InternalError", "no such luck"), times=10**9)
    await place.gang("g", 8)
    gang = place.watcher.gangs["g"]
    await asyncio.sleep(seconds)
    left, told = place.watcher.alone_now(), await _told(place, "g")
    place.faults.rules.clear()
    took = await place.watcher.until(lambda: bool(gang.whole_at), 30)
    said = f"{left} alone after {seconds:.0f} s; {told or 'nothing told'}"
    return replace(_outcome(place, took, said, left_alone=left), is_told=bool(told))


async def resubmitted(place: Place) -> Outcome:
    """A gang of 10 ends, its room shrinks by a slot, it is made again: how many are bound after 5 s."""
    await place.nodes(10, cpu=1)
    await place.start()
    await place.gang("again", 10)
    gang = place.watcher.gangs["again"]
    await place.watcher.until(lambda: bool(gang.whole_at), PATIENCE)
    await place.delete_gang("again")
    await place.watcher.until(lambda: not gang.members, PATIENCE)
    await place.singles("taker", 1, node="node-0")
    pods = place.watcher.expect("again", 10)
    await place.members("again", 10)
    place.begin()
    await asyncio.sleep(5)
    return replace(_outcome(place, 5.0, f"{len(pods.bound)} of 10 bound"), bound=len(pods.bound))


def in_gangs_of(size: int) -> Scenario:
    """2,048 pods in gangs of a size, or single ones, on 1,000 nodes."""

    async def play(place: Place) -> Outcome:
        await place.nodes(1000, cpu=4)
        return await _throughput(place, [(f"g{number}", size) for number in range(2048 // size)])

    return Scenario(f"of{size}", f"2,048 pods in gangs of {size}" if size > 1 else "2,048 single pods", (play,))


async def many_gangs(place: Place) -> Outcome:
    """1,000 pods in gangs of 10 on 1,000 nodes."""
    await place.nodes(1000, cpu=4)
    return await _throughput(place, [(f"g{number}", 10) for number in range(100)])


async def single_pods(place: Place) -> Outcome:
    """1,000 single pods on 1,000 nodes."""
    await place.nodes(1000, cpu=4)
    return await _throughput(place, [(f"s{number}", 1) for number in range(1000)])


async def hundred_gangs(place: Place) -> Outcome:
    """100 gangs of 10 on 5,000 nodes."""
    await place.nodes(5000, cpu=4)
    return await _throughput(place, [(f"g{number}", 10) for number in range(100)])


async def five_thousand(place: Place) -> Outcome:
    """One gang of 5,000 on 5,000 nodes; beside it a client that only binds."""
    await place.nodes(5000, cpu=4)
    outcome = await _throughput(place, [("huge", 5000)])
    place.end()
    bare = await place.bind_only("bare", 5000)
    return replace(outcome, said=f"{outcome.said}; a client that only binds needs {bare:.1f} s")


async def _throughput(place: Place, gangs: list[tuple[str, int]]) -> Outcome:
    """Drain what waits for a scheduler that starts: seconds from the first bind to the last."""
    watcher, total = place.watcher, sum(size for _, size in gangs)
    if all(size == 1 for _, size in gangs):
        await place.singles("single", total)
    else:
        for name, size in gangs:
            await place.gang(name, size)
    await place.start()
    await watcher.until(lambda: len(watcher.bound_at) >= total, PATIENCE)
    if len(watcher.bound_at) < total:
        return _outcome(place, None, f"{len(watcher.bound_at)} of {total} bound")
    times = watcher.bound_at.values()
    took = max(times) - min(times)
    each = place.cpu() / max(1, sum(bound > place.begun for bound in times))
    said = f"{total / took:,.0f} pods/s, {each * 1e6:,.0f} us of CPU a pod"
    return replace(_outcome(place, took, said), pods=total, cpu_a_pod=each)


def _outcome(place: Place, seconds: float | None, said: str, *, left_alone: int | None = None) -> Outcome:
    watcher = place.watcher
    left = watcher.alone_now() if left_alone is None else left_alone
    return Outcome(seconds, place.cpu(), place.attempts(), watcher.longest_alone(), left, said)


async def _told(place: Place, gang: str) -> str:
    """What is said of members that run alone, in the group's condition; "" where nobody says anything."""
    conditions = (await place.group(gang)).get("status", {}).get("conditions", [])
    alone = [one["message"] for one in conditions if one["type"] == "HalfBound" and one["status"] == "True"]
    return alone[0] if alone else ""


async def _free(place: Place, prefix: str, count: int) -> None:
    for number in range(count):
        await place.delete_pod(f"{prefix}-{number}")


#: Not one time for all: who tries again at fixed times would be met, or missed, by chance.
REFUSALS = tuple(refused_bind(seconds) for seconds in (11.0, 13.0, 15.0))

SCENARIOS = (
    Scenario("two", "two gangs of 8, room for one, 5 s", (two_gangs,), wave="a"),
    Scenario("short", "a gang of 1,000, one slot short; then a node comes", (one_short,), wave="a"),
    Scenario("refused", "one bind of 8 refused for 11, 13, 15 s", REFUSALS, wave="a"),
    Scenario("behind", "a gang of 50 on 45 slots, 20 gangs of 2 behind it", (behind_a_large_one,), wave="b"),
    Scenario("again", "a gang of 10 made again, one slot short, 5 s", (resubmitted,), wave="b"),
    Scenario("killed", "kill -9 in the middle of 300 binds, some of the room taken", (killed,), wave="c"),
    Scenario("sixty", "60 gangs of 5 on 150 slots, each deleted 3 s after it runs", (sixty_gangs,)),
    Scenario("gangs", "1,000 pods in gangs of 10, 1,000 nodes", (many_gangs,)),
    Scenario("singles", "1,000 single pods, 1,000 nodes", (single_pods,)),
)
"""The rows of the table in docs/gangs.md that are played for every scheduler."""

LARGE = (
    Scenario("hundred", "100 gangs of 10, 5,000 nodes", (hundred_gangs,)),
    Scenario("huge", "one gang of 5,000, 5,000 nodes", (five_thousand,)),
)
"""Those that are played for ours alone."""

SIZES = tuple(in_gangs_of(size) for size in (1, 8, 64, 512))
"""Throughput by size of gang, for `make bench`."""
