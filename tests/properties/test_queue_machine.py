"""The scheduling queue against a model that keeps one plain list and walks it for everything."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from moorage.columns import PodInfo
from moorage.columns.nominations import Nominations
from moorage.columns.pods import PodIndex
from moorage.framework.events import Action, ClusterEvent, Hint, HintFunction, Resource, on
from moorage.framework.status import Status, unresolvable
from moorage.objects import KubeObject, Node, ObjectMeta, PersistentVolume, Pod, PodSpec
from moorage.queue import Place, ProfileHints, QueuedPod, SchedulingQueue

NAMES = "abcd"
PLUGINS = ("P0", "P1", "P2")
PROFILE = "default-scheduler"

#: What each kind of event means to whom: "hint" where the plugin decides, "always" where it is not asked.
EVENTS: dict[str, tuple[ClusterEvent, type[KubeObject], dict[str, str]]] = {
    "node added": (ClusterEvent(Resource.NODE, Action.ADD), Node, {"P0": "hint", "P1": "hint"}),
    "node labelled": (ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL), Node, {"P1": "hint"}),
    "node tainted": (ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT), Node, {"P1": "hint"}),
    "pod deleted": (ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), Pod, {"P1": "hint", "P2": "always"}),
    "pod added": (ClusterEvent(Resource.ASSIGNED_POD, Action.ADD), Pod, {"Gate": "hint"}),
    "volume added": (ClusterEvent(Resource.PERSISTENT_VOLUME, Action.ADD), PersistentVolume, {}),
}

Verdict = Literal["skip", "after back-off", "at once"]


@dataclass(frozen=True)
class Happening:
    """An event as the model sees it: who would say Queue for which pods, or for which pod alone it is."""

    kind: str
    says: dict[str, str] = field(default_factory=dict)
    uid: str = ""


@dataclass
class Modelled:
    """A pod as the model sees it."""

    pod: PodInfo
    timestamp: float
    place: Place = Place.ACTIVE
    rejections: int = 0
    errors: int = 0
    plugins: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    flushed: float = 0.0
    missed: list[Happening] = field(default_factory=list)
    #: When an idle scheduler last took it out of back-off: not twice at one moment.
    taken_early: float = -math.inf
    record: QueuedPod | None = None

    @property
    def name(self) -> str:
        return self.pod.name

    @property
    def rejectors(self) -> set[str]:
        return self.plugins | self.pending

    @property
    def rank(self) -> tuple[float, float]:
        return -self.pod.priority, self.timestamp

    @property
    def expiry(self) -> float:
        failures = self.errors or self.rejections
        return math.floor(self.timestamp + min(10.0, 2.0 ** (failures - 1))) if failures else -math.inf


def labelled_hint(plugin: str) -> HintFunction:
    """Says Queue for the pods that the object lists under the plugin's name."""

    def hint(pod: PodInfo, old: Any, new: Any) -> Hint:
        return Hint.QUEUE if pod.name in (new or old).metadata.labels.get(plugin, "") else Hint.SKIP

    return hint


def own_hint(pod: PodInfo, _old: Any, new: Any) -> Hint:
    return Hint.QUEUE if new.metadata.uid == pod.uid else Hint.SKIP


class ByPriority:
    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        return -pod.priority, timestamp


