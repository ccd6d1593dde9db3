import logging
from typing import TYPE_CHECKING

import pytest

from moorage.config.gates import features_of
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource, on
from moorage.objects import Node
from moorage.queue import EXTENDER, Place, ProfileHints, QueuedPod, SchedulingQueue
from moorage.queue.hints import HintBook, Requeue
from moorage.queue.moves import FORCE_ACTIVATE, NODE_ADD, UNSCHEDULABLE_TIMEOUT, ObjectEvent, event_label

if TYPE_CHECKING:
    from tests.unit.queue.conftest import Hints, World

TAINT = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
LABEL = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)


def queue_hint(*_: object) -> Hint:
    return Hint.QUEUE


def skip_hint(*_: object) -> Hint:
    return Hint.SKIP


def broken_hint(*_: object) -> Hint:
    raise RuntimeError("a bug")


def book(world: "World", *registrations: tuple[str, EventHint]) -> HintBook:
    by_plugin: dict[str, list[EventHint]] = {}
    for plugin, registration in registrations:
        by_plugin.setdefault(plugin, []).append(registration)
    return HintBook({"default-scheduler": ProfileHints(by_plugin)}, world.now)


def record(world: "World", unschedulable: str = "", pending: str = "") -> QueuedPod:
    queued = QueuedPod(world.pod("a"), 0.0)
    queued.unschedulable_plugins = frozenset(unschedulable)
    queued.pending_plugins = frozenset(pending)
    return queued


@pytest.mark.parametrize(
    ("unschedulable", "pending", "saying", "verdict"),
    [
        ("", "", "", Requeue.AFTER_BACKOFF),
        ("A", "", "", Requeue.SKIP),
        ("A", "", "A", Requeue.AFTER_BACKOFF),
        ("A", "", "B", Requeue.SKIP),
        ("AB", "", "B", Requeue.AFTER_BACKOFF),
        ("", "A", "A", Requeue.IMMEDIATELY),
        ("A", "B", "A", Requeue.AFTER_BACKOFF),
        ("A", "B", "AB", Requeue.IMMEDIATELY),
        ("B", "A", "AB", Requeue.IMMEDIATELY),
        ("A", "B", "C", Requeue.SKIP),
    ],
)
def test_only_rejecting_plugins_are_asked(
    world: "World", unschedulable: str, pending: str, saying: str, verdict: Requeue
) -> None:
    hints = book(
        world,
        *((name, on(Resource.NODE, Action.ADD, queue_hint if name in saying else skip_hint)) for name in "ABC"),
    )
    assert hints.judge(record(world, unschedulable, pending), ObjectEvent(NODE_ADD)) is verdict


def test_an_event_that_was_not_registered_helps_nobody(world: "World") -> None:
    hints = book(world, ("A", on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)))
    assert hints.judge(record(world, "A"), ObjectEvent(LABEL)) is Requeue.SKIP
    assert hints.concerns(LABEL) == ()
    assert hints.concerns(NODE_ADD) == (("default-scheduler", "A"),)


@pytest.mark.parametrize("event", [FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT])
def test_a_wildcard_is_for_everybody_or_for_the_pod_it_names(world: "World", event: ClusterEvent) -> None:
    hints = book(world)
    queued = record(world, "A")
    assert hints.judge(queued, ObjectEvent(event)) is Requeue.AFTER_BACKOFF
    assert hints.judge(queued, ObjectEvent(event, new=queued.pod.pod)) is Requeue.AFTER_BACKOFF
    assert hints.judge(queued, ObjectEvent(event, new=world.pod("b").pod)) is Requeue.SKIP


def test_a_hint_that_breaks_counts_as_queue_and_is_told(world: "World", caplog: pytest.LogCaptureFixture) -> None:
    hints = book(world, ("A", on(Resource.NODE, Action.ADD, broken_hint)))
    with caplog.at_level(logging.ERROR):
        assert hints.judge(record(world, "A"), ObjectEvent(NODE_ADD)) is Requeue.AFTER_BACKOFF
    assert 'running QueueingHint plugin "A": RuntimeError: a bug (at queue/test_queue_hints.py:' in caplog.text
    assert "pods are requeued, such as default/a" in caplog.text


