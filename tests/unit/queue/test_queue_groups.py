"""Groups in the queue: tried, backed off, gated and ordered as one."""

from typing import TYPE_CHECKING, Any

import pytest

from moorage.columns import PodInfo
from moorage.config.gates import features_of
from moorage.framework.events import Action, ClusterEvent, Resource, on
from moorage.framework.status import Status, error, unresolvable, unschedulable
from moorage.queue import Group, Place, QueuedGroup, QueuedPod, SchedulingQueue

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Gate, World

GANG = "podgroups/default/g"
FEATURES = features_of("1.37", {"GenericWorkload": True})
POD_ADDED = ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD)


def a_queue(world: "World", *gates: Any, **options: Any) -> SchedulingQueue:
    registered = {"Fit": [on(Resource.NODE, Action.ADD)], "Gang": [on(Resource.UNSCHEDULED_POD, Action.ADD)]}
    return world.queue(registered, [("Gang", gate) for gate in gates], features=FEATURES, holds_groups=True, **options)


def known(queue: SchedulingQueue) -> SchedulingQueue:
    queue.set_group(Group(GANG))
    return queue


def add(world: "World", queue: SchedulingQueue, *names: str, **fields: Any) -> None:
    for name in names:
        queue.add(world.pod(name, group="g", **fields))


def names(entity: Any) -> list[str]:
    return [member.pod.name for member in entity.members]


def seen(queue: SchedulingQueue) -> list[tuple[str, str, list[str]]]:
    return [(place.value, queued.key, names(queued)) for place, queued in queue.pods()]


def pop(queue: SchedulingQueue) -> QueuedGroup:
    entity = queue.pop_entity()
    assert isinstance(entity, QueuedGroup)
    return entity


def fail(queue: SchedulingQueue, group: QueuedGroup, status: Status | None = None) -> Place | None:
    for member in group.members:
        queue.return_unschedulable(member, ["Fit"])
    return queue.return_group(group, status or unschedulable("no"))


def test_a_pod_without_its_group_is_incomplete_until_the_group_is_there(world: "World") -> None:
    queue = a_queue(world)
    add(world, queue, "a", "b")
    assert not queue.has_ready
    assert [member.pod.name for member in queue.incomplete()] == ["a", "b"]
    queue.set_group(Group(GANG))
    assert seen(queue) == [("active", GANG, ["a", "b"])]
    assert queue.incomplete() == []


def test_members_are_tried_together_by_priority_attempts_and_time(world: "World") -> None:
    queue = known(a_queue(world))
    add(world, queue, "b")
    world.time += 1
    add(world, queue, "a", "c")
    add(world, queue, "d", priority=5)
    group = pop(queue)
    assert (group.key, names(group)) == (GANG, ["d", "b", "a", "c"])
    assert [member.attempts for member in group.members] == [1, 1, 1, 1]
    assert queue.pop_entity() is None
    fail(queue, group)
    add(world, queue, "e")
    assert seen(queue) == [("backoff", GANG, ["d", "a", "b", "c", "e"])]


def test_groups_and_pods_stand_in_one_order(world: "World") -> None:
    queue = a_queue(world)
    queue.set_group(Group(GANG, priority=5))
    add(world, queue, "member", priority=1)
    queue.add(world.pod("low", priority=4))
    queue.add(world.pod("high", priority=6))
    order = [queue.pop_entity() for _ in range(3)]
    assert [entity.key for entity in order if entity] == ["default/high", GANG, "default/low"]
    assert isinstance(order[0], QueuedPod)


def test_a_changed_priority_of_the_group_changes_its_place(world: "World") -> None:
    queue = known(a_queue(world))
    add(world, queue, "member")
    queue.add(world.pod("single", priority=4))
    queue.set_group(Group(GANG, priority=5))
    assert [queued.key for _, queued in queue.pods()] == [GANG, "default/single"]


