"""Expectations, freshness, amounts, conditions, the graph of owners."""

import pytest

from moorage.controllers.garbage.graph import Graph
from moorage.controllers.objects.meta import Condition, Managed, with_condition
from moorage.controllers.objects.workloads import IntOrPercent, scaled
from moorage.controllers.runtime.expectations import PATIENCE, Expectations, Freshness
from moorage.kube.paths import resource_of
from moorage.objects import convert

KEY = ("ns", "owner")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_was_created_and_deleted_has_to_come_back() -> None:
    expectations = Expectations(Clock())
    assert expectations.are_met(KEY)
    expectations.created(KEY, "a")
    expectations.deleted(KEY, ["b"])
    expectations.saw(KEY, "a")
    assert not expectations.are_met(KEY)
    expectations.saw_gone(KEY, "b")
    assert expectations.are_met(KEY)


def test_what_never_comes_back_is_not_waited_for_for_ever() -> None:
    clock = Clock()
    expectations = Expectations(clock)
    expectations.created(KEY, "a")
    clock.now = PATIENCE + 1
    assert expectations.are_met(KEY)


def test_expectations_of_one_owner_do_not_hold_up_another() -> None:
    expectations = Expectations(Clock())
    expectations.created(KEY, "a")
    assert expectations.are_met(("ns", "other"))


def seen(version: str, uid: str = "1") -> Managed:
    return convert({"metadata": {"namespace": "ns", "name": "owner", "uid": uid, "resourceVersion": version}}, Managed)


def test_what_is_older_than_our_own_write_is_not_fresh() -> None:
    freshness = Freshness()
    freshness.wrote({"metadata": {"namespace": "ns", "name": "owner", "uid": "1", "resourceVersion": "10"}})
    assert not freshness.is_fresh(seen("9"))
    assert freshness.is_fresh(seen("9", uid="2"))
    assert freshness.is_fresh(seen("10"))


@pytest.mark.parametrize(
    ("value", "up", "expected"),
    [(3, True, 3), ("50%", True, 4), ("50%", False, 3), ("0%", True, 0), ("100%", False, 7), ("nonsense", True, 0)],
)
def test_amounts_may_be_shares(value: IntOrPercent, up: bool, expected: int) -> None:
    assert scaled(value, 7, round_up=up) == expected


def test_a_condition_keeps_its_time_while_its_status_does() -> None:
    first = Condition("Ready", "True", "A", last_transition_time="1")
    conditions = with_condition((first,), Condition("Ready", "True", "B", last_transition_time="2"))
    assert conditions == (Condition("Ready", "True", "B", last_transition_time="1"),)
    conditions = with_condition(conditions, Condition("Ready", "False", "C", last_transition_time="3"))
    assert conditions[0].last_transition_time == "3"
    assert with_condition((first,), Condition("Ready", "True", "A", last_transition_time="9")) == (first,)


PODS = resource_of("Pod")


def owned(uid: str, *owners: str, **metadata: object) -> Managed:
    references = [{"kind": "X", "name": each, "uid": each, "blockOwnerDeletion": each == "blocked"} for each in owners]
    return convert({"metadata": {"name": uid, "uid": uid, "ownerReferences": references, **metadata}}, Managed)


def test_the_graph_knows_dependents_of_owners_it_has_not_seen() -> None:
    graph = Graph()
    graph.put(PODS, owned("pod", "owner"))
    assert [each.metadata.uid for each in graph.dependents("owner")] == ["pod"]
    assert "owner" not in graph


def test_the_graph_forgets_owners_that_were_given_up() -> None:
    graph = Graph()
    graph.put(PODS, owned("pod", "a", "b"))
    graph.put(PODS, owned("pod", "b"))
    assert not graph.has_dependents("a")
    assert graph.has_dependents("b")
    graph.remove("pod")
    assert not graph.has_dependents("b")


def test_who_goes_in_the_foreground_waits_for_those_that_block() -> None:
    graph = Graph()
    terminating = {"deletionTimestamp": "2001-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
    assert graph.put(PODS, owned("blocked", **terminating)).waits_for_dependents
    assert graph.put(PODS, owned("pod", "blocked")).blocks("blocked")
    assert not graph.put(PODS, owned("other", "free")).blocks("free")
