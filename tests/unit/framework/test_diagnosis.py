"""Why no node fits."""

import numpy as np
import pytest

from moorage.framework.diagnosis import NodeStatuses, fit_message
from moorage.framework.status import Code, Status, unresolvable, unschedulable

FULL = unschedulable("Insufficient cpu", "Too many pods").by("Fit")
CORDONED = unresolvable("node(s) were unschedulable").by("Unschedulable")


@pytest.fixture
def statuses() -> NodeStatuses:
    found = NodeStatuses(np.array([1, 2, 5, 7], dtype=np.intp))
    found.assign_all(np.array([1, 5], dtype=np.intp), np.array([1, 2], dtype=np.intp), {1: FULL, 2: CORDONED})
    found.assign(7, FULL)
    return found


def test_statuses_by_row(statuses: NodeStatuses) -> None:
    assert [statuses.get(row) for row in (1, 2, 5, 7)] == [FULL, None, CORDONED, FULL]
    assert [statuses.get(row) for row in (-1, 3, 99)] == [None, None, None]
    assert list(statuses.own()) == [(1, FULL), (5, CORDONED), (7, FULL)]


def test_rows_by_code(statuses: NodeStatuses) -> None:
    assert statuses.with_code(Code.UNSCHEDULABLE).tolist() == [1, 7]
    assert statuses.with_code(Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist() == [5]
    assert statuses.with_code(Code.PENDING).tolist() == []


def test_reasons_are_counted(statuses: NodeStatuses) -> None:
    assert statuses.histogram() == {"Insufficient cpu": 2, "Too many pods": 2, "node(s) were unschedulable": 1}
    assert statuses.plugins() == {"Fit", "Unschedulable"}
    assert statuses.plugins(Code.UNSCHEDULABLE) == {"Fit"}


def test_a_status_that_was_taken_back_counts_no_more(statuses: NodeStatuses) -> None:
    statuses.assign(5, FULL)
    assert "node(s) were unschedulable" not in statuses.histogram()
    assert statuses.plugins() == {"Fit"}


def test_rows_never_looked_at_share_a_status() -> None:
    left_out = unresolvable("left out")
    statuses = NodeStatuses(np.array([0, 3], dtype=np.intp), absent=left_out)
    statuses.assign(0, FULL)
    assert statuses.get(3) is left_out
    assert statuses.with_code(Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist() == [3]
    assert statuses.histogram()["left out"] == 1
    assert list(statuses.own()) == [(0, FULL)]


def test_no_rows_at_all() -> None:
    statuses = NodeStatuses(np.array([], dtype=np.intp))
    assert statuses.histogram() == {}
    assert statuses.plugins() == set()
    assert statuses.with_code(Code.UNSCHEDULABLE).tolist() == []


def test_the_sentence() -> None:
    assert fit_message(3, {}) == "0/3 nodes are available:"
    assert fit_message(3, {"b": 1, "a": 12, "c": 2}) == "0/3 nodes are available: 1 b, 12 a, 2 c."
    assert fit_message(3, {"b": 1}, "no volume") == "0/3 nodes are available: no volume."


@pytest.mark.parametrize(
    ("code", "label"),
    [
        (Code.SUCCESS, "Success"),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "UnschedulableAndUnresolvable"),
        (Code.PENDING, "Pending"),
    ],
)
def test_codes_have_kube_schedulers_names(code: Code, label: str) -> None:
    assert code.label == label


def test_a_status_bears_the_name_of_who_gave_it() -> None:
    named = unschedulable("x", "y").by("Fit")
    assert (named.plugin, named.message) == ("Fit", "x, y")
    assert named.by("Fit") is named
    assert named.is_rejection
    assert not Status(Code.ERROR).is_rejection
    assert not Status(Code.WAIT).is_rejection