class QueueMachine(RuleBasedStateMachine):
    """Does the same to the queue and to the model, and compares where every pod is."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        self.closed: set[str] = set()
        self.queued: dict[str, Modelled] = {}
        self.flying: dict[str, Modelled] = {}
        self.born = 0
        self.due = self.time + 30
        self.index = PodIndex()
        registrations = {
            "P0": [on(Resource.NODE, Action.ADD, labelled_hint("P0"))],
            "P1": [
                on(
                    Resource.NODE,
                    Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
                    labelled_hint("P1"),
                ),
                on(Resource.POD, Action.DELETE, labelled_hint("P1")),
                on(Resource.POD, Action.UPDATE_POD_LABEL, own_hint),
            ],
            "P2": [on(Resource.POD, Action.DELETE)],
            "Gate": [on(Resource.POD, Action.ADD, labelled_hint("Gate"))],
        }
        profile = ProfileHints(registrations, [("Gate", self.pre_enqueue)])
        self.queue = SchedulingQueue(
            profiles={PROFILE: profile}, queue_sort=ByPriority(), nominations=Nominations(), now=lambda: self.time
        )

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return unresolvable("closed") if pod.name in self.closed else None

    # What the model holds to be right.

    def verdict(self, pod: Modelled, happened: Happening) -> Verdict:
        if not pod.rejectors:
            return "after back-off"
        if happened.kind == "wildcard":
            return "after back-off" if happened.uid in ("", pod.pod.uid) else "skip"
        if happened.kind == "own labels":
            saying = {"P1"} if happened.uid == pod.pod.uid else set()
        else:
            wants = EVENTS[happened.kind][2]
            saying = {
                plugin for plugin, how in wants.items() if how == "always" or pod.name in happened.says.get(plugin, "")
            }
        if saying & pod.pending:
            return "at once"
        return "after back-off" if saying & pod.plugins else "skip"

    def requeue(self, pod: Modelled, verdict: Verdict) -> None:
        if verdict == "skip":
            pod.place = Place.UNSCHEDULABLE
        elif pod.name in self.closed:
            pod.plugins.add("Gate")
            pod.place = Place.GATED
        elif verdict == "after back-off" and pod.expiry >= math.floor(self.time):
            pod.place = Place.BACKOFF
        else:
            pod.place = Place.ACTIVE

    def happen(self, happened: Happening, among: list[Modelled]) -> None:
        for pod in among:
            concerns_gate = happened.kind == "wildcard" or "Gate" in EVENTS[happened.kind][2]
            if pod.place is Place.GATED and not concerns_gate:
                continue
            verdict = self.verdict(pod, happened)
            if verdict != "skip":
                self.requeue(pod, verdict)
        for pod in self.flying.values():
            pod.missed.append(happened)

    def waiting(self) -> list[Modelled]:
        return [pod for pod in self.queued.values() if pod.place in (Place.UNSCHEDULABLE, Place.GATED)]

    def take_off(self, popped: QueuedPod) -> None:
        pod = self.queued.pop(popped.pod.name)
        pod.missed = []
        pod.record = popped
        self.flying[pod.pod.uid] = pod
        assert popped.pod is pod.pod

    def make(self, name: str, uid: str, priority: int, labels: dict[str, str]) -> PodInfo:
        meta = ObjectMeta(name=name, namespace="ns", uid=uid, labels=labels)
        return self.index.info(Pod(metadata=meta, spec=PodSpec(priority=priority, scheduler_name=PROFILE)))

    # What can happen.

    @initialize(
        rejected=st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(PLUGINS), min_size=1), min_size=2),
        early=st.integers(0, 3),
    )
    def begin_with_pods_that_wait(self, rejected: dict[str, set[str]], early: int) -> None:
        """Most of what can go wrong goes wrong with pods that were rejected before."""
        for name, plugins in rejected.items():
            self.add(name, priority=0)
            self.pop()
            [uid] = self.flying
            self.land(uid, plugins, set())
            self.time += early / 4

    @rule(closed=st.sampled_from(["", NAMES, "ab", "bd"]))
    def change_gates(self, closed: str) -> None:
        self.closed = set(closed)

    @rule(name=st.sampled_from(NAMES), priority=st.integers(0, 2))
    def add(self, name: str, priority: int) -> None:
        self.born += 1
        pod = Modelled(self.make(name, f"{name}-{self.born}", priority, {}), self.time)
        self.queued[name] = pod
        self.requeue(pod, "at once")
        self.queue.add(pod.pod)

    @rule(data=st.data(), priority=st.integers(0, 2), relabel=st.booleans())
    def update(self, data: st.DataObject, priority: int, relabel: bool) -> None:
        known = [*self.queued.values(), *self.flying.values()]
        if not known:
            return
        pod = data.draw(st.sampled_from(known))
        old = pod.pod
        labels = {"version": old.labels.get("version", "") + "x"} if relabel else dict(old.labels)
        new = self.make(pod.name, old.uid, priority, labels)
        pod.pod = new
        if old.uid in self.flying:
            for other in self.flying.values():
                other.missed.append(Happening("own labels" if relabel else "volume added", uid=old.uid))
        elif pod.place in (Place.UNSCHEDULABLE, Place.GATED) and relabel:
            verdict = self.verdict(pod, Happening("own labels", uid=old.uid))
            if verdict != "skip":
                self.requeue(pod, verdict)
        self.queue.update(old, new)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        known = [*self.queued.values(), *self.flying.values()]
        if known:
            pod = data.draw(st.sampled_from(known))
            if self.queued.get(pod.name) is pod:
                del self.queued[pod.name]
            self.queue.delete(pod.pod)

    @rule()
    def pop(self) -> None:
        active = [pod for pod in self.queued.values() if pod.place is Place.ACTIVE]
        early = [
            pod
            for pod in self.queued.values()
            if pod.place is Place.BACKOFF and pod.rejectors and pod.taken_early != self.time
        ]
        assert self.queue.has_ready == bool(active or early)
        popped = self.queue.pop()
        if popped is None:
            assert not active
            assert not early
            return
        pod = self.queued[popped.pod.name]
        if active:
            assert pod in active
            assert pod.rank == min(other.rank for other in active)
        else:
            assert pod in early
            assert (pod.expiry, pod.rank) == min((other.expiry, other.rank) for other in early)
            pod.taken_early = self.time
        self.take_off(popped)

    @rule(name=st.sampled_from(NAMES))
    def pop_specific(self, name: str) -> None:
        pod = self.queued.get(name)
        popped = self.queue.pop_specific(self.make(name, pod.pod.uid if pod else "nobody", 0, {}))
        if pod is not None and pod.place is not Place.BACKOFF and pod.place is not Place.ACTIVE:
            self.requeue(pod, "at once")
        ready = pod is not None and pod.place in (Place.ACTIVE, Place.BACKOFF)
        assert (popped is not None) == ready
        if popped is not None:
            self.take_off(popped)

    @rule(
        data=st.data(),
        plugins=st.sets(st.sampled_from(PLUGINS), max_size=2),
        pending=st.sets(st.sampled_from(PLUGINS), max_size=1),
    )
    def come_back(self, data: st.DataObject, plugins: set[str], pending: set[str]) -> None:
        if self.flying:
            self.land(data.draw(st.sampled_from(sorted(self.flying))), plugins, pending)

    @rule(plugins=st.sets(st.sampled_from(PLUGINS), max_size=2), pending=st.sets(st.sampled_from(PLUGINS), max_size=1))
    def be_tried_in_vain(self, plugins: set[str], pending: set[str]) -> None:
        before = set(self.flying)
        self.pop()
        for uid in set(self.flying) - before:
            self.land(uid, plugins, pending)

    def land(self, uid: str, plugins: set[str], pending: set[str]) -> None:
        pod = self.flying.pop(uid)
        assert pod.record is not None
        place = self.queue.return_unschedulable(pod.record, plugins, pending, pod=pod.pod)
        if pod.name in self.queued:
            assert place is None
            return
        pod.plugins, pod.pending = set(plugins), set(pending)
        pod.rejections += bool(pod.rejectors)
        pod.errors = 0 if pod.rejectors else pod.errors + 1
        pod.timestamp, pod.flushed = self.time, 0.0
        self.queued[pod.name] = pod
        verdicts = [self.verdict(pod, happened) for happened in pod.missed] if pod.rejectors else ["after back-off"]
        self.requeue(pod, max(verdicts, default="skip", key=["skip", "after back-off", "at once"].index))  # type: ignore[arg-type]
        assert place is pod.place

    @rule(data=st.data())
    def be_done(self, data: st.DataObject) -> None:
        if self.flying:
            uid = data.draw(st.sampled_from(sorted(self.flying)))
            del self.flying[uid]
            self.queue.done(uid)

    @rule(
        kind=st.sampled_from(sorted(EVENTS)),
        says=st.fixed_dictionaries(dict.fromkeys([*PLUGINS, "Gate"], st.sampled_from([NAMES, "", "ab", "bc", "d"]))),
        highest=st.integers(0, 3),
    )
    def event(self, kind: str, says: dict[str, str], highest: int) -> None:
        event, cls, wants = EVENTS[kind]
        item = cls(metadata=ObjectMeta(name="it", labels=says))
        old, new = (item, None) if event.action == Action.DELETE else (None, item)
        only = (lambda pod: pod.priority <= highest) if highest < 2 else None
        self.queue.move_on_event(event, old, new, only=only)
        if wants:
            among = [pod for pod in self.waiting() if only is None or only(pod.pod)]
            self.happen(Happening(kind, says), among)

    @rule(names=st.sets(st.sampled_from(NAMES)))
    def activate(self, names: set[str]) -> None:
        for name in sorted(names):
            pod = self.queued.get(name)
            flying = [other for other in self.flying.values() if other.name == name]
            if pod is not None:
                self.queue.activate([pod.pod])
                if pod.place is Place.BACKOFF:
                    pod.place = Place.ACTIVE
                elif pod.place is not Place.ACTIVE:
                    self.requeue(pod, "at once")
            elif flying:
                self.queue.activate([flying[0].pod])
                for other in self.flying.values():
                    other.missed.append(Happening("wildcard", uid=flying[0].pod.uid))

    @rule(quarters=st.integers(1, 50))
    def wait_a_little(self, quarters: int) -> None:
        self.time += quarters / 4
        self.flush()

    @rule(seconds=st.integers(100, 700))
    def wait_long(self, seconds: int) -> None:
        self.time += seconds
        self.flush()

    def flush(self) -> None:
        for pod in self.queued.values():
            if pod.place is Place.BACKOFF and pod.expiry < math.floor(self.time):
                pod.place = Place.ACTIVE
        self.queue.flush_backoff()
        if self.time >= self.due:
            while self.due <= self.time:
                self.due += 30
            overdue = [pod for pod in self.waiting() if self.time - max(pod.timestamp, pod.flushed) > 300]
            for pod in overdue:
                pod.flushed = self.time
            if overdue:
                self.happen(Happening("wildcard"), overdue)
        self.queue.flush_unschedulable()

    # What must hold whatever happens.

    @invariant()
    def every_pod_is_where_it_belongs(self) -> None:
        places = sorted((queued.pod.uid, place) for place, queued in self.queue.pods())
        assert places == sorted((pod.pod.uid, pod.place) for pod in self.queued.values())
        assert sorted(pod.uid for pod in self.queue.in_flight()) == sorted(self.flying)

    @invariant()
    def every_pod_is_as_it_is_now(self) -> None:
        for _, queued in self.queue.pods():
            assert queued.pod is self.queued[queued.pod.name].pod

    @invariant()
    def the_numbers_agree(self) -> None:
        pods = list(self.queued.values())
        assert self.queue.pending() == {place: sum(pod.place is place for pod in pods) for place in Place}
        held = {
            (plugin, PROFILE): count
            for plugin in (*PLUGINS, "Gate")
            if (count := sum(plugin in pod.rejectors for pod in pods))
        }
        assert +self.queue.counts.unschedulable == held

    @invariant()
    def events_are_kept_for_pods_in_flight_alone(self) -> None:
        counts = dict(self.queue.in_flight_counts())
        assert counts.pop("PodPopped") == len(self.flying)
        assert sum(counts.values()) == max((len(pod.missed) for pod in self.flying.values()), default=0)

    @invariant()
    def the_next_deadline_is_the_first_moment_something_can_change(self) -> None:
        deadlines = [pod.expiry + 1 for pod in self.queued.values() if pod.place is Place.BACKOFF]
        if self.waiting():
            deadlines.append(self.due)
        assert self.queue.next_deadline() == min(deadlines, default=None)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
