"""What becomes of gangs when binds fail, processes die and leaders change: whole ones, or parts that are told of."""

import asyncio
import json
from collections.abc import Callable, Mapping

import pytest
from aiohttp import web
from tests.cluster.faulty_server import Fault, failure
from tests.cluster.gangs.places import Place
from tests.cluster.gangs.test_scheduler_gangs import PATIENCE, are_whole

TOLD = 5.0
"""Seconds within which it is said which members run alone."""
HALF_BOUND = "moorage.dev/half-bound"


def only_first(binds: int) -> Callable[[web.Request], Fault | None]:
    """Let so many binds through; whoever asks for more is not heard."""
    left = binds

    def rule(request: web.Request) -> Fault | None:
        nonlocal left
        if request.method != "POST" or not request.path.endswith("/binding"):
            return None
        left -= 1
        return None if left >= 0 else Fault.DROPPED

    return rule


async def torn(place: Place, annotations: Mapping[str, str] | None = None) -> None:
    """A gang of 8 of which 3 are bound, and a scheduler that died over it."""
    await place.nodes(4, cpu=2)
    await place.start(may_fail=True)
    place.faults.rules.append(only_first(3))
    await place.gang("g", 8, annotations=annotations)
    assert await place.watcher.until(lambda: len(place.watcher.gangs["g"].bound) == 3, PATIENCE) is not None
    place.kill()


async def said_of(place: Place, gang: str) -> str:
    """All that the group, its members and events say."""
    group = await place.group(gang)
    events = await place.events(gang, *place.watcher.gangs[gang].members)
    conditions = group.get("status", {}).get("conditions", [])
    return json.dumps([conditions, [event.get("note", "") for event in events]])


async def is_told(place: Place, gang: str) -> None:
    """Wait until it is said that members run alone, and which: in the group's conditions and in events."""
    members = sorted(place.watcher.gangs[gang].bound)
    said = ""
    for _ in range(int(TOLD / 0.25) + 8):
        said = await said_of(place, gang)
        if "alone" in said and all(name in said for name in members):
            return
        await asyncio.sleep(0.25)
    raise AssertionError(f"{members} run alone, and it is said: {said}\n{place.log()[-3000:]}")


async def test_a_torn_gang_is_made_whole_after_a_restart(place: Place) -> None:
    await torn(place)
    # Somebody who could take the freed room waits, too: the gang comes first.
    await place.gang("other", 4)
    await place.start()
    gang = place.watcher.gangs["g"]
    took = await place.watcher.until(lambda: bool(gang.whole_at), PATIENCE)
    assert took is not None, f"{place.watcher.refusals}\n{place.log()[-3000:]}"
    assert not place.watcher.gangs["other"].bound


async def test_a_torn_gang_whose_room_is_taken_is_told_of_and_kept(place: Place) -> None:
    await torn(place)
    taken = await take_what_is_free(place)
    await place.start()
    await is_told(place, "g")
    assert len(place.watcher.gangs["g"].bound) == 3
    for name in taken:
        await place.delete_pod(name)
    took = await place.watcher.until(lambda: bool(place.watcher.gangs["g"].whole_at), PATIENCE)
    assert took is not None, f"{place.watcher.refusals}\n{place.log()[-3000:]}"


async def test_a_torn_gang_whose_room_is_taken_goes_where_it_asks_for_that(place: Place) -> None:
    await torn(place, {HALF_BOUND: "Delete"})
    await take_what_is_free(place)
    await place.start()
    gang = place.watcher.gangs["g"]
    assert await place.watcher.until(lambda: not gang.bound, PATIENCE) is not None, place.log()[-3000:]
    assert not gang.whole_at


async def take_what_is_free(place: Place) -> list[str]:
    """Fill every slot that no member has, past the scheduler."""
    pods = json.loads(await place.client.get("/api/v1/namespaces/default/pods"))["items"]
    used = [pod["spec"].get("nodeName") for pod in pods]
    taken = []
    for number in range(4):
        node = f"node-{number}"
        for slot in range(2 - used.count(node)):
            await place.singles(f"taker-{number}-{slot}", 1, node=node)
            taken.append(f"taker-{number}-{slot}-0")
    return taken


@pytest.mark.parametrize("answer", [failure(500, "InternalError"), failure(403, "Forbidden"), Fault.ANSWER_LOST])
async def test_one_error_at_the_seventh_of_eight_binds_delays_the_gang_and_no_more(
    place: Place, answer: Fault | web.Response
) -> None:
    await place.nodes(4, cpu=2)
    await place.start(may_fail=True)
    place.faults.fail("POST", "/g-6/binding", answer, times=1)
    await place.gang("g", 8)
    await are_whole(place, 1)


async def test_a_bind_refused_for_long_is_told_of_and_the_gang_whole_when_it_is_let(place: Place) -> None:
    await place.nodes(4, cpu=2)
    await place.start(may_fail=True)
    place.faults.fail("POST", "/g-6/binding", failure(403, "Forbidden", "no such luck"), times=10**9)
    await place.gang("g", 8)
    gang = place.watcher.gangs["g"]
    assert await place.watcher.until(lambda: len(gang.bound) == 7, PATIENCE) is not None
    await is_told(place, "g")
    assert "no such luck" in await said_of(place, "g")
    place.faults.rules.clear()
    took = await place.watcher.until(lambda: bool(gang.whole_at), PATIENCE)
    assert took is not None, f"{place.watcher.refusals}\n{place.log()[-3000:]}"


async def test_a_bind_refused_for_long_takes_the_gang_along_where_it_asks_for_that(place: Place) -> None:
    await place.nodes(4, cpu=2)
    await place.start(may_fail=True)
    place.faults.fail("POST", "/g-6/binding", failure(403, "Forbidden", "no such luck"), times=10**9)
    await place.gang("g", 8, annotations={HALF_BOUND: "Delete"})
    gang = place.watcher.gangs["g"]
    await place.watcher.until(lambda: len(gang.bound) >= 6, PATIENCE)
    assert await place.watcher.until(lambda: not gang.bound, PATIENCE) is not None, place.log()[-3000:]


async def test_a_waiting_gang_outlives_a_restart(place: Place) -> None:
    await place.nodes(2, cpu=2)
    await place.start()
    await place.gang("g", 8)
    await place.watcher.until(lambda: len(place.watcher.refusals) == 8, PATIENCE)
    place.kill()
    await place.nodes(2, cpu=2, prefix="more")
    await place.start()
    await are_whole(place, 1)


async def test_a_change_of_leader_between_decision_and_binds_ends_in_a_whole_gang(place: Place) -> None:
    await place.nodes(4, cpu=2)
    await place.start(may_fail=True, elect=True)
    place.faults.rules.append(only_first(3))
    await place.gang("g", 8)
    gang = place.watcher.gangs["g"]
    assert await place.watcher.until(lambda: len(gang.bound) == 3, PATIENCE) is not None
    place.pause()
    await place.start(elect=True)  # its own way to the API server: nothing is in its way
    took = await place.watcher.until(lambda: bool(gang.whole_at), PATIENCE)
    assert took is not None, f"{place.watcher.refusals}\n{place.log()[-3000:]}"
    place.faults.rules.clear()
    place.resume()
    await asyncio.sleep(2)
    assert len(gang.bound) == 8
