"""Pods held at Permit."""

import asyncio

import pytest

from moorage.columns import PodInfo, Snapshot
from moorage.framework.status import Code
from moorage.live.permits import LONGEST_WAIT, HeldPods
from moorage.testing import a_pod

pytestmark = pytest.mark.looptime


def pod(name: str = "web") -> PodInfo:
    return Snapshot().info(a_pod(name).build())


async def test_a_pod_goes_on_when_all_who_hold_it_allow_it() -> None:
    held = HeldPods().hold(pod(), "a", {"One": 60.0, "Two": 60.0})
    held.allow("One")
    assert held.pending_plugins() == ["Two"]
    assert not held.outcome.done()
    held.allow("Two")
    assert await held.outcome is None


async def test_one_who_rejects_it_is_enough() -> None:
    held = HeldPods().hold(pod(), "a", {"One": 60.0, "Two": 60.0})
    held.reject("Two", "not today")
    outcome = await held.outcome
    assert outcome is not None
    assert (outcome.code, outcome.plugin, outcome.message) == (Code.UNSCHEDULABLE, "Two", "not today")
    held.allow("One")


@pytest.mark.parametrize(("seconds", "said"), [(90.0, "1m30s"), (3600.0, "15m0s")])
async def test_the_first_whose_time_is_up_rejects_it(seconds: float, said: str) -> None:
    held = HeldPods().hold(pod(), "a", {"Patient": 86400.0, "Hasty": seconds})
    outcome = await held.outcome
    assert asyncio.get_running_loop().time() == min(seconds, LONGEST_WAIT)
    assert outcome is not None
    assert outcome.message.startswith(f"rejected due to timeout after waiting {said} at plugin ")


async def test_a_pod_that_is_preempted_goes_back_as_after_an_error() -> None:
    held = HeldPods().hold(pod(), "a", {"One": 60.0})
    held.preempt("DefaultPreemption", "preempted")
    outcome = await held.outcome
    assert outcome is not None
    assert outcome.code is Code.ERROR


async def test_who_is_held_can_be_found_until_released() -> None:
    pods = HeldPods()
    held = pods.hold(pod(), "a", {"One": 60.0})
    assert pods.get(held.pod.uid) is held
    assert [one.pod.name for one in pods] == ["web"]
    assert pods.reject(held.pod.uid)
    outcome = await held.outcome
    assert outcome is not None
    assert outcome.message == "removed"
    pods.release(held.pod.uid)
    assert len(pods) == 0
    assert not pods.reject(held.pod.uid)
