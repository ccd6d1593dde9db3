"""The pods that are ready to be tried, in the order of the QueueSort plugin."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, Final

import numpy as np

from moorage.columns import PodInfo
from moorage.errors import PluginError
from moorage.framework.answers import broken, definition, is_async, let_pass
from moorage.framework.faults import Faults
from moorage.framework.points import QueueSort, QueueSortByLess
from moorage.framework.registry import plugin_name
from moorage.queue.heap import PodHeap
from moorage.queue.record import QueuedEntity

_POINT: Final = "QueueSort"
_OUTCOME: Final = "its pod is tried after all others, by priority and time"


class QueueOrder:
    """The plugin's order as something that compares. A plugin with both forms is asked for its key, which is cheaper.

    Pods whose key cannot be had come behind all others, by priority and time.
    """

    def __init__(self, plugin: QueueSort | QueueSortByLess, faults: Faults) -> None:
        self._name = plugin_name(type(plugin))
        self._faults = faults
        self._key = plugin.sort_key if isinstance(plugin, QueueSort) else _key_of_less(self._name, plugin.less)
        self._where = definition(plugin.sort_key if isinstance(plugin, QueueSort) else plugin.less)

    def of(self, queued: QueuedEntity) -> tuple[int, Any]:
        """Where the pod stands."""
        try:
            key = self._key(queued.pod, queued.timestamp)
        except BaseException as problem:
            return self._last(queued, broken(self._name, _POINT, problem))
        try:
            _ = key < key  # what does not even compare with itself compares with nothing
            if _is_unordered(key):
                raise TypeError(f"{key!r} is neither less nor more than anything")
        except BaseException as problem:
            is_async(key)
            return self.last(queued, problem)
        return 0, key

    def last(self, queued: QueuedEntity, problem: BaseException) -> tuple[int, Any]:
        """Where a pod stands whose key does not compare with others."""
        let_pass(problem)
        if not isinstance(problem, PluginError):
            problem = PluginError(self._name, _POINT, f"keys do not compare: {problem}", where=self._where)
        return self._last(queued, problem)

    def _last(self, queued: QueuedEntity, error: PluginError) -> tuple[int, Any]:
        self._faults.see(error, _OUTCOME)
        return 1, (-queued.pod.priority, queued.timestamp)


def _is_unordered(key: Any) -> bool:
    """Whether it is no number, or holds one that is none (NaN)."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, float) and part != part for part in parts)


def _key_of_less(name: str, less: Callable[[PodInfo, float, PodInfo, float], bool]) -> Callable[[PodInfo, float], Any]:
    def is_less(a: tuple[PodInfo, float], b: tuple[PodInfo, float]) -> bool:
        try:
            answer = less(*a, *b)
        except BaseException as problem:
            raise broken(name, _POINT, problem) from problem
        if not isinstance(answer, bool | np.bool_):
            is_async(answer)
            raise PluginError(name, _POINT, f"answered {answer!r}; expected True or False", where=definition(less))
        return bool(answer)

    def compare(a: tuple[PodInfo, float], b: tuple[PodInfo, float]) -> int:
        if is_less(a, b):
            return -1
        return 1 if is_less(b, a) else 0

    wrap = cmp_to_key(compare)
    return lambda pod, timestamp: wrap((pod, timestamp))


class ActiveQueue(PodHeap):
    """activeQ: the next pod to try is on top."""

    def __init__(self, order: QueueOrder) -> None:
        super().__init__(order.of, order.last)
