from typing import TYPE_CHECKING

import pytest

from moorage.config.gates import features_of
from moorage.framework.events import Action, ClusterEvent, Resource, on
from moorage.objects import Node, ObjectMeta
from moorage.queue import Place, QueuedPod, SchedulingQueue
from moorage.queue.inflight import InFlightPods
from moorage.queue.moves import ASSIGNED_POD_DELETE, NODE_ADD, ObjectEvent

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Hints, World

LABEL = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)


def pop(queue: SchedulingQueue) -> QueuedPod:
    queued = queue.pop()
    assert queued is not None
    return queued


def test_a_popped_pod_is_in_flight_until_done(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    queued = pop(queue)
    assert queued.attempts == 1
    assert queue.scheduling_cycle == 1
    assert queue.in_flight() == [queued.pod]
    assert queue.pods() == []
    queue.done(queued.pod.uid)
    assert queue.in_flight() == []
    queue.done("uid-nobody")


def test_a_pod_added_again_while_in_flight_is_dropped_when_popped(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a", priority=1))
    pop(queue)
    queue.add(world.pod("a", priority=1))
    queue.add(world.pod("b"))
    assert pop(queue).pod.name == "b"
    assert [pod.name for pod in queue.in_flight()] == ["a", "b"]
    assert queue.scheduling_cycle == 2


@pytest.mark.parametrize(
    ("event", "plugins", "pending", "where"),
    [
        (None, ["Fit"], [], Place.UNSCHEDULABLE),
        (NODE_ADD, ["Fit"], [], Place.BACKOFF),
        (NODE_ADD, [], ["Fit"], Place.ACTIVE),
        (NODE_ADD, ["Ports"], [], Place.UNSCHEDULABLE),
        (ASSIGNED_POD_DELETE, ["Fit"], [], Place.UNSCHEDULABLE),
        (ASSIGNED_POD_DELETE, ["Fit", "Ports"], [], Place.BACKOFF),
        (ASSIGNED_POD_DELETE, ["Ports"], ["Fit"], Place.BACKOFF),
        (LABEL, ["Fit", "Ports"], [], Place.UNSCHEDULABLE),
        (None, [], [], Place.BACKOFF),
    ],
)
def test_events_missed_in_flight_are_replayed(
    world: "World", event: ClusterEvent | None, plugins: list[str], pending: list[str], where: Place
) -> None:
    queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD)], "Ports": [on(Resource.POD, Action.DELETE)]})
    queue.add(world.pod("a"))
    queued = pop(queue)
    if event is not None:
        queue.move_on_event(event)
    assert queue.return_unschedulable(queued, plugins, pending) is where
    assert queue.in_flight() == []


def test_a_later_event_of_a_pending_plugin_outweighs_an_earlier_one(world: "World") -> None:
    queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD)], "Ports": [on(Resource.POD, Action.DELETE)]})
    queue.add(world.pod("a"))
    queued = pop(queue)
    queue.move_on_event(ASSIGNED_POD_DELETE)
    queue.move_on_event(NODE_ADD)
    assert queue.return_unschedulable(queued, ["Ports"], ["Fit"]) is Place.ACTIVE


def test_events_before_the_pod_was_popped_are_not_replayed(world: "World", hints: "Hints") -> None:
    queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints)]})
    queue.add(world.pod("a"))
    queue.add(world.pod("b"))
    nodes = [Node(metadata=ObjectMeta(name=str(number))) for number in range(4)]
    queue.move_on_event(NODE_ADD, None, nodes[0])
    a = pop(queue)
    queue.move_on_event(NODE_ADD, None, nodes[1])
    b = pop(queue)
    queue.move_on_event(NODE_ADD, None, nodes[2])
    queue.return_unschedulable(b, ["Fit"])
    queue.move_on_event(NODE_ADD, None, nodes[3])
    queue.return_unschedulable(a, ["Fit"])
    assert [(name, new.metadata.name) for name, _, new in hints.asked] == [
        ("b", "2"),
        ("b", "3"),  # by then it waited, and was asked for as everybody
        ("a", "1"),
        ("a", "2"),
        ("a", "3"),
    ]


