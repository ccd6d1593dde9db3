"""Indexed Jobs: which completions are done, which pod is for which."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.controllers.jobs.counting import TRACKING
from moorage.controllers.jobs.indexes import (
    INDEX,
    completed_indexes,
    format_indexes,
    indexed_pod,
    missing_indexes,
    parse_indexes,
    surplus_pods,
)
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Job
from moorage.objects import convert


def job(completed: str = "", completions: int = 5, **template: Any) -> Job:
    spec = {"completionMode": "Indexed", "completions": completions, "template": template}
    metadata = {"name": "work", "namespace": "ns", "uid": "1"}
    return convert({"metadata": metadata, "spec": spec, "status": {"completedIndexes": completed}}, Job)


def pod(index: int | None, phase: str = "Running", *, created: str = "2001") -> Pod:
    metadata = {
        "name": f"p{index}",
        "creationTimestamp": created,
        "finalizers": [TRACKING],
        "annotations": {} if index is None else {INDEX: str(index)},
    }
    return convert({"metadata": metadata, "status": {"phase": phase}}, Pod)


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([3], "3"), ([0, 1], "0,1"), ([0, 1, 2, 5, 7, 8, 9], "0-2,5,7-9")]
)
def test_indexes_have_a_short_form(indexes: list[int], text: str) -> None:
    assert format_indexes(indexes) == text
    assert list(parse_indexes(text)) == indexes


@settings(deadline=None)
@given(st.sets(st.integers(0, 60)))
def test_the_short_form_says_the_same(indexes: set[int]) -> None:
    assert set(parse_indexes(format_indexes(indexes))) == indexes


def test_what_is_no_short_form_is_left_out() -> None:
    assert list(parse_indexes("1,x,3-,-4,5")) == [1, 3, 5]


def test_done_is_what_was_and_what_has_succeeded_since() -> None:
    pods = [pod(2, "Succeeded"), pod(3, "Failed"), pod(4), pod(9, "Succeeded")]
    assert completed_indexes(job("0"), pods) == {0, 2}


def test_the_lowest_free_indexes_come_next() -> None:
    assert missing_indexes(job(), {0, 2}, [pod(1)], 2) == [3, 4]
    assert missing_indexes(job(), {0, 2}, [pod(1)], 1) == [3]


def test_pods_nobody_needs_are_surplus() -> None:
    first, twin = pod(1, created="2001"), pod(1, created="2002")
    done, beyond, lost = pod(0), pod(7), pod(None)
    assert surplus_pods(job(), {0}, [twin, first, done, beyond, lost]) == [done, beyond, lost, twin]


def test_a_pod_knows_its_index() -> None:
    template: dict[str, Any] = {
        "spec": {"containers": [{"name": "a"}, {"name": "b", "env": [{"name": "JOB_COMPLETION_INDEX"}]}]}
    }
    source = job(**template)
    made = indexed_pod(source, 3)
    assert made["metadata"]["generateName"] == "work-3-"
    assert made["metadata"]["annotations"] == made["metadata"]["labels"] == {INDEX: "3"}
    assert made["spec"]["hostname"] == "work-3"
    told, own = made["spec"]["containers"]
    assert told["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
    assert own["env"] == [{"name": "JOB_COMPLETION_INDEX"}]
    assert "env" not in source.spec.template["spec"]["containers"][0]
