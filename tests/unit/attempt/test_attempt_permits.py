"""Pods held at Permit."""

import math

import pytest

from moorage.attempt.permits import LONGEST_WAIT, HeldPods
from moorage.attempt.scripted import ScriptedWorld
from moorage.columns import PodInfo, Snapshot
from moorage.framework.points import Wait
from moorage.framework.status import Code
from moorage.testing import a_pod


def pod(name: str = "web") -> PodInfo:
    return Snapshot().info(a_pod(name).build())


@pytest.fixture
def world() -> ScriptedWorld:
    return ScriptedWorld()


@pytest.fixture
def pods(world: ScriptedWorld) -> HeldPods:
    return HeldPods(world=world)


def test_a_pod_goes_on_when_all_who_hold_it_allow_it(pods: HeldPods) -> None:
    held = pods.hold(pod(), "a", {"One": Wait(60.0), "Two": Wait(60.0)})
    held.allow("One")
    assert held.pending_plugins() == ["Two"]
    assert not held.outcome.done()
    held.allow("Two")
    assert held.outcome.result() is None


def test_one_who_rejects_it_is_enough(pods: HeldPods) -> None:
    held = pods.hold(pod(), "a", {"One": Wait(60.0), "Two": Wait(60.0)})
    held.reject("Two", "not today")
    outcome = held.outcome.result()
    assert outcome is not None
    assert (outcome.code, outcome.plugin, outcome.message) == (Code.UNSCHEDULABLE, "Two", "not today")
    held.allow("One")


@pytest.mark.parametrize(
    ("seconds", "said", "after"),
    [(90.0, "1m30s", 90.0), (3600.0, "15m0s", LONGEST_WAIT), (-math.inf, "0s", 0.0), (math.inf, "15m0s", LONGEST_WAIT)],
)
def test_the_first_whose_time_is_up_rejects_it(
    world: ScriptedWorld, pods: HeldPods, seconds: float, said: str, after: float
) -> None:
    held = pods.hold(pod(), "a", {"Patient": Wait(86400.0), "Hasty": Wait(seconds)})
    assert world.time.next_timer == after
    world.time.advance(after)
    outcome = held.outcome.result()
    assert outcome is not None
    assert outcome.message.startswith(f"rejected due to timeout after waiting {said} at plugin ")
    assert world.time.next_timer is None


def test_a_pod_that_is_preempted_goes_back_as_after_an_error(pods: HeldPods) -> None:
    held = pods.hold(pod(), "a", {"One": Wait(60.0)})
    held.preempt("DefaultPreemption", "preempted")
    outcome = held.outcome.result()
    assert outcome is not None
    assert outcome.code is Code.ERROR


def test_who_is_held_can_be_found_until_released(world: ScriptedWorld, pods: HeldPods) -> None:
    held = pods.hold(pod(), "a", {"One": Wait(60.0)})
    assert pods.get(held.pod.uid) is held
    assert [one.pod.name for one in pods] == ["web"]
    assert pods.reject(held.pod.uid)
    outcome = held.outcome.result()
    assert outcome is not None
    assert outcome.message == "removed"
    pods.release(held.pod.uid)
    assert len(pods) == 0
    assert not pods.reject(held.pod.uid)


def test_who_is_released_leaves_no_timer(world: ScriptedWorld, pods: HeldPods) -> None:
    held = pods.hold(pod(), "a", {"One": Wait(60.0)})
    pods.release(held.pod.uid)
    assert world.time.next_timer is None
    assert not held.outcome.done()