def test_events_are_kept_only_while_some_pod_needs_them(world: "World") -> None:
    queue = world.queue()
    queue.move_on_event(NODE_ADD)
    assert queue.in_flight_counts() == {"PodPopped": 0}
    for name in ("a", "b"):
        queue.add(world.pod(name))
    a = pop(queue)
    queue.move_on_event(NODE_ADD)
    queue.move_on_event(LABEL)  # concerns no plugin
    b = pop(queue)
    queue.move_on_event(NODE_ADD)
    assert queue.in_flight_counts() == {"NodeAdd": 2, "PodPopped": 2}
    queue.done(a.pod.uid)
    assert queue.in_flight_counts() == {"NodeAdd": 1, "PodPopped": 1}
    queue.done(b.pod.uid)
    assert queue.in_flight_counts() == {"PodPopped": 0}


def test_a_pod_done_out_of_turn_leaves_the_events_of_older_ones(world: "World") -> None:
    in_flight = InFlightPods()
    older, newer = world.pod("older"), world.pod("newer")
    in_flight.depart(older)
    in_flight.record(ObjectEvent(NODE_ADD))
    in_flight.depart(newer)
    in_flight.done(newer.uid)
    events = in_flight.events_since_departure(older.uid)
    assert events is not None
    assert [happened.event for happened in events] == [NODE_ADD]


def test_the_log_is_bounded_and_pods_that_miss_events_count_as_woken(world: "World") -> None:
    in_flight = InFlightPods(max_events=3)
    older, newer = world.pod("older"), world.pod("newer")
    in_flight.depart(older)
    for _ in range(2):
        in_flight.record(ObjectEvent(NODE_ADD))
    in_flight.depart(newer)
    for _ in range(3):
        in_flight.record(ObjectEvent(LABEL))
    assert in_flight.counts() == {"NodeUpdateNodeLabel": 3, "PodPopped": 2}
    assert in_flight.events_since_departure(older.uid) is None
    events = in_flight.events_since_departure(newer.uid)
    assert events is not None
    assert [happened.event for happened in events] == [LABEL] * 3
    in_flight.done(older.uid)
    assert in_flight.counts()["NodeUpdateNodeLabel"] == 3


def test_a_pod_whose_events_are_not_known_is_retried(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    queued = pop(queue)
    queue.done(queued.pod.uid)
    assert queue.return_unschedulable(queued, ["Fit"]) is Place.BACKOFF


def test_members_of_pod_groups_are_retried_by_backoff_alone(world: "World") -> None:
    for enabled, where in ((True, Place.BACKOFF), (False, Place.UNSCHEDULABLE)):
        queue = world.queue(features=features_of(gates={"GenericWorkload": enabled}))
        queue.add(world.pod("a", group="g"))
        assert queue.return_unschedulable(pop(queue), ["Fit"]) is where


def test_a_pod_comes_back_as_it_is_now_and_behind_those_that_waited(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    queued = pop(queue)
    world.time = 1005.0
    queue.add(world.pod("b"))
    world.time = 1007.0
    now = world.pod("a", labels={"new": "yes"})
    queue.return_unschedulable(queued, pod=now)
    assert queued.pod is now
    assert queued.timestamp == 1007.0
    world.time = 1009.0
    queue.flush_backoff()
    assert [queued.pod.name for queued in iter(queue.pop, None)] == ["b", "a"]


def test_a_pod_made_anew_under_its_name_outlives_the_one_that_comes_back(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a", uid="old"))
    old = pop(queue)
    queue.delete(old.pod)
    queue.add(world.pod("a", uid="new"))
    assert queue.return_unschedulable(old, ["Fit"]) is None
    assert queue.in_flight() == []
    assert [queued.pod.uid for _, queued in queue.pods()] == ["new"]


def test_the_first_attempt_is_remembered(world: "World") -> None:
    queue = world.queue()
    queue.add(world.pod("a"))
    world.time = 1001.0
    queued = pop(queue)
    queue.return_unschedulable(queued)
    world.time = 1005.0
    queue.flush_backoff()
    assert pop(queue).initial_attempt_timestamp == 1000.0
