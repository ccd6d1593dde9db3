"""What the queue counts for kube-scheduler's metrics."""

from collections import Counter
from collections.abc import Iterable

from moorage.queue.record import Place, QueuedEntity


class QueueCounts:
    """Running totals; hosts read them when metrics are collected."""

    def __init__(self) -> None:
        #: queue_incoming_pods_total: (queue, event label) -> pods that ever entered.
        self.incoming: Counter[tuple[str, str]] = Counter()
        #: unschedulable_pods: (plugin, profile) -> pods in the queue that the plugin rejected.
        self.unschedulable: Counter[tuple[str, str]] = Counter()

    def entered(self, place: Place, label: str) -> None:
        """A pod entered one of the queues. Gated pods count as unschedulable."""
        self.incoming["unschedulable" if place is Place.GATED else place, label] += 1

    def rejected(self, profile: str, plugins: Iterable[str]) -> None:
        """Plugins rejected a pod that is in the queue."""
        for plugin in plugins:
            self.unschedulable[plugin, profile] += 1

    def left(self, queued: QueuedEntity) -> None:
        """What plugins had rejected left the queue."""
        for member in queued.members:
            for plugin in member.rejecting_plugins:
                self.unschedulable[plugin, member.profile] -= 1
