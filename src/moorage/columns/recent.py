"""A memory for things that are costly to make and cannot all be kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from moorage.columns.table import NodeTable

A = TypeVar("A")
V = TypeVar("V")

#: However large the cluster, so many are kept; and however small, no more than this.
FEWEST, MOST = 64, 1024
#: Between the two it is their rows together that count.
MOST_ROWS = 1 << 22


class RecentlyUsed(Generic[V]):
    """Values by key, some bytes for each row of the node table. Those used longest ago are dropped."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[A], V], argument: A) -> V:
        """The value of a key, made from the argument where there is none."""
        values = self._values
        if key in values:
            values.move_to_end(key)
            return values[key]
        value = values[key] = make(argument)
        while len(values) > max(FEWEST, min(MOST, MOST_ROWS // self._nodes.capacity)):
            values.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