def test_a_rejected_group_is_retried_by_back_off_alone_and_longer_the_larger_it_is(world: "World") -> None:
    queue = known(a_queue(world, max_backoff=4.0))
    add(world, queue, "a", "b", "c", "d")
    waits = []
    for _ in range(5):
        group = pop(queue)
        assert fail(queue, group) is Place.BACKOFF
        assert not queue.has_ready
        deadline = queue.next_deadline()
        assert deadline is not None
        waits.append(deadline - world.time)
        world.time = deadline
        queue.flush_backoff()
    assert waits == [2.0, 3.0, 5.0, 9.0, 9.0]


def test_a_success_lets_those_left_be_tried_again_at_once(world: "World") -> None:
    queue = known(a_queue(world))
    add(world, queue, "a", "b")
    group = pop(queue)
    first = group.timestamp
    world.time += 5
    bound, left = group.members
    queue.done(bound.pod.uid)
    queue.return_unschedulable(left, ["Fit"])
    assert queue.return_group(group, None) is Place.ACTIVE
    assert seen(queue) == [("active", GANG, ["b"])]
    assert pop(queue).timestamp == first


def test_a_broken_cycle_counts_apart_from_rejections(world: "World") -> None:
    queue = known(a_queue(world))
    add(world, queue, "a")
    group = pop(queue)
    fail(queue, group, error("it broke"))
    assert (group.consecutive_errors, group.unschedulable_count) == (1, 0)


def test_nothing_is_queued_when_all_were_bound(world: "World") -> None:
    queue = known(a_queue(world))
    add(world, queue, "a")
    group = pop(queue)
    queue.done(group.members[0].pod.uid)
    assert queue.return_group(group, None) is None
    assert seen(queue) == []


def test_a_pod_that_comes_while_its_group_is_tried_joins_when_it_is_back(world: "World") -> None:
    queue = known(a_queue(world))
    add(world, queue, "a")
    group = pop(queue)
    add(world, queue, "late")
    assert seen(queue) == []
    queue.done(group.members[0].pod.uid)
    assert queue.return_group(group, None) is Place.ACTIVE
    assert seen(queue) == [("active", GANG, ["late"])]


class TestGates:
    def test_one_gated_member_keeps_all_of_them_out(self, world: "World", gate: "Gate") -> None:
        gate.names = {"b"}
        queue = known(a_queue(world, gate.pre_enqueue))
        add(world, queue, "a", "b")
        assert seen(queue) == [("gated", GANG, ["a", "b"])]
        gate.names.clear()
        assert queue.move_on_event(POD_ADDED, None, world.pod("c").pod) == 1
        assert seen(queue) == [("active", GANG, ["a", "b"])]

    def test_a_group_is_gated_until_there_are_enough(self, world: "World") -> None:
        there: list[str] = []

        def pre_enqueue(_pod: PodInfo) -> Status | None:
            return None if len(there) >= 2 else unresolvable("too few")

        queue = known(a_queue(world, pre_enqueue))
        for name in "ab":
            there.append(name)
            add(world, queue, name)
        assert seen(queue) == [("active", GANG, ["a", "b"])]
        there.pop()
        queue.delete(world.pod("b", group="g"))
        assert seen(queue) == [("gated", GANG, ["a"])]


