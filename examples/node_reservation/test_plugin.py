"""Room that is kept is kept, is used by whom it is for, and is free again at its end."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from examples.node_reservation.plugin import NodeReservation, Reservation

from moorage.testing import Cluster, PodBuilder, Run, a_node, a_pod


def reservation(cpu: str, until: float | None = None, name: str = "r") -> dict[str, Any]:
    spec: dict[str, Any] = {"nodeName": "n", "amounts": {"cpu": cpu}, "labels": {"team": "ml"}}
    if until is not None:
        spec["until"] = datetime.fromtimestamp(until, UTC).isoformat()
    return {"apiVersion": "example.com/v1", "kind": "Reservation", "metadata": {"name": name}, "spec": spec}


def pod(name: str, cpu: str, **labels: str) -> PodBuilder:
    return a_pod(name).requests(cpu=cpu).labels(**labels)


@pytest.fixture
def run() -> Run:
    config = Path(__file__).with_name("scheduler.yaml")
    return Cluster(a_node("n").allocatable(cpu="4")).run(plugins=[NodeReservation], config=config)


def test_what_is_reserved_is_not_free_for_others(run: Run) -> None:
    run.add(reservation("3"), pod("web", "2"), pod("small", "1"))
    assert run.node_of("small") == "n"
    assert run.condition("web")[1].startswith("0/1 nodes are available: 1 node(s) had their room reserved for others")


def test_whom_it_is_for_uses_it_up_and_is_noted(run: Run) -> None:
    run.add(reservation("3"), pod("train", "2", team="ml"))
    assert run.node_of("train") == "n"
    assert run.get(Reservation, "r").status.used_by == ("default/train",)
    run.add(pod("web", "1"))
    assert run.node_of("web") == "n", "of the three reserved one is still kept, of the four one is free"
    run.add(pod("web-2", "1"))
    assert run.node_of("web-2") == ""


def test_at_its_end_the_room_is_anybodys(run: Run) -> None:
    run.add(reservation("3", until=run.now + 300), pod("web", "2"))
    run.advance(290)
    assert run.node_of("web") == ""
    run.advance(40)
    assert run.node_of("web") == "n"


def test_one_that_is_taken_back_wakes_who_waits(run: Run) -> None:
    run.add(reservation("3"), pod("web", "2"))
    run.remove(Reservation, "r")
    run.advance(15)
    assert run.node_of("web") == "n"


def test_whom_it_is_for_prefers_its_node() -> None:
    cluster = Cluster(a_node("n"), a_node("other").allocatable(cpu="64"), reservation("3"))
    cluster.decide(pod("train", "2", team="ml"), plugins=[NodeReservation]).assert_chosen("n")
    cluster.decide(pod("web", "2"), plugins=[NodeReservation]).assert_chosen("other")
