"""The pods that are ready to be tried, in the order of the QueueSort plugin."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from moorage.columns import PodInfo
from moorage.framework.points import QueueSort, QueueSortByLess
from moorage.queue.heap import PodHeap
from moorage.queue.record import QueuedPod

Order = Callable[[QueuedPod], Any]


def queue_order(plugin: QueueSort | QueueSortByLess) -> Order:
    """The plugin's order as a sort key. A plugin with both forms is asked for its key, which is cheaper."""
    if isinstance(plugin, QueueSort):
        sort_key = plugin.sort_key
        return lambda queued: sort_key(queued.pod, queued.timestamp)
    less = plugin.less

    def compare(a: tuple[PodInfo, float], b: tuple[PodInfo, float]) -> int:
        if less(*a, *b):
            return -1
        return 1 if less(*b, *a) else 0

    wrap = cmp_to_key(compare)
    return lambda queued: wrap((queued.pod, queued.timestamp))


class ActiveQueue(PodHeap):
    """activeQ: the next pod to try is on top."""