class TestComingAndGoing:
    def test_a_member_that_goes_leaves_the_others_where_they_are(self, world: "World") -> None:
        queue = known(a_queue(world))
        add(world, queue, "a", "b")
        fail(queue, pop(queue))
        queue.delete(world.pod("a", group="g"))
        assert seen(queue) == [("backoff", GANG, ["b"])]
        queue.delete(world.pod("b", group="g"))
        assert seen(queue) == []

    def test_a_group_that_goes_leaves_its_pods_incomplete(self, world: "World") -> None:
        queue = known(a_queue(world))
        add(world, queue, "a", "b")
        queue.remove_group(GANG)
        assert (seen(queue), len(queue.incomplete())) == ([], 2)
        queue.delete(world.pod("a", group="g"))
        assert [member.pod.name for member in queue.incomplete()] == ["b"]

    def test_also_while_it_is_tried(self, world: "World") -> None:
        queue = known(a_queue(world))
        add(world, queue, "a", "b")
        group = pop(queue)
        queue.return_unschedulable(group.members[0], ["Fit"])
        queue.remove_group(GANG)
        queue.return_unschedulable(group.members[1], ["Fit"])
        assert queue.return_group(group, unschedulable("no")) is None
        assert sorted(member.pod.name for member in queue.incomplete()) == ["a", "b"]

    def test_an_update_reaches_a_member_wherever_it_is(self, world: "World") -> None:
        queue = a_queue(world)
        add(world, queue, "a")
        queue.update(world.pod("a", group="g"), world.pod("a", group="g", labels={"now": "1"}))
        assert queue.incomplete()[0].pod.labels == {"now": "1"}
        known(queue)
        queue.update(world.pod("a", group="g"), world.pod("a", group="g", labels={"now": "2"}))
        [(_, group)] = queue.pods()
        assert group.members[0].pod.labels == {"now": "2"}
        fail(queue, pop(queue))
        queue.update(world.pod("a", group="g"), world.pod("a", group="g", labels={"now": "3"}))
        assert group.members[0].pod.labels == {"now": "3"}

    def test_to_activate_a_member_activates_its_group(self, world: "World") -> None:
        queue = known(a_queue(world))
        add(world, queue, "a", "b")
        fail(queue, pop(queue))
        queue.activate([world.pod("b", group="g")])
        assert seen(queue) == [("active", GANG, ["a", "b"])]


class TestTrees:
    ROOT = "compositepodgroups/default/root"

    def test_leaves_are_queued_with_their_root_once_all_above_them_is_there(self, world: "World") -> None:
        queue = a_queue(world)
        queue.set_group(Group(GANG, parent=self.ROOT))
        queue.set_group(Group("podgroups/default/h", parent=self.ROOT))
        add(world, queue, "a")
        queue.add(world.pod("b", group="h"))
        assert seen(queue) == []
        queue.set_group(Group(self.ROOT, priority=7))
        [(place, entity)] = queue.pods()
        assert (place, entity.key, names(entity), entity.pod.priority) == (Place.ACTIVE, self.ROOT, ["a", "b"], 7)

    def test_a_leaf_that_goes_takes_its_pods_along(self, world: "World") -> None:
        queue = a_queue(world)
        for group in (Group(self.ROOT), Group(GANG, parent=self.ROOT), Group("podgroups/default/h", parent=self.ROOT)):
            queue.set_group(group)
        add(world, queue, "a")
        queue.add(world.pod("b", group="h"))
        queue.remove_group(GANG)
        assert seen(queue) == [("active", self.ROOT, ["b"])]
        queue.remove_group(self.ROOT)
        assert sorted(member.pod.name for member in queue.incomplete()) == ["a", "b"]

    def test_groups_in_a_ring_have_no_root(self, world: "World") -> None:
        queue = a_queue(world)
        queue.set_group(Group(self.ROOT, parent="compositepodgroups/default/other"))
        queue.set_group(Group("compositepodgroups/default/other", parent=self.ROOT))
        queue.set_group(Group(GANG, parent=self.ROOT))
        add(world, queue, "a")
        assert len(queue.incomplete()) == 1


def test_without_groups_held_members_are_pods_like_others(world: "World") -> None:
    queue = world.queue(features=FEATURES)
    queue.set_group(Group(GANG))
    add(world, queue, "a")
    assert seen(queue) == [("active", "default/a", ["a"])]


def test_a_group_is_no_pod(world: "World") -> None:
    queue = known(a_queue(world))
    add(world, queue, "a")
    with pytest.raises(AssertionError, match="tried as a group"):
        queue.pop()