def test_a_hint_that_answers_something_else_counts_as_queue(world: "World", caplog: pytest.LogCaptureFixture) -> None:
    hints = book(world, ("A", on(Resource.NODE, Action.ADD, lambda _pod, _old, _new: None)))  # type: ignore[arg-type,return-value]
    assert hints.judge(record(world, "A"), ObjectEvent(NODE_ADD)) is Requeue.AFTER_BACKOFF
    assert "answered None; expected a Hint" in caplog.text


def test_the_hint_sees_the_object_before_and_after(world: "World", hints: "Hints") -> None:
    queue = world.queue({"Fit": [on(Resource.NODE, Action.UPDATE_NODE_LABEL, hints)]})
    world.rejected(queue, "a")
    old, new = Node(), Node()
    queue.move_on_event(LABEL, old, new)
    [(name, seen_old, seen_new)] = hints.asked
    assert (name, seen_old is old, seen_new is new) == ("a", True, True)


@pytest.mark.parametrize(
    ("registered", "woken"),
    [
        ([on(Resource.NODE, Action.ADD, skip_hint)], True),
        ([on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, skip_hint)], True),
        ([on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, skip_hint)], False),
        ([on(Resource.NODE, Action.ADD, skip_hint), on(Resource.NODE, Action.UPDATE_NODE_TAINT, skip_hint)], False),
        ([on(Resource.NODE, Action.UPDATE_NODE_LABEL, skip_hint)], False),
        ([on(Resource.POD, Action.ADD, skip_hint)], False),
        ([], False),
    ],
)
def test_before_1_37_whoever_wants_new_nodes_hears_of_taints_too(
    world: "World", registered: list[EventHint], woken: bool
) -> None:
    queue = world.queue({"Fit": registered}, features=features_of("1.36"))
    world.rejected(queue, "a")
    assert queue.move_on_event(TAINT) == woken


KINDS = [
    Resource.ASSIGNED_POD,
    Resource.UNSCHEDULABLE_POD,
    Resource.NODE,
    Resource.PERSISTENT_VOLUME,
    Resource.PERSISTENT_VOLUME_CLAIM,
    Resource.CSI_NODE,
    Resource.CSI_DRIVER,
    Resource.CSI_STORAGE_CAPACITY,
    Resource.STORAGE_CLASS,
    Resource.RESOURCE_CLAIM,
    Resource.DEVICE_CLASS,
]


@pytest.mark.parametrize("plugin", ["OutOfTree", EXTENDER])
@pytest.mark.parametrize("action", [Action.ADD, Action.DELETE, Action.UPDATE, Action.UPDATE_NODE_TAINT])
def test_a_plugin_that_registers_nothing_is_woken_by_everything(world: "World", plugin: str, action: Action) -> None:
    for kind in KINDS:
        queue = world.queue({plugin: None})
        world.rejected(queue, "a", plugins=[plugin])
        assert queue.move_on_event(ClusterEvent(kind, action)) == 1, kind
    queue = world.queue({plugin: None})
    world.rejected(queue, "a", plugins=[plugin])
    assert queue.move_on_event(ClusterEvent(Resource.RESOURCE_SLICE, action)) == 0
    assert queue.move_on_event(ClusterEvent(Resource.POD_GROUP, action)) == 0


def test_pod_groups_are_part_of_everything_where_they_are_enabled(world: "World") -> None:
    queue = world.queue({"OutOfTree": None}, features=features_of(gates={"GenericWorkload": True}))
    world.rejected(queue, "a", plugins=["OutOfTree"])
    assert queue.move_on_event(ClusterEvent(Resource.POD_GROUP, Action.ADD)) == 1


def test_from_1_37_on_taints_wake_only_who_asked_for_them(world: "World") -> None:
    queue = world.queue({"Fit": [on(Resource.NODE, Action.ADD)]}, features=features_of("1.37"))
    world.rejected(queue, "a")
    assert queue.move_on_event(TAINT) == 0


