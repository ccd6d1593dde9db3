"""Evicting the victims of preemption: who goes, in which order, and what follows where one does not."""

from typing import Any

import pytest
from tests.unit.attempt.conftest import Rig, plugin, rig_with

from moorage.attempt.scripted import Evict
from moorage.framework import PermitAnswer, wait
from moorage.framework.writes import Conflict, Done, Gone, Refused, Unknown
from moorage.testing import a_node, a_pod

NODE = a_node("a").allocatable(cpu="2", pods="10")
HIGH = a_pod("high").requests(cpu="2").priority(1000)


def is_evict(request: Any) -> bool:
    return isinstance(request, Evict)


def crowded(rig: Rig, *, low: int = 2) -> Rig:
    """A node full of pods of low priority, and one that needs all of it."""
    rig.node(NODE)
    for number in range(low):
        rig.pod(a_pod(f"low-{number}").requests(cpu=f"{2000 // low}m").priority(number))
    rig.settle()
    rig.pod(HIGH)
    rig.settle()
    return rig


def victims(rig: Rig) -> list[str]:
    return [one.pod.name for one in rig.asked(Evict)]


def test_victims_go_and_the_pod_takes_their_place(rig: Rig) -> None:
    crowded(rig)
    rig.advance(2)
    assert rig.nodes_of() == {"high": "a"}
    assert sorted(victims(rig)) == ["low-0", "low-1"]
    assert rig.events().count(("low-0", "Preempted")) == 1
    assert rig.leftovers() == {}
    assert len(rig.core.cluster.snapshot.nominations) == 0


def test_the_pod_is_promised_the_node_and_says_why_it_waits(rig: Rig) -> None:
    rig.later = is_evict
    crowded(rig)
    assert rig.pods["high"].status.nominated_node_name == "a"
    reason, message = rig.condition("high")
    assert reason == "Unschedulable"
    assert message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert rig.place("high") == "unschedulable"
    (high,) = [queued.pod for _, queued in rig.core.queue.pods()]
    rig.core.queue.activate([high])
    assert rig.place("high") == "gated", "while its victims are being evicted nothing lets it in"


def test_the_condition_says_who_made_room_for_whom(rig: Rig) -> None:
    crowded(rig)
    condition = rig.asked(Evict)[0].condition
    assert (condition.type, condition.status, condition.reason) == ("DisruptionTarget", "True", "PreemptionByScheduler")
    assert condition.message == "default-scheduler: preempting to accommodate a higher priority pod"
    assert condition.last_transition_time == "2026-01-01T00:00:00Z"


def test_the_last_goes_only_when_all_others_were_seen_to(rig: Rig) -> None:
    rig.later = is_evict
    crowded(rig, low=4)
    first = victims(rig)
    assert len(first) == 3
    for name in first[:2]:
        rig.give(Evict, name=name)
    assert len(victims(rig)) == 3
    rig.give(Evict, name=first[2])
    assert len(victims(rig)) == 4
    rig.give(Evict, name=victims(rig)[3])
    rig.advance(2)
    assert rig.nodes_of() == {"high": "a"}


@pytest.mark.parametrize("answer", [Done(), Gone("no such pod", 404, "NotFound")])
def test_a_victim_that_is_gone_already_is_gone(rig: Rig, answer: Any) -> None:
    rig.later = is_evict
    crowded(rig, low=1)
    rig.vanish("low-0")
    rig.give(Evict, answer)
    rig.advance(2)
    assert rig.nodes_of() == {"high": "a"}
    assert victims(rig) == ["low-0"]


@pytest.mark.parametrize("answer", [Refused("no", 403), Conflict("changed", 409), Unknown("nobody answers")])
@pytest.mark.parametrize("which", [0, 1])
def test_an_eviction_that_fails_lets_the_pod_try_again(rig: Rig, answer: Any, which: int) -> None:
    """Whichever of two fails: the one that goes with the others, or the last."""
    rig.later = is_evict
    crowded(rig)
    wakes = rig.wakes
    if which:
        rig.give(Evict)
    rig.later = lambda _request: False
    rig.give(Evict, answer)
    assert rig.wakes > wakes, "no event wakes the loop"
    assert len(rig.core.evictions) == 0
    rig.advance(5)
    assert rig.nodes_of()["high"] == "a"
    assert rig.leftovers() == {}


