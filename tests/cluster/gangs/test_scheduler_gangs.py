"""Gangs on an API server, watched on every event: whole or absent, in time, in both APIs."""

import asyncio

import pytest
from tests.cluster.conftest import EMBEDDED, REAL, choice
from tests.cluster.gangs.places import CONTESTANTS, Ground, Place

from moorage.controllers.definitions import POD_GROUPS, ensure_served

PATIENCE = 60.0
ALONE = 5.0
"""Seconds that a part of a gang may be alone, at most."""


def whole(place: Place) -> int:
    return sum(bool(gang.whole_at) for gang in place.watcher.gangs.values())


async def are_whole(place: Place, count: int, patience: float = PATIENCE) -> None:
    """Wait for so many whole gangs; meanwhile and in the end no part of any is alone."""
    took = await place.watcher.until(lambda: whole(place) >= count, patience)
    assert took is not None, f"{whole(place)} of {count} are whole: {place.watcher.refusals}\n{place.log()[-4000:]}"
    assert place.watcher.longest_alone() <= ALONE
    assert place.watcher.alone_now() == 0


async def test_of_two_gangs_with_room_for_one_the_first_runs_and_then_the_second(place: Place) -> None:
    await place.nodes(4, cpu=2)
    await place.start()
    await place.gang("a", 8)
    await place.gang("b", 8)
    await are_whole(place, 1)
    await asyncio.sleep(2)
    place.begin()
    await asyncio.sleep(3)
    assert place.attempts() == 0, "nothing has changed: there is nothing to try"
    first, second = sorted(place.watcher.gangs, key=lambda name: not place.watcher.gangs[name].whole_at)
    assert not place.watcher.gangs[second].bound
    await place.delete_gang(first)
    await are_whole(place, 2)


async def test_a_waiting_gang_says_why_with_each_of_its_members(place: Place) -> None:
    await place.nodes(2, cpu=3)
    await place.start()
    await place.gang("g", 8)
    told = await place.watcher.until(lambda: len(place.watcher.refusals) == 8, PATIENCE)
    assert told is not None, place.watcher.refusals
    for said in place.watcher.refusals.values():
        assert "0/2 nodes are available: 2 Insufficient cpu." in said
    assert not place.watcher.gangs["g"].bound


async def test_sixty_gangs_take_turns_on_a_small_cluster(place: Place) -> None:
    await place.nodes(15, cpu=4)
    await place.start()
    gangs = place.watcher.gangs
    for number in range(60):
        await place.gang(f"g{number}", 5)

    async def end(name: str) -> None:
        await place.watcher.until(lambda: bool(gangs[name].whole_at), PATIENCE * 2)
        await asyncio.sleep(0.3)
        await place.delete_gang(name)

    await asyncio.gather(*(end(name) for name in list(gangs)))
    await are_whole(place, 60)


async def test_a_hundred_gangs_of_ten_are_placed_as_gangs(place: Place) -> None:
    await place.nodes(100, cpu=10)
    await place.start()
    for number in range(100):
        await place.gang(f"g{number}", 10)
    await are_whole(place, 100, PATIENCE * 2)


async def test_small_gangs_do_not_wait_behind_one_that_lacks_room(place: Place) -> None:
    await place.nodes(4, cpu=5)
    await place.start()
    await place.gang("large", 30)
    for number in range(10):
        await place.gang(f"small{number}", 2)
    await are_whole(place, 10)
    assert not place.watcher.gangs["large"].bound


async def test_a_gang_is_tried_when_its_last_member_comes(place: Place) -> None:
    await place.nodes(4, cpu=4)
    await place.start()
    await place.gang("g", 7, needed=8)
    await asyncio.sleep(1)
    assert not place.watcher.gangs["g"].bound
    await place.members("g", 8, first=7)
    await are_whole(place, 1)


async def test_a_member_deleted_while_the_gang_waits_is_missed_until_it_is_made_again(place: Place) -> None:
    await place.nodes(1, cpu=7)
    await place.start()
    await place.gang("g", 8)
    await place.watcher.until(lambda: len(place.watcher.refusals) == 8, PATIENCE)
    await place.delete_pod("g-3")
    await place.nodes(1, cpu=7, prefix="more")
    await asyncio.sleep(1.5)
    assert not place.watcher.gangs["g"].bound
    await place.members("g", 4, first=3)
    await are_whole(place, 1)


async def test_a_recreated_member_of_a_running_gang_joins_it(place: Place) -> None:
    await place.nodes(4, cpu=2)
    await place.start()
    await place.gang("g", 8)
    await are_whole(place, 1)
    await place.delete_pod("g-3")
    await place.members("g", 4, first=3)
    gang = place.watcher.gangs["g"]
    assert await place.watcher.until(lambda: len(gang.bound) == 8, PATIENCE) is not None, place.watcher.refusals


async def test_a_group_may_come_after_its_pods(place: Place) -> None:
    await place.nodes(4, cpu=2)
    await place.start()
    place.watcher.expect("g", 8)
    await place.members("g", 8)
    await asyncio.sleep(1)
    await place.make_group("g", 8)
    await are_whole(place, 1)


async def test_without_the_definition_all_but_gangs_are_scheduled_and_gangs_once_it_is_there() -> None:
    if choice() not in (EMBEDDED, REAL):
        pytest.skip("needs an API server of its own")
    async with Ground(is_real=choice() == REAL).place(CONTESTANTS[0], has_definition=False) as place:
        await place.nodes(4, cpu=2)
        await place.start()
        watcher = place.watcher
        gang = watcher.expect("g", 4)
        await place.members("g", 4)
        await place.singles("alone", 2)
        assert await watcher.until(lambda: len(watcher.bound_at) == 2, PATIENCE) is not None
        assert await watcher.until(lambda: len(watcher.refusals) == 4, PATIENCE) is not None
        assert set(watcher.refusals.values()) == {'waiting for PodGroup "g" to be created'}
        assert not gang.bound
        await ensure_served(place.client, [POD_GROUPS])
        await place.make_group("g", 4)
        await are_whole(place, 1)


async def test_members_beyond_what_is_needed_come_as_room_does(place: Place) -> None:
    await place.nodes(1, cpu=6)
    await place.start()
    await place.gang("g", 8, needed=4)
    await are_whole(place, 1)
    gang = place.watcher.gangs["g"]
    assert await place.watcher.until(lambda: len(gang.bound) == 6, PATIENCE) is not None, place.watcher.refusals
    await place.nodes(1, cpu=6, prefix="more")
    assert await place.watcher.until(lambda: len(gang.bound) == 8, PATIENCE) is not None, place.watcher.refusals
