"""Putting the hints off changes when they are asked, and nothing else."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.columns import PodInfo
from moorage.columns.nominations import Nominations
from moorage.columns.pods import PodIndex
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource, on
from moorage.objects import Node, ObjectMeta, Pod, PodSpec
from moorage.queue import ProfileHints, QueuedPod, SchedulingQueue

NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
LABEL = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)
POD_GONE = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
EVENTS = (NODE_ADD, LABEL, POD_GONE)
#: Pods are of these kinds, which the hints read in their label.
KINDS = ("red", "blue")
NAMES = "abcdef"


class ByPriority:
    """The order of PrioritySort."""

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        return -pod.priority, timestamp


def says(plugin: str) -> Any:
    """A hint that says Queue for the kinds that the node lists under the plugin's name."""

    def hint(pod: PodInfo, _old: Any, new: Node) -> Hint:
        helped = new.metadata.labels.get(plugin, "").split(".")
        return Hint.QUEUE if pod.labels["kind"] in helped else Hint.SKIP

    return hint


def kind_of(pod: PodInfo) -> str:
    return pod.labels["kind"]


#: Shared answers, answers for each pod, no question at all.
REGISTERED: dict[str, list[EventHint]] = {
    "Shared": [on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, says("Shared"), reads=kind_of)],
    "Each": [on(Resource.NODE, Action.UPDATE_NODE_LABEL, says("Each")), on(Resource.NODE, Action.ADD)],
    "Always": [on(Resource.POD, Action.DELETE)],
}


class Side:
    """A queue, and the pods popped from it."""

    def __init__(self, *, puts_off: bool) -> None:
        self.time = 1000.0
        self.index = PodIndex()
        profiles = {"default-scheduler": ProfileHints(REGISTERED)}
        self.queue = SchedulingQueue(
            profiles=profiles,
            queue_sort=ByPriority(),
            nominations=Nominations(),
            now=lambda: self.time,
            puts_off=puts_off,
        )
        self.popped: list[QueuedPod] = []

    def pod(self, name: str, kind: str) -> PodInfo:
        meta = ObjectMeta(name=name, namespace="default", uid=name, labels={"kind": kind})
        return self.index.info(Pod(metadata=meta, spec=PodSpec(priority=ord(name) % 3)))

    def do(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("add", name, kind):
                if not self.queue.find(f"default/{name}") and all(one.pod.name != name for one in self.popped):
                    self.queue.add(self.pod(name, kind))
            case ("update", name, kind):
                if found := self.queue.find(f"default/{name}"):
                    self.queue.update(found[1].pod, self.pod(name, kind))
            case ("delete", name):
                if found := self.queue.find(f"default/{name}"):
                    self.queue.delete(found[1].pod)
            case ("pop",):
                queued = self.queue.pop()
                if queued is not None:
                    self.popped.append(queued)
            case ("return", rejected, pending):
                if self.popped:
                    self.queue.return_unschedulable(self.popped.pop(0), rejected, pending)
            case ("event", event, helped):
                node = Node(metadata=ObjectMeta(name="n", labels={name: ".".join(kinds) for name, kinds in helped}))
                self.queue.move_on_event(event, None, node)
            case ("pass", seconds):
                self.time += seconds
                self.queue.flush_backoff()
                self.queue.flush_unschedulable()

    def seen(self) -> tuple[Any, ...]:
        queued = [(place, one.key, one.attempts, one.backoff_expiry) for place, one in self.queue.pods()]
        return [one.key for one in self.popped], sorted(queued), self.queue.in_flight_counts()


NAME, KIND = st.sampled_from(NAMES), st.sampled_from(KINDS)
PLUGINS = st.sets(st.sampled_from(sorted(REGISTERED)))
HELPED = st.lists(st.tuples(st.sampled_from(sorted(REGISTERED)), st.sets(KIND)), max_size=3)
STEPS = st.one_of(
    st.tuples(st.just("add"), NAME, KIND),
    st.tuples(st.just("update"), NAME, KIND),
    st.tuples(st.just("delete"), NAME),
    st.just(("pop",)),
    st.tuples(st.just("return"), PLUGINS, st.sets(st.sampled_from(sorted(REGISTERED)), max_size=1)),
    st.tuples(st.just("event"), st.sampled_from(EVENTS), HELPED),
    st.tuples(st.just("pass"), st.sampled_from((0.5, 3.0, 400.0))),
)


def after(looks: int) -> Any:
    """A clock on which time is up after so many looks."""
    left = iter(range(looks))
    return lambda: next(left, None) is None


@given(st.lists(st.tuples(STEPS, st.integers(0, 3)), max_size=60))
def test_all_asked_before_each_pop_is_as_if_asked_at_once(steps: list[tuple[tuple[Any, ...], int]]) -> None:
    at_once, put_off = Side(puts_off=False), Side(puts_off=True)
    for step, looks in steps:
        put_off.queue.work(after(looks))
        if step[0] in ("pop", "pass"):
            put_off.queue.work()
        at_once.do(step)
        put_off.do(step)
    put_off.queue.work()
    assert not put_off.queue.has_work
    assert put_off.seen() == at_once.seen()


@given(st.lists(st.tuples(STEPS, st.integers(0, 3)), max_size=60))
def test_nobody_is_popped_before_somebody_of_higher_priority_who_is_not_asked(
    steps: list[tuple[tuple[Any, ...], int]],
) -> None:
    side = Side(puts_off=True)
    for step, looks in steps:
        side.queue.work(after(looks))
        side.do(step)
        if step == ("pop",) and side.popped:
            priority = side.popped[-1].pod.priority
            waiting = {one.key for _, one in side.queue.pods() if one.pod.priority > priority}
            before = {one.key for place, one in side.queue.pods() if place == "active"}
            side.queue.work()
            woken = {one.key for place, one in side.queue.pods() if place == "active"} - before
            assert not woken & waiting


@given(st.integers(1, 5), st.integers(1, 50))
def test_events_that_are_forgotten_count_as_help(most: int, events: int) -> None:
    from moorage.queue.asking import Asking

    side = Side(puts_off=True)
    side.do(("add", "a", "red"))
    side.do(("pop",))
    side.do(("return", {"Shared"}, set()))
    queue = side.queue
    queue._asking = Asking(queue._unschedulable, queue._hints, queue._wake, most)
    for _ in range(events):
        side.do(("event", NODE_ADD, []))
    queue.work()
    assert queue.has_ready == (events > most)