def test_a_victim_is_evicted_once_however_often_it_is_chosen(rig: Rig) -> None:
    """What the watch shows lags: the victim seems to be there, and not going."""
    rig.node(NODE)
    rig.pod(a_pod("low").requests(cpu="2"))
    rig.settle()
    rig.pod(HIGH)
    rig.later = is_evict
    rig.settle()
    rig.tells = False
    rig.give(Evict, Done())
    rig.core.queue.activate([queued.pod for _, queued in rig.core.queue.pods()])
    rig.advance(20)
    assert victims(rig) == ["low"]
    rig.vanish("low")
    rig.tells = True
    rig.advance(12)
    assert rig.nodes_of() == {"high": "a"}


def test_who_was_promised_the_node_and_matters_less_looks_for_another(rig: Rig) -> None:
    rig.later = is_evict
    rig.node(NODE)
    rig.pod(a_pod("low").requests(cpu="2"))
    rig.settle()
    rig.pod(a_pod("middle").requests(cpu="2").priority(100))
    rig.settle()
    assert rig.pods["middle"].status.nominated_node_name == "a"
    rig.pod(HIGH)
    rig.settle()
    assert rig.pods["high"].status.nominated_node_name in ("a", "")
    rig.give(Evict, name="low")
    rig.advance(5)
    assert rig.nodes_of()["high"] == "a"
    assert rig.nodes_of()["middle"] == ""
    assert rig.pods["middle"].status.nominated_node_name == ""


def test_a_pod_not_bound_yet_is_only_stopped() -> None:
    """Its victim is in PreBind: nothing is deleted."""

    class Slow:
        def __init__(self, _args: Any, handle: Any) -> None:
            self.handle = handle

        async def pre_bind(self, _state: Any, pod: Any, _node_name: str) -> None:
            if pod.name == "low":
                await self.handle.host.sleep(1000)

    rig = Rig([Slow], profiles=[{"plugins": {"preBind": {"enabled": [{"name": "Slow"}]}}}])
    rig.node(NODE)
    rig.pod(a_pod("low").requests(cpu="2"))
    rig.settle()
    rig.pod(HIGH)
    rig.advance(2)
    assert rig.nodes_of() == {"high": "a", "low": ""}
    assert victims(rig) == []
    assert any(event.note.endswith(" (in kube-scheduler memory).") for event in rig.world.events)
    assert rig.leftovers() == {}


def test_who_evicts_takes_the_node_from_those_it_was_promised_to(rig: Rig) -> None:
    rig.later = is_evict
    rig.node(NODE)
    for name in ("low-0", "low-1"):
        rig.pod(a_pod(name).requests(cpu="1"))
    rig.settle()
    rig.pod(a_pod("middle").requests(cpu="1").priority(100))
    rig.settle()
    assert len(victims(rig)) == 1
    assert rig.pods["middle"].status.nominated_node_name == "a"
    rig.pod(HIGH)
    rig.settle()
    assert sorted(victims(rig)) == ["low-0", "low-1"]
    assert rig.pods["middle"].status.nominated_node_name == ""
    assert [pod.name for pod in rig.core.cluster.snapshot.nominations.on("a")] == ["high"]


def test_a_pod_held_at_permit_is_only_stopped() -> None:
    hold = lambda _self, _state, pod, _node: PermitAnswer(wait(), 600.0) if pod.name == "low" else None  # noqa: E731
    rig = rig_with(plugin(permit=hold))
    rig.node(NODE)
    rig.pod(a_pod("low").requests(cpu="2"))
    rig.settle()
    assert rig.leftovers() == {"assumed": 1, "in flight": 1, "under way": 1, "held": 1}
    rig.pod(HIGH)
    rig.advance(2)
    assert rig.nodes_of() == {"high": "a", "low": ""}
    assert victims(rig) == []
    assert rig.leftovers() == {}


def test_draining_waits_for_what_is_under_way(rig: Rig) -> None:
    rig.later = is_evict
    crowded(rig, low=1)
    drained: list[bool] = []

    async def drain() -> None:
        await rig.core.drain()
        drained.append(True)

    rig.world.spawn(drain())
    rig.settle()
    assert drained == []
    rig.give(Evict)
    rig.settle()
    assert drained == [True]
