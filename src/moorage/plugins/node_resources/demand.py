"""What a node's resources look like with and without the pod, for scoring: one node or many rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows, Snapshot
from moorage.columns.devices import class_totals
from moorage.config.args import ResourceSpec
from moorage.framework.points import Scores
from moorage.values.int64 import HIGHEST, LOWEST, SANE, wrapped
from moorage.values.requests import CPU, MEMORY, is_counted, is_scalar

Amounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One resource that is scored: how much the pod asks for and what it weighs."""

    name: str
    amount: int
    weight: int
    #: What the pods on a node take of it.
    used_on: Callable[[NodeInfo], int]
    #: Whether devices may stand for it: never for cpu, memory and their like.
    is_scalar: bool


#: One resource on one node: in use before, with the pod, and offered (never 0); and its weight.
Share = tuple[int, int, int, int]


class ShareColumn(NamedTuple):
    """The same over many rows; rows that offer nothing of it (allocatable 0) do not count it."""

    used: Amounts
    requested: Amounts
    allocatable: Amounts
    weight: int
    #: Whether it is known that every row offers some of it.
    is_everywhere: bool


def all_offered(columns: Sequence[ShareColumn]) -> bool:
    """Whether every row offers everything that is scored: the usual case by far."""
    for one in columns:
        if not one.is_everywhere and np.count_nonzero(one.allocatable) < len(one.allocatable):
            return False
    return True


class DeviceOffers:
    """What nodes offer of resources that device classes stand for, where no device plugin serves them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def serves(self, resource: str) -> bool:
        """Whether a class stands for the resource."""
        return self._snapshot.resource_classes.get(resource) is not None

    def of(self, node: NodeInfo, resource: str) -> tuple[int, int]:
        """How many devices the node reaches, and how many of those are held."""
        class_ = self._snapshot.resource_classes.get(resource)
        if class_ is None:
            return 0, 0
        return class_totals(class_, self._snapshot.inventory, self._snapshot.claims, node.name, node.labels)

    def stamp(self, pod: PodInfo, scored: Sequence[ResourceSpec] = ()) -> tuple[int, ...]:
        """Changes when what is kept for the pod's class is no longer true: classes or, if it is scored, devices."""
        classes = self._snapshot.resource_classes
        if not classes:
            return (classes.version,)
        asked = pod.pod_class.request.amounts
        if any(asked.get(one.name) and self.serves(one.name) for one in scored):
            return classes.version, self._snapshot.inventory.version, self._snapshot.claims.version
        return (classes.version,)


class Demand:
    """The scored resources of a pod. `with_defaults` counts cpu and memory with the defaults for empty requests."""

    def __init__(
        self,
        resources: Sequence[ResourceSpec],
        amounts: Sequence[int],
        *,
        with_defaults: bool,
        devices: DeviceOffers | None = None,
    ) -> None:
        self._devices = devices
        self.is_nothing = not any(amounts)
        self._with_defaults = with_defaults
        self._wanted = [
            Wanted(
                spec.name, amount, spec.weight, used_on(spec.name, with_defaults=with_defaults), is_scalar(spec.name)
            )
            for spec, amount in zip(resources, amounts, strict=True)
            if is_counted(spec.name) and (amount or not is_scalar(spec.name))
        ]
        self._is_sane = all(0 <= amount <= SANE for amount in amounts)

    def shares(self, node: NodeInfo) -> list[Share]:
        """The shares of one node, without resources it does not offer."""
        shares = []
        for one in self._wanted:
            allocatable, used = node.allocatable.get(one.name, 0), one.used_on(node)
            if not allocatable and self._is_of_devices(one):
                assert self._devices is not None
                allocatable, used = self._devices.of(node, one.name)
            if allocatable:
                requested = used + one.amount
                if not LOWEST <= requested <= HIGHEST:
                    requested = wrapped(requested)
                shares.append((used, requested, allocatable, one.weight))
        return shares

    def score_each(
        self, nodes: NodeTable, rows: Rows, one: Callable[[list[Share]], int], many: Callable[[Rows], Scores]
    ) -> Scores:
        """The scores of `rows`: all at once, but for those where 64 bits may not be enough."""
        odd = nodes.resources.absurd
        if self._is_sane and not odd:
            return many(rows)
        is_odd = np.isin(rows, list(odd)) if self._is_sane else np.ones(len(rows), dtype=bool)
        scores = np.zeros(len(rows), dtype=np.int64)
        scores[~is_odd] = many(rows[~is_odd])
        for index in np.flatnonzero(is_odd).tolist():
            scores[index] = one(self.shares(nodes[int(rows[index])]))
        return scores

    def columns(self, nodes: NodeTable, rows: Rows) -> list[ShareColumn]:
        """The shares of many rows."""
        columns = []
        for one in self._wanted:
            used = self._used_column(nodes, one.name).take(rows)
            allocatable = nodes.allocatable(one.name).take(rows)
            if self._is_of_devices(one):
                assert self._devices is not None
                for index in np.flatnonzero(allocatable == 0).tolist():
                    allocatable[index], used[index] = self._devices.of(nodes[int(rows[index])], one.name)
            columns.append(
                ShareColumn(used, used + one.amount, allocatable, one.weight, nodes.resources.is_everywhere(one.name))
            )
        return columns

    def _is_of_devices(self, wanted: Wanted) -> bool:
        return wanted.is_scalar and self._devices is not None and self._devices.serves(wanted.name)

    def _used_column(self, nodes: NodeTable, name: str) -> Amounts:
        if self._with_defaults and name == CPU:
            return nodes.resources.scored_cpu
        if self._with_defaults and name == MEMORY:
            return nodes.resources.scored_memory
        return nodes.requested(name)


def used_on(name: str, *, with_defaults: bool) -> Callable[[NodeInfo], int]:
    """What the pods on a node take of a resource; `with_defaults` counts cpu and memory of empty requests, too."""
    if with_defaults and name == CPU:
        return attrgetter("scored_cpu")
    if with_defaults and name == MEMORY:
        return attrgetter("scored_memory")
    return lambda node: node.requested.get(name, 0)
