"""The trampoline: order, time, cancellation, and what it cannot run."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moorage.attempt.virtual import Cancelled, ForeignAwait, VirtualJob, VirtualPromise, VirtualTime
from moorage.attempt.world import SelfCancelled

Work = Callable[[], Awaitable[None]]


def test_time_jumps_from_timer_to_timer() -> None:
    time = VirtualTime(100.0)
    seen: list[tuple[str, float]] = []

    async def tick(name: str, every: float) -> None:
        for _ in range(3):
            await time.sleep(every)
            seen.append((name, time.now))

    time.spawn(tick("a", 2))
    time.spawn(tick("b", 3))
    time.advance(6.5)
    assert seen == [("a", 102), ("b", 103), ("a", 104), ("b", 106), ("a", 106)]
    assert time.now == 106.5
    assert time.next_timer == 109


def test_a_cancelled_timer_never_comes() -> None:
    time = VirtualTime()
    calls: list[str] = []
    time.call_later(1, lambda: calls.append("kept"))
    time.call_later(1, lambda: calls.append("cancelled")).cancel()
    time.advance(5)
    assert calls == ["kept"]
    assert time.next_timer is None


def test_who_waits_for_a_promise_goes_on_in_order() -> None:
    time = VirtualTime()
    promise: VirtualPromise[str] = VirtualPromise()
    seen: list[str] = []

    async def wait(name: str) -> None:
        seen.append(f"{name} {await promise}")

    time.spawn(wait("first"))
    time.spawn(wait("second"))
    time.run()
    assert seen == []
    promise.set_result("given")
    assert seen == [], "nothing goes on in the middle of somebody else's step"
    time.run()
    assert seen == ["first given", "second given"]


def cancellable(time: VirtualTime, seen: list[str]) -> VirtualJob:
    async def work() -> None:
        seen.append("began")
        try:
            await time.sleep(10)
        except Cancelled:
            seen.append("told")
            await time.sleep(1)
            seen.append("undone")
            raise

    return time.spawn(work())


def test_a_job_is_told_once_and_may_take_its_time() -> None:
    time, seen = VirtualTime(), list[str]()
    job = cancellable(time, seen)
    time.run()
    job.cancel()
    job.cancel()
    time.advance(0.5)
    job.cancel()
    assert seen == ["began", "told"]
    time.advance(1)
    assert seen == ["began", "told", "undone"]
    assert job.ended.done()


def test_a_job_cancelled_before_it_began_begins() -> None:
    time, seen = VirtualTime(), list[str]()
    cancellable(time, seen).cancel()
    time.advance(2)
    assert seen == ["began", "told", "undone"]


def test_a_job_cancelled_when_it_can_go_on_is_told_all_the_same() -> None:
    time, seen = VirtualTime(), list[str]()
    promise: VirtualPromise[None] = VirtualPromise()

    async def work() -> None:
        try:
            await promise
        except Cancelled:
            seen.append("told")

    job = time.spawn(work())
    time.run()
    promise.set_result(None)
    job.cancel()
    time.run()
    assert seen == ["told"]


def test_what_a_job_raises_is_raised_where_it_is_driven() -> None:
    time = VirtualTime()

    async def break_down() -> None:
        raise ZeroDivisionError

    job = time.spawn(break_down())
    with pytest.raises(ZeroDivisionError):
        time.run()
    assert job.ended.done()


def test_waiting_for_jobs_with_and_without_patience() -> None:
    time = VirtualTime()

    async def work(seconds: float) -> None:
        await time.sleep(seconds)

    async def wait(at_most: float | None) -> bool:
        return await time.ended([time.spawn(work(1)), time.spawn(work(5))], at_most)

    assert time.finish(wait(None))
    assert time.now == 5
    assert not time.finish(wait(2))
    assert time.now == 7
    assert time.finish(wait(6))


def test_a_wait_that_never_ends_is_found() -> None:
    promise: VirtualPromise[None] = VirtualPromise()

    async def wait() -> None:
        await promise

    with pytest.raises(RuntimeError, match="never comes"):
        VirtualTime().finish(wait())


def test_what_only_a_live_process_can_run_is_refused_and_can_be_met() -> None:
    time = VirtualTime()

    async def plugin() -> str:
        try:
            await asyncio.sleep(0)
        except ForeignAwait:
            return "met"
        return "ran"

    assert time.finish(plugin()) == "met"


@pytest.mark.parametrize("raised", [asyncio.CancelledError, Cancelled])
def test_a_plugin_that_cancels_itself_is_told_from_us(raised: type[BaseException]) -> None:
    time = VirtualTime()

    async def plugin() -> None:
        raise raised

    async def host() -> str:
        try:
            await time.run_plugin(plugin())
        except SelfCancelled:
            return "its own"
        return "nothing"

    assert time.finish(host()) == "its own"


def test_our_cancellation_reaches_through_a_plugin() -> None:
    time = VirtualTime()
    seen: list[str] = []

    async def host() -> None:
        try:
            await time.run_plugin(time.sleep(10))
        except SelfCancelled:
            seen.append("its own")
        except Cancelled:
            seen.append("ours")

    job = time.spawn(host())
    time.run()
    job.cancel()
    time.run()
    assert seen == ["ours"]
