"""Who is asked about an event, how often, when, and in which order."""

from typing import TYPE_CHECKING, Any

import pytest

from moorage.columns import PodInfo
from moorage.framework.events import Action, ClusterEvent, Hint, Resource, nothing_of_pod, on, spec_of_pod
from moorage.objects import Node
from moorage.queue import Place, SchedulingQueue
from moorage.queue.moves import ASSIGNED_POD_DELETE, NODE_ADD

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Hints, World


def looks(number: int) -> Any:
    """Time is up after so many looks at the clock."""
    left = iter(range(number))
    return lambda: next(left, None) is None


def places(queue: SchedulingQueue, place: Place) -> list[str]:
    return [queued.key.removeprefix("default/") for where, queued in queue.pods() if where is place]


def team(pod: PodInfo) -> str:
    return pod.labels["team"]


def rejected(world: "World", queue: SchedulingQueue, **teams: str) -> None:
    """Pods of these teams, each with the priority that its name ends on."""
    for name, its_team in teams.items():
        queue.add(world.pod(name, labels={"team": its_team}, priority=int(name[-1])))
        queued = queue.pop()
        assert queued is not None
        queue.return_unschedulable(queued, ["Fit"])
    world.time += 100


class TestOneAnswerForAllAlike:
    def test_a_hint_that_says_what_it_reads_is_asked_once_for_pods_alike(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=team)]})
        rejected(world, queue, a0="red", b0="red", c0="blue", d0="red")
        hints.names = {"a0"}
        queue.move_on_event(NODE_ADD, None, Node())
        assert [name for name, _, _ in hints.asked] == ["a0", "c0"]
        assert places(queue, Place.ACTIVE) == ["a0", "b0", "d0"]

    @pytest.mark.parametrize(("reads", "asked"), [(nothing_of_pod, 1), (spec_of_pod, 2), (None, 4)])
    def test_what_a_hint_reads_says_how_often_it_is_asked(
        self, world: "World", hints: "Hints", reads: Any, asked: int
    ) -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=reads)]})
        for name, cpu in (("a", "1"), ("b", "2"), ("c", "1"), ("d", "2")):
            queue.add(world.pod(name, cpu=cpu))
            queued = queue.pop()
            assert queued is not None
            queue.return_unschedulable(queued, ["Fit"])
        queue.move_on_event(NODE_ADD, None, Node())
        assert len(hints.asked) == asked

    def test_a_plugin_with_a_hint_that_does_not_say_is_asked_for_each_pod(self, world: "World", hints: "Hints") -> None:
        silent = on(Resource.POD, Action.DELETE, hints)
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=team), silent]})
        rejected(world, queue, a0="red", b0="red")
        queue.move_on_event(NODE_ADD, None, Node())
        assert len(hints.asked) == 2

    def test_pods_that_wait_for_something_outside_are_asked_by_themselves(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=nothing_of_pod)]})
        for name in ("a", "b"):
            queue.add(world.pod(name))
            queued = queue.pop()
            assert queued is not None
            queue.return_unschedulable(queued, [], ["Fit"])
        hints.names = {"b"}
        queue.move_on_event(NODE_ADD, None, Node())
        assert (places(queue, Place.ACTIVE), places(queue, Place.UNSCHEDULABLE)) == (["b"], ["a"])

    def test_what_a_declaration_breaks_on_is_told_and_the_pod_asked_by_itself(
        self, world: "World", hints: "Hints", caplog: pytest.LogCaptureFixture
    ) -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=team)]})
        queue.add(world.pod("a"))
        queued = queue.pop()
        assert queued is not None
        queue.return_unschedulable(queued, ["Fit"])
        hints.names = {"a"}
        assert queue.move_on_event(NODE_ADD, None, Node()) == 1
        assert "KeyError: 'team' (at queue/test_queue_asking.py:" in caplog.text

    def test_a_pod_that_changes_what_hints_read_is_asked_about_with_others(
        self, world: "World", hints: "Hints"
    ) -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=team)]}, puts_off=True)
        rejected(world, queue, a0="red", b0="red")
        hints.names = {"b0"}
        queue.move_on_event(NODE_ADD, None, Node())
        queue.update(world.pod("b0", labels={"team": "red"}), world.pod("b0", labels={"team": "blue"}))
        assert places(queue, Place.ACTIVE) == ["b0"], "the event came before the change"
        assert hints.asked[0][0] == "b0"


