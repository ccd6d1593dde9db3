import pytest

from moorage.columns import PodInfo, Snapshot
from moorage.framework.events import Action, Hint, Resource
from moorage.framework.status import Code
from moorage.objects import ObjectMeta, Pod, PodSpec, SchedulingGate
from moorage.plugins.scheduling_gates import SchedulingGates


@pytest.fixture
def plugin() -> SchedulingGates:
    return SchedulingGates(None, None)  # type: ignore[arg-type]


def pod(name: str, *gates: str) -> PodInfo:
    spec = PodSpec(scheduling_gates=tuple(map(SchedulingGate, gates)))
    return Snapshot().info(Pod(metadata=ObjectMeta(name=name, uid=name), spec=spec))


def test_a_pod_with_gates_stays_out(plugin: SchedulingGates) -> None:
    status = plugin.pre_enqueue(pod("a", "x.com/quota", "y"))
    assert status is not None
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message == "waiting for scheduling gates: [x.com/quota y]"


def test_a_pod_without_gates_gets_in(plugin: SchedulingGates) -> None:
    assert plugin.pre_enqueue(pod("a")) is None


@pytest.mark.parametrize(("updated", "answer"), [("a", Hint.QUEUE), ("b", Hint.SKIP)])
def test_only_its_own_last_gate_counts(plugin: SchedulingGates, updated: str, answer: Hint) -> None:
    [registration] = plugin.events_to_register()
    assert registration.event.resource is Resource.POD
    assert registration.event.action == Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    assert registration.hint is not None
    assert registration.hint(pod("a", "x"), pod(updated, "x").pod, pod(updated).pod) is answer
