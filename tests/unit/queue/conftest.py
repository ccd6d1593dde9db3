"""A queue on a clock that moves by hand, with plugins that answer as they are told."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from moorage.columns import PodInfo
from moorage.columns.nominations import Nominations
from moorage.columns.pods import PodIndex
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.status import Status, unresolvable
from moorage.objects import (
    Container,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    SchedulingGate,
    SchedulingGroup,
    Toleration,
)
from moorage.queue import PreEnqueueFunction, ProfileHints, QueuedPod, SchedulingQueue


class ByPriority:
    """The order of PrioritySort."""

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        """As the contract of QueueSort says."""
        return -pod.priority, timestamp


class Gate:
    """A PreEnqueue plugin that keeps the pods out whose names it holds."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.asked: list[str] = []

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """As the contract of PreEnqueue says."""
        self.asked.append(pod.name)
        return unresolvable("not yet") if pod.name in self.names else None


class Hints:
    """A hint function that says Queue for the pods whose names it holds."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.asked: list[tuple[str, Any, Any]] = []

    def __call__(self, pod: PodInfo, old: Any, new: Any) -> Hint:
        self.asked.append((pod.name, old, new))
        return Hint.QUEUE if pod.name in self.names else Hint.SKIP


class World:
    """Makes pods and queues, and tells the time."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.nominations = Nominations()
        self._index = PodIndex()

    def now(self) -> float:
        """The queue's clock."""
        return self.time

    def pod(
        self,
        name: str,
        *,
        uid: str = "",
        profile: str = "default-scheduler",
        priority: int = 0,
        labels: Mapping[str, str] | None = None,
        gates: Sequence[str] = (),
        tolerations: int = 0,
        group: str = "",
        cpu: str = "",
        node: str = "",
        nominated: str = "",
    ) -> PodInfo:
        """A pod in the namespace `default`; its uid is its name's unless told otherwise."""
        spec = PodSpec(
            containers=(Container(resources=ResourceRequirements(requests={"cpu": cpu} if cpu else {})),),
            node_name=node,
            priority=priority,
            scheduler_name=profile,
            scheduling_gates=tuple(map(SchedulingGate, gates)),
            scheduling_group=SchedulingGroup(group) if group else None,
            tolerations=tuple(Toleration(key=f"key-{number}") for number in range(tolerations)),
        )
        meta = ObjectMeta(name=name, namespace="default", uid=uid or f"uid-{name}", labels=dict(labels or {}))
        return self._index.info(Pod(metadata=meta, spec=spec, status=PodStatus(nominated_node_name=nominated)))

    def queue(
        self,
        registrations: Mapping[str, Sequence[EventHint] | None] | None = None,
        pre_enqueue: Sequence[tuple[str, PreEnqueueFunction]] = (),
        **options: Any,
    ) -> SchedulingQueue:
        """A queue with one profile. Without registrations, plugin `Fit` wants to hear of new nodes."""
        known = {"Fit": [on(Resource.NODE, Action.ADD)]} if registrations is None else registrations
        profiles = {"default-scheduler": ProfileHints(known, pre_enqueue)}
        return SchedulingQueue(
            profiles=profiles, queue_sort=ByPriority(), nominations=self.nominations, now=self.now, **options
        )

    def rejected(self, queue: SchedulingQueue, *names: str, plugins: Sequence[str] = ("Fit",)) -> list[QueuedPod]:
        """Pods that were added, tried and rejected by these plugins."""
        records = []
        for name in names:
            queue.add(self.pod(name))
            queued = queue.pop()
            assert queued is not None
            assert queued.pod.name == name
            queue.return_unschedulable(queued, plugins)
            records.append(queued)
        return records


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def hints() -> Hints:
    return Hints()
