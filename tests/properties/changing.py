"""A cluster that changes, for plugins held against a plain model meanwhile."""

from collections.abc import Callable
from random import Random

from moorage.columns import PodInfo, Snapshot
from moorage.objects import Node, Pod

#: Makes a node, or a pod on a node ("" for none), by chance and under a name.
SomeNode = Callable[[Random, str], Node]
SomePod = Callable[[Random, str, str], Pod]


class ChangingCluster:
    """Nodes `n0` to below `most` that come, change and go; pods on them, and on nodes that are not there."""

    def __init__(self, rnd: Random, some_node: SomeNode, some_pod: SomePod, most: int) -> None:
        self.rnd = rnd
        self.snapshot = Snapshot()
        self.placed: list[tuple[PodInfo, str]] = []
        self._some_node, self._some_pod, self._most = some_node, some_pod, most
        self._names = (f"p{number}" for number in range(10_000))

    def fill(self, nodes: int, pods: int) -> None:
        """Begin with the first nodes, and with pods anywhere."""
        for index in range(nodes):
            self.snapshot.add(self._some_node(self.rnd, f"n{index}"))
        for _ in range(pods):
            self.place()

    def newcomer(self) -> PodInfo:
        """A pod to decide."""
        return self.snapshot.info(self._some_pod(self.rnd, next(self._names), ""))

    def place(self) -> None:
        """A pod comes to a node."""
        name = self._any_node()
        info = self.snapshot.info(self._some_pod(self.rnd, next(self._names), name))
        self.snapshot.nodes.add_pod(info, name)
        self.placed.append((info, name))

    def take_away(self) -> None:
        """A pod goes from its node."""
        self.snapshot.nodes.remove_pod(*self.placed.pop(self.rnd.randrange(len(self.placed))))

    def set_node(self) -> None:
        """A node comes, or changes."""
        self.snapshot.add(self._some_node(self.rnd, self._any_node()))

    def remove_node(self) -> None:
        """A node goes, but for the last."""
        if len(self.snapshot.nodes) > 1:
            self.snapshot.nodes.remove_node(self.rnd.choice(list(self.snapshot.nodes)).name)

    def _any_node(self) -> str:
        return f"n{self.rnd.randrange(self._most)}"
