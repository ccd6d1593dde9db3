"""The work queue: once each, never twice at once, later after failures."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from moorage.errors import ApiError
from moorage.kube.errors import TooManyRequests
from moorage.kube.workqueue import WorkQueue

pytestmark = pytest.mark.looptime

Work = Callable[[str], Awaitable[float | None]]
Start = Callable[..., WorkQueue[str]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    tasks = []

    def begin(work: Work, workers: int = 2) -> WorkQueue[str]:
        queue: WorkQueue[str] = WorkQueue("test", first_delay=1.0, longest_delay=8.0)
        tasks.append(asyncio.create_task(queue.run(work, workers=workers)))
        return queue

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_key_waits_in_the_queue_once(start: Start) -> None:
    done: list[str] = []

    async def work(key: str) -> None:
        done.append(key)

    queue = start(work)
    for key in ("a", "b", "a", "a"):
        queue.add(key)
    await asyncio.sleep(1)
    assert done == ["a", "b"]


async def test_a_key_is_never_worked_on_twice_at_once(start: Start) -> None:
    active: list[str] = []
    times = 0

    async def work(key: str) -> None:
        nonlocal times
        assert key not in active
        active.append(key)
        times += 1
        await asyncio.sleep(10)
        active.remove(key)

    queue = start(work, workers=4)
    queue.add("a")
    await asyncio.sleep(1)
    queue.add("a")
    queue.add("a")
    await asyncio.sleep(30)
    assert times == 2


async def test_workers_work_at_the_same_time(start: Start) -> None:
    async def work(key: str) -> None:
        await asyncio.sleep(10)
        done.append(key)

    done: list[str] = []
    queue = start(work, workers=3)
    for key in "abc":
        queue.add(key)
    await asyncio.sleep(11)
    assert sorted(done) == ["a", "b", "c"]


async def test_a_key_can_ask_to_be_seen_again(start: Start) -> None:
    times: list[float] = []

    async def work(key: str) -> float | None:
        times.append(asyncio.get_running_loop().time())
        return 5.0 if len(times) < 3 else None

    begun = asyncio.get_running_loop().time()
    start(work).add("a")
    await asyncio.sleep(100)
    assert [round(at - begun) for at in times] == [0, 5, 10]


async def test_the_earliest_of_several_times_counts(start: Start) -> None:
    times: list[float] = []

    async def work(key: str) -> None:
        times.append(asyncio.get_running_loop().time())

    queue = start(work)
    begun = asyncio.get_running_loop().time()
    for seconds in (20.0, 5.0, 30.0):
        queue.add_after("a", seconds)
    await asyncio.sleep(100)
    assert [round(at - begun) for at in times] == [5]


@pytest.mark.parametrize("failure", [ApiError("refused"), ZeroDivisionError("a bug")])
async def test_what_fails_is_tried_again_later_and_later(start: Start, failure: Exception) -> None:
    times: list[float] = []

    async def work(key: str) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) < 6:
            raise failure

    start(work).add("a")
    await asyncio.sleep(100)
    waits = [after - before for before, after in itertools.pairwise(times)]
    assert len(waits) == 5
    for wait, step in zip(waits, (1, 2, 4, 8, 8), strict=True):
        assert step / 2 <= wait <= step + 0.1


async def test_success_starts_the_delays_again(start: Start) -> None:
    outcomes = [True, False, False, True, False]
    times: list[float] = []

    async def work(key: str) -> float | None:
        times.append(asyncio.get_running_loop().time())
        if len(times) <= len(outcomes) and not outcomes[len(times) - 1]:
            raise ApiError("refused")
        return 50.0

    start(work).add("a")
    await asyncio.sleep(160)
    after_success = times[5] - times[4]
    assert after_success <= 1.1


async def test_a_server_that_says_when_is_believed(start: Start) -> None:
    times: list[float] = []

    async def work(key: str) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) == 1:
            raise TooManyRequests("later", code=429, retry_after=30.0)

    start(work).add("a")
    await asyncio.sleep(100)
    assert times[1] - times[0] >= 30.0


async def test_work_that_never_waits_lets_others_run(start: Start) -> None:
    async def work(key: str) -> float:
        return 0.0

    start(work, workers=1).add("a")
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        for _ in range(10):
            await asyncio.sleep(0)
