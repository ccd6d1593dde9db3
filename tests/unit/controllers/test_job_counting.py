"""Counting the pods of a Job: each once, whatever happens in between."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.controllers.jobs.counting import MOST_UNCOUNTED, TRACKING, count
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Job, JobStatus, UncountedPods
from moorage.objects import convert


def pod(uid: str, phase: str, *, held: bool = True, **metadata: Any) -> Pod:
    meta = {"name": uid, "uid": uid, "finalizers": [TRACKING] if held else [], **metadata}
    return convert({"metadata": meta, "spec": {"nodeName": "n"}, "status": {"phase": phase}}, Pod)


def job(**status: Any) -> Job:
    return Job(status=JobStatus(**status))


def test_a_pod_that_has_ended_is_noted_before_it_is_let_go() -> None:
    step = count(job(), [pod("a", "Succeeded"), pod("b", "Failed"), pod("c", "Running")], is_ending=False)
    assert (step.succeeded, step.failed) == (0, 0)
    assert step.uncounted == UncountedPods(("a",), ("b",))
    assert [each.metadata.uid for each in step.to_release] == ["a", "b"]
    assert (step.ended_well, step.ended_badly, step.pending) == (1, 1, 2)


def test_it_is_counted_once_it_is_let_go() -> None:
    noted = job(uncounted_terminated_pods=UncountedPods(("a",), ("b",)))
    step = count(noted, [pod("a", "Succeeded", held=False), pod("b", "Failed")], is_ending=False)
    assert (step.succeeded, step.failed, step.uncounted) == (1, 0, UncountedPods((), ("b",)))
    assert (step.ended_well, step.ended_badly, step.pending) == (1, 1, 1)


def test_it_is_counted_though_it_is_gone() -> None:
    step = count(job(uncounted_terminated_pods=UncountedPods(("a",))), [], is_ending=False)
    assert (step.succeeded, step.uncounted) == (1, UncountedPods())


def test_a_pod_deleted_before_it_had_a_node_has_failed() -> None:
    waiting = msgspec.structs.replace(
        pod("a", "Pending", deletionTimestamp="2001-01-01T00:00:00Z"), spec=convert({}, type(pod("a", "").spec))
    )
    assert count(job(), [waiting], is_ending=False).uncounted.failed == ("a",)
    ending = count(job(), [waiting], is_ending=True)
    assert ending.uncounted == UncountedPods()
    assert [each.metadata.uid for each in ending.to_release] == ["a"]


def test_a_pod_deleted_while_it_runs_is_waited_for() -> None:
    going = pod("a", "Running", deletionTimestamp="2001-01-01T00:00:00Z")
    assert count(job(), [going], is_ending=False).pending == 0


def test_a_status_holds_only_so_many() -> None:
    many = [pod(str(number), "Failed") for number in range(MOST_UNCOUNTED + 7)]
    step = count(job(), many, is_ending=False)
    assert len(step.uncounted.failed) == MOST_UNCOUNTED
    assert (step.pending, step.ended_badly) == (MOST_UNCOUNTED + 7, MOST_UNCOUNTED + 7)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["Succeeded", "Failed", "Running"]), max_size=20), st.data())
def test_every_pod_is_counted_exactly_once(phases: list[str], data: st.DataObject) -> None:
    """Between any two steps the controller may die, and finalizers may come off or not, pods may vanish."""
    pods = {str(at): pod(str(at), phase) for at, phase in enumerate(phases)}
    status = JobStatus()
    for _ in range(60):
        step = count(Job(status=status), list(pods.values()), is_ending=False)
        expected = phases.count("Succeeded"), phases.count("Failed")
        assert (step.ended_well, step.ended_badly) == expected
        if data.draw(st.booleans()):
            continue
        status = JobStatus(succeeded=step.succeeded, failed=step.failed, uncounted_terminated_pods=step.uncounted)
        for each in step.to_release:
            fate = data.draw(st.sampled_from(["held", "released", "vanished"]))
            if fate == "released":
                pods[each.metadata.uid] = pod(each.metadata.uid, each.status.phase, held=False)
            elif fate == "vanished":
                del pods[each.metadata.uid]
