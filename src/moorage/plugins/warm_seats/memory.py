"""Where identities ran lately. Bounded in identities, in nodes of each, and in time."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from moorage.columns import NodeTable, PodInfo
from moorage.plugins.warm_seats.identities import Identity


@dataclass(slots=True)
class _Visit:
    """An identity on a node: which of its pods are there, and when one last was."""

    last: float
    pods: set[str] = field(default_factory=set)


class Memory:
    """What ran where, read from the pods that come and go. After a start it knows what the cluster holds then."""

    def __init__(
        self,
        nodes: NodeTable,
        identify: Callable[[PodInfo], Identity | None],
        now: Callable[[], float],
        *,
        ttl: float,
        most_nodes: int,
        most_identities: int,
    ) -> None:
        self._nodes, self._identify, self._now = nodes, identify, now
        self._ttl, self._most_nodes, self._most_identities = ttl, most_nodes, most_identities
        self._visits: OrderedDict[Identity, dict[str, _Visit]] = OrderedDict()
        self._read_to = -1

    def __len__(self) -> int:
        return len(self._visits)

    def warm_nodes(self, identity: Identity) -> list[str]:
        """The nodes where it ran within the time to live or still runs, the latest first."""
        visits = self._visits.get(identity)
        if visits is None:
            return []
        fresh = self._now() - self._ttl
        for node_name in [name for name, visit in visits.items() if not visit.pods and visit.last <= fresh]:
            del visits[node_name]
        if not visits:
            del self._visits[identity]
        return sorted(visits, key=lambda name: (bool(visits[name].pods), visits[name].last), reverse=True)

    def remember(self, identity: Identity, node_name: str, at: float) -> None:
        """It ran there at that time, as somebody else knows."""
        if at > self._now() - self._ttl:
            visit = self._visit(identity, node_name)
            visit.last = max(visit.last, at)

    def catch_up(self) -> None:
        """Take in what came and went since the last time."""
        log = self._nodes.pod_changes
        changes = log.since(self._read_to) if self._read_to >= 0 else None
        self._read_to = log.position
        if changes is None:
            self._read_all()
            return
        for row, pod, delta in changes:
            identity = self._identify(pod)
            if identity is None:
                continue
            if delta > 0:
                self._came(identity, self._nodes.infos[row].name, pod.uid)
            else:
                self._went(identity, self._nodes.infos[row].name, pod)

    def _read_all(self) -> None:
        """Begin anew with the pods there are. Those that were there and are not any more have gone now."""
        missing = {uid for visits in self._visits.values() for visit in visits.values() for uid in visit.pods}
        for node in self._nodes:
            for pod in node.pods.values():
                identity = self._identify(pod)
                if identity is not None:
                    self._came(identity, node.name, pod.uid)
                    missing.discard(pod.uid)
        if missing:
            self._miss(missing)

    def _miss(self, uids: set[str]) -> None:
        now = self._now()
        for visits in self._visits.values():
            for visit in visits.values():
                if visit.pods & uids:
                    visit.pods -= uids
                    visit.last = now

    def _came(self, identity: Identity, node_name: str, uid: str) -> None:
        visit = self._visit(identity, node_name)
        visit.pods.add(uid)
        visit.last = self._now()

    def _went(self, identity: Identity, node_name: str, pod: PodInfo) -> None:
        visit = self._visits.get(identity, {}).get(node_name)
        if visit is None or pod.uid not in visit.pods:
            return
        visit.pods.discard(pod.uid)
        visit.last = self._now()
        if not visit.pods and not pod.pod.status.start_time:
            # It was decided to go there and never ran.
            del self._visits[identity][node_name]

    def _visit(self, identity: Identity, node_name: str) -> _Visit:
        visits = self._visits.get(identity)
        if visits is None:
            while len(self._visits) >= self._most_identities:
                self._visits.popitem(last=False)
            visits = self._visits[identity] = {}
        self._visits.move_to_end(identity)
        visit = visits.get(node_name)
        if visit is None:
            visit = visits[node_name] = _Visit(self._now())
            if len(visits) > self._most_nodes:
                others = [name for name in visits if name != node_name]
                del visits[min(others, key=lambda name: (bool(visits[name].pods), visits[name].last))]
        return visit
