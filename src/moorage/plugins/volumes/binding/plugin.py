"""The VolumeBinding plugin at its extension points."""

from collections.abc import Awaitable, Sequence
from types import MappingProxyType

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config import VolumeBindingArgs
from moorage.errors import ApiError
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import EventHint
from moorage.framework.handle import Handle
from moorage.framework.points import Scores, Verdicts
from moorage.framework.status import INDIFFERENT, SKIP, Status, error
from moorage.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.plugins.volumes.binding.affinity import Reachability, VolumeAffinities
from moorage.plugins.volumes.binding.claims import pod_claims
from moorage.plugins.volumes.binding.finding import VolumeSearch
from moorage.plugins.volumes.binding.hints import EVENTS
from moorage.plugins.volumes.binding.reservation import Reservation, reserve
from moorage.plugins.volumes.binding.scoring import StorageScore
from moorage.plugins.volumes.binding.waiting import BindingCheck, BindingFailed
from moorage.plugins.volumes.binding.writing import is_still_wanted, write
from moorage.plugins.volumes.claims import claim_use, not_found

_SEARCH = "VolumeBinding"
_RESERVATION = "VolumeBinding/reservation"

#: How often to look whether volumes are bound, and whether the pod that waits for them is still wanted.
_POLL_SECONDS = 0.5
_POD_CHECK_SECONDS = 10.0


class VolumeBinding:
    """Finds a volume for every claim of a pod, reserves it with the decision, and has it bound before the pod is."""

    args_type = VolumeBindingArgs
    skips_alike = True
    reads = (CSIDriver, CSINode, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass)
    writes = MappingProxyType({PersistentVolume: ("patch",), PersistentVolumeClaim: ("patch",)})

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self._handle = handle
        self._objects = handle.snapshot.objects
        self._bind_timeout = args.bind_timeout_seconds
        # The configuration allows a shape only with the gate StorageCapacityScoring.
        self._storage_score = StorageScore(args.shape) if args.shape else None
        self._affinities = VolumeAffinities()
        self._check = BindingCheck(handle.snapshot, Reachability(self._objects, self._affinities))

    def pre_filter(self, state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """SKIP for pods without claims; a rejection where a claim is not ready for scheduling."""
        volumes = pod.spec.volumes
        if not volumes or all(claim_use(pod.name, volume) is None for volume in volumes):
            return SKIP
        search = self._search(pod)
        if isinstance(search, Status):
            return search
        state.write(_SEARCH, search)
        return None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """The node must reach the bound volumes, and there must be volumes for the other claims."""
        search: VolumeSearch = state.read(_SEARCH)
        found = search.on_node(node)
        return found if isinstance(found, Status) else None

    def filter_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows."""
        search: VolumeSearch = state.read(_SEARCH)
        return search.on_rows(nodes, rows)

    def pre_score(self, state: CycleState, _pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """SKIP unless storage is to be scored. Only claims that wait for a node make nodes differ."""
        if self._storage_score is None:
            return SKIP
        search: VolumeSearch | None = state.get(_SEARCH)
        return None if search is not None and search.may_differ else INDIFFERENT

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """How well the node's storage would be used."""
        search: VolumeSearch | None = state.get(_SEARCH)
        if self._storage_score is None or search is None:
            return 0
        found = search.on_node(node)
        return 0 if isinstance(found, Status) else self._storage_score.of(found)

    def score_nodes(self, state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The same for many rows."""
        search: VolumeSearch | None = state.get(_SEARCH)
        if self._storage_score is None or search is None or not search.may_differ:
            return np.zeros(len(rows), dtype=np.int64)
        return search.scores(nodes, rows, self._storage_score.of)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Take the volumes. They are looked for once more: since Filter, others may have been decided."""
        if state.get(_SEARCH) is None:
            return None
        search = self._search(pod)
        if isinstance(search, Status):
            return search
        node = self._handle.snapshot.nodes.get(node_name)
        if node is None:
            return error(not_found("node", node_name))
        found = search.on_node(node)
        if isinstance(found, Status):
            return found
        if found.bindings or found.provisions:
            state.write(_RESERVATION, reserve(self._objects, found, node_name))
        return None

    def unreserve(self, state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        """Let go of what was reserved and not yet written."""
        reservation: Reservation | None = state.get(_RESERVATION)
        if reservation is not None:
            reservation.cancel(self._objects)

    def pre_bind_pre_flight(self, state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        """SKIP where PreBind will have nothing to do; else the pod will have to wait for its volumes."""
        return SKIP if state.get(_RESERVATION) is None else None

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Awaitable[Status | None] | None:
        """Write the reservation and wait until it is bound. Nothing to wait for where all claims were bound before."""
        reservation: Reservation | None = state.get(_RESERVATION)
        if reservation is None:
            return None
        return self._bind(reservation, pod, node_name)

    def events_to_register(self) -> Sequence[EventHint]:
        """Changes to claims, volumes, classes, drivers, capacities and nodes."""
        return EVENTS

    def _search(self, pod: PodInfo) -> VolumeSearch | Status:
        claims = pod_claims(self._objects, pod)
        return claims if isinstance(claims, Status) else VolumeSearch(claims, self._objects, self._affinities)

    async def _bind(self, reservation: Reservation, pod: PodInfo, node_name: str) -> Status | None:
        try:
            await write(reservation, self._handle.host)
        except ApiError as refusal:
            return error(str(refusal))
        try:
            await self._wait(reservation, pod, node_name)
        except BindingFailed as failure:
            return error(f"binding volumes: {failure}")
        return None

    async def _wait(self, reservation: Reservation, pod: PodInfo, node_name: str) -> None:
        now = self._handle.now
        deadline = now() + self._bind_timeout
        next_pod_check = now() + _POD_CHECK_SECONDS
        while not self._check.is_bound(reservation, node_name):
            if now() >= deadline:
                raise BindingFailed("context deadline exceeded")
            if now() >= next_pod_check:
                next_pod_check = now() + _POD_CHECK_SECONDS
                if not await is_still_wanted(pod, self._handle.host):
                    raise BindingFailed(f"pod does not exist any more: {not_found('pod', pod.name)}")
            await self._handle.host.sleep(_POLL_SECONDS)
