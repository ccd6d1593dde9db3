import asyncio

import pytest

from moorage.kube.gate import Gate, Lane, TokenBucket

pytestmark = pytest.mark.looptime


def gate(*, qps: float = 0.0, burst: int = 1, concurrency: int = 1) -> Gate:
    clock = asyncio.get_running_loop().time
    return Gate(TokenBucket(qps, burst, clock=clock), concurrency=concurrency)


async def test_the_most_urgent_goes_first_and_the_first_within_a_lane() -> None:
    door, order = gate(), []

    async def write(lane: Lane, name: str) -> None:
        async with door.through(lane):
            order.append(name)
            await asyncio.sleep(1)

    tasks = [asyncio.create_task(write(Lane.STATUS, "running"))]
    await asyncio.sleep(0.1)
    for lane, name in (
        (Lane.EVENT, "event"),
        (Lane.STATUS, "status"),
        (Lane.DELETE, "delete"),
        (Lane.BIND, "bind 1"),
        (Lane.BIND, "bind 2"),
    ):
        tasks.append(asyncio.create_task(write(lane, name)))
    await asyncio.sleep(0.1)
    assert door.waiting(Lane.BIND) == 2
    await asyncio.gather(*tasks)
    assert order == ["running", "bind 1", "bind 2", "delete", "status", "event"]
    assert door.waiting(Lane.BIND) == 0


async def test_no_more_than_the_limit_are_under_way() -> None:
    door, under_way, most = gate(concurrency=3), 0, 0

    async def write() -> None:
        nonlocal under_way, most
        async with door.through(Lane.BIND):
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(1)
            under_way -= 1

    await asyncio.gather(*(write() for _ in range(10)))
    assert most == 3


async def test_a_burst_then_a_steady_rate() -> None:
    door, times = gate(qps=2.0, burst=3, concurrency=100), []
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def write() -> None:
        async with door.through(Lane.BIND):
            times.append(round(loop.time() - start, 3))

    await asyncio.gather(*(write() for _ in range(6)))
    assert times == [0, 0, 0, 0.5, 1.0, 1.5]


async def test_zero_qps_is_no_limit() -> None:
    door = gate(qps=0.0, burst=1, concurrency=1000)
    loop = asyncio.get_running_loop()
    start = loop.time()
    for _ in range(100):
        async with door.through(Lane.EVENT):
            pass
    assert loop.time() == start


async def test_who_gives_up_waiting_takes_no_turn() -> None:
    door = gate()
    await door.enter(Lane.BIND)
    waiting = asyncio.create_task(door.enter(Lane.BIND))
    next_one = asyncio.create_task(door.enter(Lane.EVENT))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    door.leave()
    async with asyncio.timeout(1):
        await next_one


async def test_who_is_cancelled_in_the_moment_of_being_let_in_gives_the_turn_on() -> None:
    door = gate()
    await door.enter(Lane.BIND)
    unlucky = asyncio.create_task(door.enter(Lane.BIND))
    next_one = asyncio.create_task(door.enter(Lane.EVENT))
    await asyncio.sleep(0)
    door.leave()
    unlucky.cancel()
    async with asyncio.timeout(1):
        await next_one
    await asyncio.gather(unlucky, return_exceptions=True)
