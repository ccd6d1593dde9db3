"""Pods that preemption has promised a node, until they are scheduled."""

from moorage.columns.pods import PodInfo
from moorage.columns.tentative import UndoLog


class Nominations:
    """Which pods wait for which node, in order of nomination."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}
        self.undo: UndoLog | None = None

    def __len__(self) -> int:
        return len(self._node_of)

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """Promise the pod that node, instead of any it was promised before."""
        self.forget(pod)
        self._save(node_name)
        self._node_of[pod.uid] = node_name
        self._by_node.setdefault(node_name, {})[pod.uid] = pod

    def forget(self, pod: PodInfo) -> None:
        """The pod waits for no node any more."""
        node_name = self._node_of.get(pod.uid)
        if node_name is not None:
            self._save(node_name)
            del self._node_of[pod.uid]
            waiting = self._by_node[node_name]
            del waiting[pod.uid]
            if not waiting:
                del self._by_node[node_name]

    def node_of(self, pod: PodInfo) -> str:
        """The node promised to the pod, "" if none."""
        return self._node_of.get(pod.uid, "")

    def on(self, node_name: str) -> list[PodInfo]:
        """The pods promised a node."""
        return list(self._by_node.get(node_name, {}).values())

    def nodes(self) -> list[str]:
        """The nodes promised to somebody."""
        return list(self._by_node)

    def _save(self, node_name: str) -> None:
        if self.undo is not None:
            self.undo.save(self._node_of)
            self.undo.save(self._by_node)
            if node_name in self._by_node:
                self.undo.save(self._by_node[node_name])
