"""The life of a process: told to stop, losing its lease, and what goes on beside its work."""

import asyncio
import os
import signal
import threading

import pytest

from moorage.kube import process
from moorage.kube.election import LeadershipLost
from moorage.kube.process import stopping_on_signals, together


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Stands for the end of the process, which comes at once."""
    event = threading.Event()
    monkeypatch.setattr(process, "STOP_LIMIT", 0.01)
    monkeypatch.setattr(process, "_end", event.set)
    return event


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_is_told_and_ends_what_does_not_stop(ended: threading.Event, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopping_on_signals() as stopping:
        assert not stopping.is_set()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(10):
            await stopping.wait()
        assert await asyncio.to_thread(ended.wait, 10)
    assert signal.getsignal(number) is before


def test_the_exit_status_says_whether_the_lease_was_lost(ended: threading.Event) -> None:
    async def stop(stopping: asyncio.Event) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await stopping.wait()

    async def lose(_stopping: asyncio.Event) -> None:
        raise LeadershipLost("somebody else leads")

    assert process.run(stop) == 0
    assert process.run(lose) == 1
    assert ended.wait(10)


async def test_what_runs_beside_ends_with_the_work_and_breaks_it(ended: threading.Event) -> None:
    was_cancelled = asyncio.Event()

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            was_cancelled.set()

    async def breaks() -> None:
        raise LeadershipLost("somebody else leads")

    await together(asyncio.sleep(0), for_ever())
    assert was_cancelled.is_set()
    with pytest.raises(LeadershipLost):
        await together(asyncio.Event().wait(), breaks())
    await together(asyncio.sleep(0), None)