@pytest.mark.parametrize(
    ("version", "registered", "woken"),
    [
        ("1.36", Resource.POD, True),
        ("1.36", Resource.UNSCHEDULABLE_POD, True),
        ("1.36", Resource.TARGET_POD, True),
        ("1.36", Resource.ASSIGNED_POD, False),
        ("1.37", Resource.POD, True),
        ("1.37", Resource.UNSCHEDULABLE_POD, True),
        ("1.37", Resource.TARGET_POD, True),
        ("1.37", Resource.UNSCHEDULED_POD, False),
        ("1.37", Resource.ASSIGNED_POD, False),
    ],
)
def test_a_pods_own_update_reaches(world: "World", version: str, registered: Resource, woken: bool) -> None:
    queue = world.queue({"Fit": [on(registered, Action.UPDATE_POD_LABEL)]}, features=features_of(version))
    [queued] = world.rejected(queue, "a")
    queue.update(queued.pod, world.pod("a", labels={"new": "yes"}))
    assert queue.has_ready == woken


def test_a_general_update_reaches_only_those_who_want_every_update(world: "World") -> None:
    queue = world.queue(
        {
            "Label": [on(Resource.NODE, Action.UPDATE_NODE_LABEL)],
            "Most": [on(Resource.NODE, Action.UPDATE & ~Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)],
            "Any": [on(Resource.NODE, Action.UPDATE)],
        }
    )
    for name in ("Label", "Most", "Any"):
        world.rejected(queue, name.lower(), plugins=[name])
    assert queue.move_on_event(ClusterEvent(Resource.NODE, Action.UPDATE)) == 1
    assert queue.find("default/any") == (Place.BACKOFF, queue.pods()[0][1])
    assert queue.move_on_event(LABEL) == 2


def test_profiles_have_their_own_hints(world: "World") -> None:
    profiles = {
        "one": ProfileHints({"Fit": [on(Resource.NODE, Action.ADD, queue_hint)]}),
        "two": ProfileHints({"Fit": [on(Resource.NODE, Action.ADD, skip_hint)]}),
    }
    from_one = world.pod("from-one", profile="one")
    from_two = world.pod("from-two", profile="two")
    queue = SchedulingQueue(profiles=profiles, queue_sort=_Fifo(), nominations=world.nominations, now=world.now)
    for pod in (from_one, from_two):
        queue.add(pod)
        queued = queue.pop()
        assert queued is not None
        queue.return_unschedulable(queued, ["Fit"])
    assert queue.move_on_event(NODE_ADD) == 1
    assert queue.find(from_one.key) is not None
    assert [place for place, _ in queue.pods()] == [Place.BACKOFF, Place.UNSCHEDULABLE]


def test_a_pod_of_no_profile_is_a_mistake(world: "World") -> None:
    with pytest.raises(ValueError, match="asks for 'other', which is none of our profiles"):
        world.queue().add(world.pod("a", profile="other"))


def test_the_kinds_to_watch_are_those_some_plugin_wants(world: "World") -> None:
    queue = world.queue(
        {
            "A": [on(Resource.NODE, Action.ADD), on(Resource.POD, Action.DELETE)],
            "B": [on(Resource.POD, Action.ADD)],
            "C": [],
        }
    )
    assert queue.registered_actions() == {
        Resource.NODE: Action.ADD,
        Resource.POD: Action.ADD | Action.DELETE,
    }


def test_every_hint_is_observed(world: "World") -> None:
    seen: list[tuple[str, str, str, float]] = []
    registrations = {
        name: [on(Resource.NODE, Action.ADD, hint)]
        for name, hint in (("S", skip_hint), ("B", broken_hint), ("Q", queue_hint))
    }
    queue = world.queue(registrations, observe_hint=lambda *args: seen.append(args))
    for name in "SBQ":
        world.rejected(queue, name.lower(), plugins=[name])
    queue.move_on_event(NODE_ADD)
    assert seen == [("S", "NodeAdd", "QueueSkip", 0.0), ("B", "NodeAdd", "Error", 0.0), ("Q", "NodeAdd", "Queue", 0.0)]


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent(Resource.ASSIGNED_POD, Action.ADD), "AssignedPodAdd"),
        (ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.UPDATE), "UnschedulablePodUpdate"),
        (LABEL, "NodeUpdateNodeLabel"),
        (ClusterEvent(Resource.CSI_NODE, Action.ADD), "storage.k8s.io/CSINodeAdd"),
        (ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.DELETE), "PersistentVolumeClaimDelete"),
        (FORCE_ACTIVATE, "ForceActivate"),
        (UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
    ],
)
def test_events_are_named_as_in_metrics(event: ClusterEvent, label: str) -> None:
    assert event_label(event) == label


class _Fifo:
    def sort_key(self, _pod: object, timestamp: float) -> float:
        return timestamp
