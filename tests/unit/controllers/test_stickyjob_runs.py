"""How a run ended, and what that makes of a StickyJob's status."""

from typing import Any

import pytest
from msgspec.structs import replace

from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.stickyjobs import StickyJob, StickyJobStatus
from moorage.controllers.stickyjobs import statuses
from moorage.controllers.stickyjobs.runs import End, end_of, has_run, seconds_run
from moorage.controllers.stickyjobs.statuses import Told
from moorage.objects import convert
from moorage.values.time import time_of

NOW = time_of("2030-01-01T00:10:00Z") or 0.0
POD_SPEC: dict[str, Any] = {"containers": [{"name": "main"}]}
GOING = {"deletionTimestamp": "2030-01-01T00:01:30Z", "deletionGracePeriodSeconds": 30}


def pod(phase: str = "", *, metadata: dict[str, Any] | None = None, ended: str = "", **status: Any) -> Pod:
    containers = []
    if ended:
        terminated = {"exitCode": 0, "startedAt": "2030-01-01T00:00:00Z", "finishedAt": f"2030-01-01T00:{ended}Z"}
        containers = [{"name": "main", "state": {"terminated": terminated}}]
    return convert(
        {
            "metadata": {"name": "db", "uid": "1", **(metadata or {})},
            "spec": {"nodeName": "node-3"},
            "status": {"phase": phase, "containerStatuses": containers, **status},
        },
        Pod,
    )


def job(status: dict[str, Any] | None = None, **spec: Any) -> StickyJob:
    template = {"spec": POD_SPEC}
    return convert(
        {"metadata": {"generation": 2}, "spec": {"template": template, **spec}, "status": status or {}}, StickyJob
    )


DISRUPTED: dict[str, Any] = {
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]
}


@pytest.mark.parametrize(
    ("given", "end"),
    [
        (pod("Pending"), None),
        (pod("Running"), None),
        (pod("Succeeded", ended="01:00"), End.SUCCEEDED),
        (pod("Failed", ended="01:00"), End.FAILED),
        (pod("Failed"), End.FAILED),
        (pod("Failed", reason="Evicted"), End.DISRUPTED),
        (pod("Failed", **DISRUPTED), End.DISRUPTED),
        (pod("Running", metadata=GOING), End.DISRUPTED),
        # Told to go at 00:01:00: what it says after that is not its own success.
        (pod("Succeeded", metadata=GOING, ended="01:05"), End.DISRUPTED),
        (pod("Succeeded", metadata=GOING, ended="00:50"), End.SUCCEEDED),
        (pod("Failed", metadata=GOING), End.DISRUPTED),
    ],
)
def test_how_runs_end(given: Pod, end: End | None) -> None:
    assert end_of(given) is end


@pytest.mark.parametrize(
    ("given", "ran"),
    [
        (pod("Pending"), False),
        (pod("Running"), True),
        (pod("Succeeded", ended="01:00"), True),
        # Bound, and refused by the kubelet: it never ran there.
        (pod("Failed", reason="OutOfcpu"), False),
        (pod("Failed", ended="01:00"), True),
    ],
)
def test_a_pod_has_run_where_a_container_was_started(given: Pod, ran: bool) -> None:
    assert has_run(given) is ran


def test_a_run_lasts_from_the_first_start_to_the_last_end() -> None:
    assert seconds_run(pod("Failed", ended="02:30")) == 150
    assert seconds_run(pod("Failed")) == 0


def test_the_latest_node_wins_and_an_unknown_uid_takes_nothing_away() -> None:
    status = statuses.with_last_node(StickyJobStatus(), "a", "1")
    assert (status.last_node, status.last_node_uid) == ("a", "1")
    assert statuses.with_last_node(status, "a", "") == status
    moved = statuses.with_last_node(status, "b", "")
    assert (moved.last_node, moved.last_node_uid) == ("b", "")


def test_failures_in_a_row_wait_longer_and_longer() -> None:
    waits, status = [], StickyJobStatus()
    for number in range(1, 8):
        failed = replace(pod("Failed", ended="10:00"), metadata=replace(pod().metadata, uid=str(number)))
        failed = replace(failed, status=replace(failed.status, container_statuses=()))
        status = statuses.with_end(job(), status, failed, End.FAILED, NOW)
        waits.append(statuses.retry_in(status, NOW))
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    assert status.failures == 7


def test_a_run_that_was_long_begins_the_row_anew() -> None:
    status = statuses.with_end(job(), StickyJobStatus(failures=5), pod("Failed", ended="10:00"), End.FAILED, NOW)
    assert status.failures == 1
    assert statuses.retry_in(status, NOW) == 10


def test_an_end_is_counted_once() -> None:
    done = pod("Succeeded", ended="01:00")
    once = statuses.with_end(job(completions=3), StickyJobStatus(), done, End.SUCCEEDED, NOW)
    assert once.succeeded == 1
    assert statuses.with_end(job(completions=3), once, done, End.SUCCEEDED, NOW) == once
    assert statuses.retry_in(once, NOW) == 0


def test_runs_that_succeed_at_once_for_ever_do_not_spin() -> None:
    status = statuses.with_end(job(), StickyJobStatus(), pod("Succeeded", ended="00:04"), End.SUCCEEDED, 0.0)
    assert status.retry_time == "2030-01-01T00:00:10Z"


def test_a_deleted_pod_costs_nothing() -> None:
    status = statuses.with_end(job(), StickyJobStatus(failures=2), pod(metadata=GOING), End.DISRUPTED, NOW)
    assert (status.failures, status.retry_time, status.succeeded) == (2, "", 0)


def test_a_template_pruned_empty_is_told_with_the_cure() -> None:
    pruned = job(template={})
    status = statuses.with_phase(pruned, StickyJobStatus(), Told("Invalid", "TemplatePruned", "nothing"), "now")
    told = {each.type: each for each in status.conditions}["TemplateUsable"]
    assert (told.status, told.reason) == ("False", "TemplatePruned")
    assert "x-kubernetes-preserve-unknown-fields: true" in told.message
    mended = statuses.with_phase(job(), status, Told("Pending", "PodPending", "soon"), "now")
    assert [each.type for each in mended.conditions] == ["Running"]
    assert mended.observed_generation == 2


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"spec": 5}, "spec.template.spec: expected an object, got 5"),
        ({"spec": ["x"]}, "spec.template.spec: expected an object, got ['x']"),
        ({"metadata": "x", "spec": POD_SPEC}, "spec.template.metadata: expected an object, got 'x'"),
        ({"metadata": {"labels": 1}, "spec": POD_SPEC}, "spec.template.metadata.labels: expected an object, got 1"),
        ({"metadata": {"annotations": []}, "spec": POD_SPEC}, "spec.template.metadata.annotations: expected an object"),
        ({"metadata": {"finalizers": "a/b"}, "spec": POD_SPEC}, "spec.template.metadata.finalizers: expected a list"),
    ],
)
def test_a_template_of_the_wrong_shape_is_told(template: dict[str, Any], message: str) -> None:
    status = statuses.with_phase(job(template=template), StickyJobStatus(), Told("Invalid", "x", "nothing"), "now")
    told = {each.type: each for each in status.conditions}["TemplateUsable"]
    assert (told.status, told.reason) == ("False", "TemplateInvalid")
    assert told.message.startswith(message)


def test_empty_parts_of_a_template_are_fine() -> None:
    empty = {"labels": None, "annotations": None, "finalizers": None}
    assert statuses.template_fault(job(template={"metadata": empty, "spec": POD_SPEC})) is None
    assert statuses.template_fault(job(template={"metadata": None, "spec": POD_SPEC})) is None
