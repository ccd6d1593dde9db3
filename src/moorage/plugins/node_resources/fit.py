"""NodeResourcesFit: the node has room for the pod; and how full it would be."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns import GroupInfo, NodeInfo, NodeTable, PodInfo, Rows
from moorage.columns.devices.classes import IMPLICIT_PREFIX
from moorage.config.args import NodeResourcesFitArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on, spec_of_pod
from moorage.framework.grouping import Assignment, Domain
from moorage.framework.handle import Handle
from moorage.framework.points import Scope, Scores, Verdicts
from moorage.framework.status import Status, unresolvable, unschedulable
from moorage.objects import DeviceClass, Node, Pod
from moorage.plugins.node_resources.demand import Demand, DeviceOffers, used_on
from moorage.plugins.node_resources.strategies import MOST_ALLOCATED, make_strategy
from moorage.values.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    allocatable_amounts,
    container_request,
    is_counted,
    is_extended,
    is_scalar,
    pod_request,
)

TOO_MANY_PODS = "Too many pods"

Mask = NDArray[np.bool_]

_FILTER_STATE = "NodeResourcesFit/filter"
_SCORE_STATE = "NodeResourcesFit/score"
_CORE = (CPU, MEMORY, EPHEMERAL_STORAGE)


class NodeResourcesFit:
    """Filter on free resources and pod slots; Score by a strategy over the resources the profile names."""

    args_type = NodeResourcesFitArgs
    filter_scope = Scope.NODE_AND_PODS
    score_scope = Scope.NODE_AND_PODS

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        self._rules = handle.features.request_rules
        self._nodes = handle.snapshot.nodes
        self._devices = DeviceOffers(handle.snapshot) if "DRAExtendedResource" in handle.features else None
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = args.scoring_strategy.resources
        self._strategy = make_strategy(args.scoring_strategy)

    def kept_while(self, pod: PodInfo) -> object:
        """What devices stand for changes with device classes, and scores of it with the devices."""
        return self._devices.stamp(pod, self._resources) if self._devices is not None else None

    def _is_left_to_devices(self, name: str) -> bool:
        """Whether a node without any of the resource may still serve it, by claims on devices."""
        return self._devices is not None and self._devices.serves(name)

    # ------------------------------------------------------------------------------------------------------ Filter

    def pre_filter(self, state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """Work out what must be free; every pod needs at least a slot."""
        state.write(_FILTER_STATE, self._needs(pod.pod_class.request.amounts.items()))
        return None

    def _needs(self, amounts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        wanted = {name: amount for name, amount in amounts if amount > 0 and not self._is_ignored(name)}
        first = [(name, wanted.pop(name)) for name in _CORE if name in wanted]
        return first + list(wanted.items())

    def _is_ignored(self, name: str) -> bool:
        return is_extended(name) and (name in self._ignored or name.partition("/")[0] in self._ignored_groups)

    def needs(self, state: CycleState) -> Mapping[str, int]:
        """The same for dry runs that add and subtract."""
        return {PODS: 1, **dict(state.read(_FILTER_STATE))}

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a node that lacks a slot or a resource, naming all it lacks."""
        lacking = []
        resolvable = True
        if len(node.pods) + 1 > node.allowed_pods:
            lacking.append(TOO_MANY_PODS)
        for name, amount in state.read(_FILTER_STATE):
            allocatable = node.allocatable.get(name, 0)
            if allocatable <= 0 and self._is_left_to_devices(name):
                continue
            if amount > node.free(name):
                lacking.append(f"Insufficient {name}")
                resolvable = resolvable and amount <= allocatable
        if not lacking:
            return None
        return unschedulable(*lacking) if resolvable else unresolvable(*lacking)

    def filter_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same: each thing lacking is a bit, each combination of bits that occurs a status."""
        needs: list[tuple[str, int]] = state.read(_FILTER_STATE)
        free = nodes.resources.free
        lacking = free(PODS).take(rows) < 1
        for name, amount in needs:
            lacking |= self._lacks(nodes, rows, name, amount)
        codes = np.zeros(len(rows), dtype=np.intp)
        if not np.count_nonzero(lacking):
            return Verdicts(codes, ())
        found, codes[lacking] = np.unique(self._bits(needs, nodes, rows[lacking]), return_inverse=True)
        codes[lacking] += 1
        return Verdicts(codes, [_status(int(bits), needs) for bits in found])

    def _bits(self, needs: list[tuple[str, int]], nodes: NodeTable, rows: Rows) -> Scores:
        """Bit 0: no slot; bit 1: more is asked than the node ever offers; then a bit for each need."""
        bits = (nodes.resources.free(PODS)[rows] < 1).astype(np.int64)
        for index, (name, amount) in enumerate(needs, start=2):
            lacking = self._lacks(nodes, rows, name, amount)
            bits |= lacking.astype(np.int64) << index
            bits |= (lacking & (nodes.allocatable(name)[rows] < amount)).astype(np.int64) << 1
        return bits

    def _lacks(self, nodes: NodeTable, rows: Rows, name: str, amount: int) -> Mask:
        lacking: Mask = nodes.resources.free(name).take(rows) < amount
        if self._is_left_to_devices(name):
            lacking &= nodes.allocatable(name).take(rows) > 0
        return lacking

    # ------------------------------------------------------------------------------------------------------- Score

    def pre_score(self, state: CycleState, pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """Work out what is scored. Pod-level resources are left aside here, as kube-scheduler does."""
        amounts = [container_request(pod.pod, spec.name, with_defaults=True) for spec in self._resources]
        state.write(_SCORE_STATE, Demand(self._resources, amounts, with_defaults=True, devices=self._devices))
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """The strategy's score of one node."""
        demand: Demand = state.read(_SCORE_STATE)
        return self._strategy.score(demand.shares(node))

    def score_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The strategy's scores of many."""
        demand: Demand = state.read(_SCORE_STATE)

        def many(some: Rows) -> Scores:
            return self._strategy.score_many(demand.columns(nodes, some), len(some))

        return demand.score_each(nodes, rows, self._strategy.score, many)

    # ------------------------------------------------------------------------------------------- places for groups

    def score_placement(self, _group: GroupInfo, domain: Domain, assignments: Sequence[Assignment]) -> int:
        """How full the nodes of a place would be together, whatever the profile's strategy for nodes is."""
        shares = []
        for spec in self._resources:
            asked = sum(container_request(one.pod.pod, spec.name, with_defaults=True) for one in assignments)
            if not is_counted(spec.name) or (not asked and is_scalar(spec.name)):
                continue
            nodes = [self._nodes[row] for row in domain.rows.tolist()]
            offers = [node for node in nodes if node.allocatable.get(spec.name, 0)]
            used = sum(map(used_on(spec.name, with_defaults=True), offers))
            if offers:
                allocatable = sum(node.allocatable[spec.name] for node in offers)
                shares.append((used, used + asked, allocatable, spec.weight))
        return MOST_ALLOCATED.score(shares)

    # ------------------------------------------------------------------------------------------------------ events

    def events_to_register(self) -> Sequence[EventHint]:
        """Room made: a node added or grown, a pod gone or shrunk."""
        return (
            on(Resource.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, self._after_pod, reads=spec_of_pod),
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self._after_node, reads=spec_of_pod),
            *self._class_events(),
        )

    def _class_events(self) -> Sequence[EventHint]:
        if self._devices is None:
            return ()
        return (on(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE, self._after_class, reads=spec_of_pod),)

    def _after_class(self, pod: PodInfo, old: DeviceClass | None, new: DeviceClass | None) -> Hint:
        """A class may have come to stand for something the pod asks for."""
        asked = pod.pod_class.request.amounts
        if new is None or (old is not None and old.spec.extended_resource_name == new.spec.extended_resource_name):
            return Hint.SKIP
        if old is None and IMPLICIT_PREFIX + new.metadata.name in asked:
            return Hint.QUEUE
        return Hint.QUEUE if new.spec.extended_resource_name in asked else Hint.SKIP

    def _after_pod(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        if new is None:
            left = old is not None and bool(old.spec.node_name or old.status.nominated_node_name)
            return Hint.QUEUE if left else Hint.SKIP
        if new.metadata.uid == pod.uid:
            return Hint.QUEUE
        if old is None or not new.spec.node_name:
            return Hint.SKIP
        before, after = (pod_request(one, on_node=True, rules=self._rules).amounts for one in (old, new))
        wanted = (name for name, amount in pod.pod_class.request.amounts.items() if amount)
        return Hint.QUEUE if any(after.get(name, 0) < before.get(name, 0) for name in wanted) else Hint.SKIP

    def _after_node(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        if new is None:
            return Hint.SKIP
        # Ignored resources are not ignored here: kube-scheduler's hint does not know of them either.
        wanted = {name: amount for name, amount in pod.pod_class.request.amounts.items() if amount}
        offered = allocatable_amounts(new.status.allocatable)
        left = {name for name in wanted if offered.get(name, 0) <= 0 and self._is_left_to_devices(name)}
        lacking = any(amount > offered.get(name, 0) for name, amount in wanted.items() if name not in left)
        if offered.get(PODS, 0) < 1 or lacking:
            return Hint.SKIP
        if old is None:
            return Hint.QUEUE
        before = allocatable_amounts(old.status.allocatable)
        grown = bool(left) or any(offered.get(name, 0) > before.get(name, 0) for name in (PODS, *wanted))
        return Hint.QUEUE if grown else Hint.SKIP


def _status(bits: int, needs: Sequence[tuple[str, int]]) -> Status:
    lacking = [TOO_MANY_PODS] if bits & 1 else []
    lacking += [f"Insufficient {name}" for index, (name, _) in enumerate(needs, start=2) if bits >> index & 1]
    return unresolvable(*lacking) if bits & 2 else unschedulable(*lacking)
