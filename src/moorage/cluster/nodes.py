"""What a node that comes, changes or goes means for the snapshot and the queue."""

from moorage.columns import Snapshot
from moorage.errors import InputError, ObjectError
from moorage.objects import Node
from moorage.queue import SchedulingQueue, node_events
from moorage.queue.moves import NODE_ADD, NODE_DELETE
from moorage.values.requests import allocatable_amounts


class NodeEvents:
    """Handles nodes as an informer tells them."""

    def __init__(self, *, snapshot: Snapshot, queue: SchedulingQueue) -> None:
        self._nodes = snapshot.nodes
        self._queue = queue

    def added(self, new: Node) -> None:
        """A node appeared."""
        self._set(new)
        self._queue.move_on_event(NODE_ADD, None, new)

    def updated(self, old: Node, new: Node) -> None:
        """A node changed. Heartbeats change nothing that scheduling reads, and are most of what is told."""
        if _reads_alike(old, new):
            return
        self._set(new)
        for event in node_events(old, new):
            self._queue.move_on_event(event, old, new)

    def deleted(self, old: Node) -> None:
        """A node is gone: told first, while it can still be looked at."""
        self._queue.move_on_event(NODE_DELETE, old)
        self._nodes.remove_node(old.metadata.name)

    def synced(self) -> None:
        """All nodes there are have been told."""

    def _set(self, node: Node) -> None:
        try:
            allocatable_amounts(node.status.allocatable)
        except InputError as error:
            raise ObjectError(error.problem, where=f"Node {node.key}: status.allocatable") from error
        self._nodes.set_node(node)


def _reads_alike(old: Node, new: Node) -> bool:
    return (
        old.spec == new.spec
        and old.status == new.status
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
    )
