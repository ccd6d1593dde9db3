"""What filters have passed, until it is seen what came of it: two pods in flight must not take the same room.

A scheduler tells an extender nothing between filter and bind. Where the binding is somebody else's, every node that
passed for a pod counts as taken by it until the pod is seen bound or deleted, is asked about again, or some seconds are
over.
"""

from collections.abc import Callable, Iterable
from typing import Final

from moorage.columns import PodInfo

LIFETIME: Final = 10.0
"""Seconds after which a pod that was not seen bound is no longer expected. A refusal on account of a promise is never
a verdict (nothing would wake the pod when the promise lapses): it is an error, after which schedulers come again."""


class Promises:
    """The nodes each pod in flight may be bound to. `on_change` is called when room is free again."""

    def __init__(self, now: Callable[[], float], *, on_change: Callable[[], None] = lambda: None) -> None:
        self._now = now
        self.on_change = on_change
        self._given: dict[str, tuple[tuple[str, ...], float]] = {}
        self._on: dict[str, dict[str, PodInfo]] = {}

    def __len__(self) -> int:
        """How many pods are in flight."""
        return len(self._given)

    def give(self, pod: PodInfo, names: Iterable[str]) -> None:
        """The pod may come to any of these nodes."""
        self.withdraw(pod.uid)
        names = tuple(names)
        for name in names:
            self._on.setdefault(name, {})[pod.uid] = pod
        self._given[pod.uid] = names, self._now() + LIFETIME

    def withdraw(self, uid: str) -> None:
        """It is known what became of the pod, or it is asked about anew."""
        given = self._given.pop(uid, None)
        if given is None:
            return
        for name in given[0]:
            pods = self._on[name]
            del pods[uid]
            if not pods:
                del self._on[name]
        self.on_change()

    def on(self, name: str) -> list[PodInfo]:
        """The pods that may come to this node."""
        self._drop_lapsed()
        return list(self._on.get(name, {}).values())

    def _drop_lapsed(self) -> None:
        """They were given in the order in which they lapse."""
        now = self._now()
        while self._given:
            uid = next(iter(self._given))
            if self._given[uid][1] > now:
                return
            self.withdraw(uid)
