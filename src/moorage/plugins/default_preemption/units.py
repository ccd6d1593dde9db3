"""Pods that are evicted together: members of a group that is disrupted only as a whole."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from moorage.columns import GroupInfo, NodeInfo, PodInfo, Snapshot
from moorage.plugins.default_preemption.budgets import Budgets


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that go together, or a pod by itself."""

    pods: tuple[PodInfo, ...]
    priority: int
    #: 3 for pods of a composite group that go together, 2 for pods of a group, 1 for one by itself.
    rank: int

    @property
    def order(self) -> tuple[int, int, int, float]:
        """The most important first."""
        return -self.priority, -self.rank, -len(self.pods), min((pod.started for pod in self.pods), default=math.inf)


class Units:
    """Groups the pods on nodes by what is evicted together."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._groups = snapshot.groups
        self._nodes = snapshot.nodes

    def concern(self, pods: Iterable[PodInfo]) -> bool:
        """Whether some of the pods are members of groups."""
        groups = self._groups
        return groups.is_active and any(groups.path_of(pod) for pod in pods)

    def may_have_below(self, priority: int) -> bool:
        """Whether some pod may have a lower priority, its own or its group's. Quick."""
        if self._nodes.has_below(priority):
            return True
        return any(one.is_native and (one.priority or 0) < priority for one in self._groups.each())

    def of(self, nodes: Iterable[NodeInfo]) -> list[Unit]:
        """The units that have a pod on these nodes, with their pods everywhere."""
        units: dict[str, Unit] = {}
        for node in nodes:
            for pod in node.pods.values():
                whole = self._whole(pod)
                if whole is None:
                    units[pod.uid] = Unit((pod,), self.priority_of(pod), self._rank(pod))
                elif whole.path not in units:
                    units[whole.path] = self._unit(whole, pod)
        return list(units.values())

    def before_1_37(self, nodes: Iterable[NodeInfo]) -> list[Unit]:
        """QUIRK: members that are evicted one by one have their own priority there."""
        units: dict[str, Unit] = {}
        for node in nodes:
            for pod in node.pods.values():
                whole = self._whole(pod)
                if whole is None:
                    units[pod.uid] = Unit((pod,), pod.priority, self._rank(pod))
                else:
                    known = units.get(whole.path)
                    pods = (*known.pods, pod) if known is not None else (pod,)
                    units[whole.path] = Unit(pods, whole.priority or 0, 2)
        return list(units.values())

    def priority_of(self, pod: PodInfo) -> int:
        """That of the topmost group of Kubernetes' own that it is in, or its own."""
        path = self._groups.path_of(pod)
        chain = self._groups.chain(path) if path else []
        return (chain[-1].priority or 0) if chain and chain[-1].is_native else pod.priority

    def _unit(self, whole: GroupInfo, pod: PodInfo) -> Unit:
        leaves = self._groups.leaves(whole.path)
        pods = tuple(one for leaf in leaves for one in self._groups.members(leaf.path).scheduled.values())
        return Unit(pods or (pod,), self.priority_of(pod), 3 if whole.is_composite else 2)

    def _rank(self, pod: PodInfo) -> int:
        return 2 if self._groups.is_active and pod.spec.scheduling_group is not None else 1

    def _whole(self, pod: PodInfo) -> GroupInfo | None:
        """The topmost group of the pod that is disrupted only as a whole."""
        path = self._groups.path_of(pod)
        wholes = [one for one in self._groups.chain(path) if one.goes_whole] if path else []
        return wholes[-1] if wholes else None


def split(units: Sequence[Unit], budgets: Budgets) -> tuple[list[tuple[Unit, int]], list[Unit]]:
    """Units whose going would break budgets, with how many of their pods do; and the others."""
    broken = {pod.uid for pod in budgets.split([pod for unit in units for pod in unit.pods])[0]}
    counted = [(unit, sum(pod.uid in broken for pod in unit.pods)) for unit in units]
    return [one for one in counted if one[1]], [unit for unit, count in counted if not count]
