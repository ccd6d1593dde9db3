"""What runs in a worker thread: its answer, what it raises, and that nothing waits for it."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from moorage.kube.workers import MOST_THREADS, Workers


async def test_it_runs_in_another_thread() -> None:
    assert await Workers().run(threading.get_ident) != threading.get_ident()


@pytest.mark.parametrize("problem", [KeyError("tide"), SystemExit(3), asyncio.CancelledError(), RecursionError()])
async def test_what_it_raises_is_raised(problem: BaseException) -> None:
    def broken() -> None:
        raise problem

    with pytest.raises(type(problem)):
        await Workers().run(broken)


async def test_others_go_on_meanwhile() -> None:
    release = threading.Event()
    waiting = asyncio.create_task(Workers().run(release.wait))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    release.set()
    assert await waiting


async def test_who_is_cancelled_does_not_wait_for_it() -> None:
    release, workers = threading.Event(), Workers()
    waiting = asyncio.create_task(workers.run(release.wait))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    assert await workers.run(lambda: 7) == 7


async def test_there_are_no_more_threads_than_so_many() -> None:
    before, workers = threading.active_count(), Workers()
    seen: set[str] = set()

    def work() -> None:
        seen.add(threading.current_thread().name)
        time.sleep(0.001)

    calls: list[Callable[[], Any]] = [work] * 100
    await asyncio.gather(*map(workers.run, calls))
    assert len(seen) <= MOST_THREADS
    assert threading.active_count() <= before + MOST_THREADS
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("worker-"))