class TestPuttingOff:
    def test_nothing_is_asked_before_there_is_time(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints)]}, puts_off=True)
        rejected(world, queue, a0="red")
        hints.names = {"a0"}
        assert queue.move_on_event(NODE_ADD, None, Node()) == 0
        assert (hints.asked, queue.has_work, queue.has_ready) == ([], True, False)
        queue.work()
        assert (queue.has_work, places(queue, Place.ACTIVE)) == (False, ["a0"])

    def test_pods_of_high_priority_are_asked_about_first(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=team)]}, puts_off=True)
        rejected(world, queue, low1="red", high9="red", mid5="blue")
        queue.move_on_event(NODE_ADD, None, Node())
        queue.work(looks(2))
        assert [name for name, _, _ in hints.asked] == ["high9", "mid5"]
        queue.work()
        assert [name for name, _, _ in hints.asked] == ["high9", "mid5", "low1"]

    def test_a_pod_is_popped_before_those_of_its_priority_are_asked_about(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints)]}, puts_off=True)
        rejected(world, queue, same3="red", low1="red")
        queue.move_on_event(NODE_ADD, None, Node())
        queue.add(world.pod("new", priority=3))
        queued = queue.pop()
        assert queued is not None
        assert (queued.pod.name, hints.asked) == ("new", [])

    def test_those_of_higher_priority_are_asked_about_before_a_pod_is_popped(
        self, world: "World", hints: "Hints"
    ) -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints)]}, puts_off=True)
        rejected(world, queue, high9="red", low1="red")
        hints.names = {"high9", "low1"}
        queue.move_on_event(NODE_ADD, None, Node())
        queue.add(world.pod("new", priority=3))
        assert queue.pop(looks(0)) is None, "there was no time to ask"
        queued = queue.pop()
        assert queued is not None
        assert (queued.pod.name, [name for name, _, _ in hints.asked]) == ("high9", ["high9"])

    def test_events_before_a_pod_waited_here_do_not_concern_it(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=team)]}, puts_off=True)
        rejected(world, queue, old0="red")
        queue.move_on_event(NODE_ADD, None, Node())
        rejected(world, queue, young0="red")
        hints.names = {"old0", "young0"}
        queue.work()
        assert (places(queue, Place.ACTIVE), places(queue, Place.UNSCHEDULABLE)) == (["old0"], ["young0"])

    def test_a_pod_that_is_being_tried_hears_of_it_at_once(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints)]}, puts_off=True)
        queue.add(world.pod("a"))
        queued = queue.pop()
        assert queued is not None
        hints.names = {"a"}
        queue.move_on_event(NODE_ADD, None, Node())
        assert queue.return_unschedulable(queued, ["Fit"]) is Place.BACKOFF

    def test_the_first_event_that_helps_is_the_last_one_asked_about(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints, reads=team)]}, puts_off=True)
        rejected(world, queue, a0="red", b0="red")
        hints.names = {"a0"}
        for _ in range(100):
            queue.move_on_event(NODE_ADD, None, Node())
        queue.work()
        assert len(hints.asked) == 1

    def test_many_are_woken_in_slices(self, world: "World") -> None:
        queue = world.queue({"Fit": [on(Resource.POD, Action.DELETE)]}, puts_off=True)
        rejected(world, queue, **{f"p{index}x0": "red" for index in range(200)})
        queue.move_on_event(ASSIGNED_POD_DELETE, world.pod("gone").pod)
        slices = 0
        while queue.has_work:
            before = len(places(queue, Place.ACTIVE))
            queue.work(looks(2))
            assert len(places(queue, Place.ACTIVE)) - before <= 64
            slices += 1
        assert (len(places(queue, Place.ACTIVE)), slices > 3) == (200, True)

    def test_back_off_that_ends_for_many_ends_in_slices(self, world: "World") -> None:
        queue = world.queue(puts_off=True)
        for index in range(200):
            queue.add(world.pod(f"p{index}"))
        for _ in range(200):
            queued = queue.pop()
            assert queued is not None
            queue.return_unschedulable(queued)
        world.time += 100
        assert 0 < queue.flush_backoff(looks(0)) < 200
        assert queue.has_work
        queue.work()
        assert (len(places(queue, Place.ACTIVE)), queue.has_work) == (200, False)

    def test_whom_a_hint_activates_is_not_woken_again(self, world: "World") -> None:
        def activating(_pod: PodInfo, _old: object, _new: object) -> Hint:
            queue.activate([world.pod("b0")])
            return Hint.QUEUE

        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, activating, reads=team)]}, puts_off=True)
        rejected(world, queue, a0="red", b0="red")
        queue.move_on_event(NODE_ADD, None, Node())
        queue.work()
        assert sorted(places(queue, Place.ACTIVE)) == ["a0", "b0"]

    def test_an_event_that_concerns_nobody_is_not_kept(self, world: "World", hints: "Hints") -> None:
        queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD, hints)]}, puts_off=True)
        queue.move_on_event(NODE_ADD, None, Node())
        queue.move_on_event(ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL), Node(), Node())
        assert not queue.has_work
