"""A cluster state with its queue, fed by hand."""

from collections.abc import Sequence
from random import Random

import pytest

from moorage.cluster import ClusterState, NodeEvents, PodEvents
from moorage.columns import Snapshot
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.handle import Handle
from moorage.objects import KubeObject
from moorage.plugins import PrioritySort
from moorage.queue import ProfileHints, SchedulingQueue, event_label


class Fed:
    """The state, the queue, and the handlers that feed both."""

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.cluster = ClusterState(self.snapshot)
        handle = Handle(self.snapshot, now=lambda: 0.0, random=Random(0))
        every: Sequence[EventHint] = [
            EventHint(ClusterEvent(resource, Action.ALL)) for resource in (Resource.POD, Resource.NODE)
        ]
        profiles = {"default-scheduler": ProfileHints({"Fit": every})}
        self.queue = SchedulingQueue(
            profiles=profiles,
            queue_sort=PrioritySort(None, handle),
            nominations=self.snapshot.nominations,
            now=lambda: 0.0,
        )
        #: What the queue was told: the event, and whom it was about.
        self.moves: list[tuple[str, str]] = []
        #: Pods that are held at Permit.
        self.held: set[str] = set()
        self._listen()
        self.pods = PodEvents(
            cluster=self.cluster,
            queue=self.queue,
            profiles={"default-scheduler"},
            reject_waiting=self.held.__contains__,
        )
        self.nodes = NodeEvents(snapshot=self.snapshot, queue=self.queue)

    def _listen(self) -> None:
        move = self.queue.move_on_event

        def listening(
            event: ClusterEvent, old: KubeObject | None = None, new: KubeObject | None = None, **only: object
        ) -> int:
            about = new or old
            assert about is not None
            self.moves.append((event_label(event), about.metadata.name))
            return move(event, old, new, **only)  # type: ignore[arg-type]

        self.queue.move_on_event = listening  # type: ignore[method-assign]

    def queued(self) -> list[str]:
        """The names of the pods in the queue."""
        return sorted(queued.pod.name for _, queued in self.queue.pods())

    def on_node(self, name: str) -> list[str]:
        """The names of the pods that count on a node."""
        node = self.snapshot.nodes.get(name)
        return sorted(pod.name for pod in node.pods.values()) if node else []


@pytest.fixture
def fed() -> Fed:
    return Fed()
