"""The DynamicResources plugin at its extension points."""

import uuid
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec.structs import replace

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config import DynamicResourcesArgs
from moorage.config.gates import POD_GROUP_POST_FILTER_POINT, TOPOLOGY_AWARE_WORKLOAD_SCHEDULING
from moorage.errors import InputError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.events import EventHint
from moorage.framework.grouping import PodGroupPostFilterAnswer, RejectedGroup
from moorage.framework.handle import Handle
from moorage.framework.measuring import PluginCounter, PluginHistogram
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import PostFilterAnswer, Scores, Verdicts
from moorage.framework.status import SKIP, Status, error, unresolvable, unschedulable
from moorage.objects import Allocation, DeviceClass, DeviceTaintRule, KubeObject, ResourceClaim, ResourceSlice
from moorage.plugins.dynamic_resources.allocation import UNNAMED_SHARE
from moorage.plugins.dynamic_resources.binding import BindingRefused, ClaimBinding, delete, give_back, suffix, unreserve
from moorage.plugins.dynamic_resources.extended import IN_MEMORY, special_claim
from moorage.plugins.dynamic_resources.finding import Finder, score_of
from moorage.plugins.dynamic_resources.hints import Hints
from moorage.plugins.dynamic_resources.podclaims import FINALIZER, NotReady, is_reserved_for, pod_claims
from moorage.plugins.dynamic_resources.readiness import BindingFailed
from moorage.plugins.dynamic_resources.rules import rules_of
from moorage.plugins.dynamic_resources.state import KEY, PodDevices
from moorage.values.nodeselector import TermSelector, compile_terms

#: Steps of the search that stand for a second of filterTimeout.
STEPS_A_SECOND = 50_000
DEFAULT_BINDING_TIMEOUT = 600.0


class DynamicResources:
    """Finds devices for the claims of a pod, reserves them with the decision, and writes them before the pod binds."""

    points_by_feature = MappingProxyType({POD_GROUP_POST_FILTER_POINT: ("podGroupPostFilter",)})
    args_type = DynamicResourcesArgs
    default_weight = 2
    normalize_scores = NormalizeByMax()
    skips_alike = True

    #: The kinds to follow.
    reads: tuple[type[KubeObject], ...] = (DeviceClass, ResourceClaim, ResourceSlice)
    writes = MappingProxyType({ResourceClaim: ("create", "delete", "patch")})
    #: The binding of claims is a right of its own: it says who may allocate.
    rights = (("resource.k8s.io", ["resourceclaims/status", "resourceclaims/binding"], ["patch"]),)

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        self._handle = handle
        self._snapshot = handle.snapshot
        self._claims = handle.snapshot.claims
        self._rules = rules_of(handle.features)
        self._in_domains = TOPOLOGY_AWARE_WORKLOAD_SCHEDULING in handle.features
        if not self._rules.lists:
            handle.snapshot.inventory.hide_lists()
        if "DRADeviceTaintRules" in handle.features:
            self.reads = (*self.reads, DeviceTaintRule)
        else:
            handle.snapshot.inventory.ignore_rules()
        timeout = args.filter_timeout.seconds if args.filter_timeout is not None else 0.0
        limited = self._rules.filter_timeout and timeout > 0
        self._binding_timeout = args.binding_timeout.seconds if args.binding_timeout else DEFAULT_BINDING_TIMEOUT
        self._finder = Finder(
            handle.snapshot,
            self._rules,
            binding_timeout=self._binding_timeout,
            most_steps=int(timeout * STEPS_A_SECOND) if limited else None,
            now=handle.now,
        )
        self._hints = Hints(handle.snapshot, self._rules)

    def counters(self) -> Sequence[PluginCounter]:
        """The searches that were given up."""
        text = "Searches for devices that took more steps than filterTimeout allows."
        return (PluginCounter("moorage_device_searches_exhausted_total", text, (), self._finder.exhausted),)

    def histograms(self) -> Sequence[PluginHistogram]:
        """The searches by the time they took."""
        return (self._finder.seconds,)

    # ------------------------------------------------------------------------------------------------------ filtering

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """A pod whose claims are not there is not tried."""
        try:
            pod_claims(self._claims, pod)
        except NotReady as problem:
            return unresolvable(str(problem))
        return None

    def pre_filter(self, state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """SKIP for pods without claims; a rejection where a claim cannot be allocated by anybody's leaving."""
        devices = PodDevices()
        state.write(KEY, devices)
        if self._needs_nothing(pod):
            return SKIP
        try:
            claims = pod_claims(self._claims, pod)
        except NotReady as problem:
            return unresolvable(str(problem))
        special = None
        if self._rules.extended_resources:
            special = special_claim(pod, self._claims, self._snapshot.resource_classes)
        if special is not None:
            claims.append(special)
        if not claims:
            return SKIP
        for place, claim in enumerate(claims):
            refusal = self._prepare(devices, place, claim, is_special=claim is special)
            if refusal is not None:
                return refusal
        devices.claims, devices.special = claims, special
        return None

    def _needs_nothing(self, pod: PodInfo) -> bool:
        """Whether the pod has no claims, and asks for nothing that devices might stand for: most pods by far."""
        return not pod.spec.resource_claims and not (self._rules.extended_resources and self._snapshot.resource_classes)

    def _prepare(self, devices: PodDevices, place: int, claim: ResourceClaim, *, is_special: bool) -> Status | None:
        allocation = claim.status.allocation
        if allocation is not None:
            try:
                devices.reachable[place] = _reachable(allocation)
            except InputError as problem:
                return error(str(problem))
            return None
        if self._claims.pending(claim.metadata.uid) is not None:
            return unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        return None if is_special else self._check_classes(claim)

    def _check_classes(self, claim: ResourceClaim) -> Status | None:
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                named = [(request.name, request.exactly.device_class_name)]
            elif request.first_available:
                if not self._rules.prioritized_list:
                    text = "has subrequests, but the DRAPrioritizedList feature is disabled"
                    return unresolvable(f"resource claim {claim.key}, request {request.name}: {text}")
                named = [(f"{request.name}/{one.name}", one.device_class_name) for one in request.first_available]
            else:
                return unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
            for name, class_name in named:
                if not class_name:
                    return error(f"request {name}: unsupported request type")
                if self._finder.class_of(class_name) is None:
                    return unresolvable(f"request {name}: device class {class_name} does not exist")
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """The node must reach what the claims have, and have what they lack."""
        devices: PodDevices = state.read(KEY)
        return self._finder.on_node(pod, devices, node, self._handle.now())

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The same for many rows."""
        devices: PodDevices = state.read(KEY)
        return self._finder.on_rows(pod, devices, nodes, rows, self._handle.now())

    def why_not(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Mapping[str, Any]]:
        """Which request finds too few devices on a node that refused, and the device that came closest."""
        devices: PodDevices | None = state.get(KEY)
        return [] if devices is None else [one.as_data() for one in self._finder.why_not(pod, devices, node)]

    def post_filter(self, state: CycleState, pod: PodInfo, _statuses: NodeStatuses) -> PostFilterAnswer:
        """Give back a claim that is in the way: allocated where the pod cannot run, and used by nobody else."""
        devices: PodDevices | None = state.get(KEY)
        if devices is None:
            # As kube-scheduler says it, where an earlier plugin ended PreFilter before this one ran.
            return PostFilterAnswer(error("not found"))
        if not devices.claims:
            return PostFilterAnswer(self._nothing("no new claims to deallocate"))
        for place in sorted(devices.unavailable):
            claim = devices.claims[place]
            users = {one.uid for one in claim.status.reserved_for}
            if not devices.is_special(place) and users <= {pod.uid}:
                done = unschedulable("deallocation of ResourceClaim completed")
                return PostFilterAnswer(done, effect=self._giving_back(claim), deallocated=claim.key)
        if devices.leftover is not None:
            done = unschedulable("deletion of ResourceClaim completed")
            return PostFilterAnswer(done, effect=self._deleting(devices.leftover))
        return PostFilterAnswer(self._nothing("still not schedulable"))

    def pod_group_post_filter(self, rejected: RejectedGroup) -> PodGroupPostFilterAnswer:
        """The same for each member that was tried. QUIRK: kube-scheduler says so even where there was nothing to do."""
        group = rejected.group
        if group.is_composite or (self._in_domains and group.topology_required):
            return PodGroupPostFilterAnswer(unschedulable())
        tried = [(pod, devices) for pod, state in rejected.tried if (devices := state.get(KEY)) is not None]
        if not tried and group.is_native:
            return PodGroupPostFilterAnswer(error("not found"))
        effects = [effect for pod, devices in tried for effect in self._in_the_way(pod, devices)]
        words = ("deallocation and deletion of ResourceClaims completed",) if effects or group.is_native else ()
        return PodGroupPostFilterAnswer(unschedulable(*words), effects=tuple(effects))

    def _in_the_way(self, pod: PodInfo, devices: PodDevices) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """What gives back, or deletes, the first claim that is in the way."""
        if not devices.claims:
            return []
        for place in sorted(devices.unavailable):
            claim = devices.claims[place]
            users = {one.uid for one in claim.status.reserved_for}
            if not devices.is_special(place) and users <= {pod.uid}:
                return [self._giving_back(claim)]
        return [] if devices.leftover is None else [self._deleting(devices.leftover)]

    def post_filter_until(self, pod: PodInfo) -> Hashable | None:
        """There is never anything to do for a pod that needs no devices."""
        return () if self._needs_nothing(pod) else None

    def _giving_back(self, claim: ResourceClaim) -> Callable[[], Coroutine[Any, Any, None]]:
        return lambda: give_back(claim, self._handle.host)

    def _deleting(self, claim: ResourceClaim) -> Callable[[], Coroutine[Any, Any, None]]:
        return lambda: delete(claim, self._handle.host)

    def _nothing(self, text: str) -> Status:
        return unschedulable() if self._rules.silent_post_filter else unschedulable(text)

    # -------------------------------------------------------------------------------------------------------- scoring

    def scores_alike(self, state: CycleState) -> bool:
        """Every node is as good as any other for a pod without claims."""
        devices: PodDevices | None = state.get(KEY)
        return devices is None or not devices.claims

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """The earlier the alternatives that were taken stand in their lists, the better."""
        return int(self.score_nodes(state, pod, self._snapshot.nodes, np.array([node.row], dtype=np.intp))[0])

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The same for many rows."""
        devices: PodDevices | None = state.get(KEY)
        if devices is None or all(claim.status.allocation is not None for claim in devices.claims):
            return np.zeros(len(rows), dtype=np.int64)
        before = sum(
            score_of(one, one.status.allocation) for one in devices.claims if one.status.allocation is not None
        )
        return before + self._finder.scores(pod, devices, nodes, rows)

    # ------------------------------------------------------------------------------------------------------ reserving

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Put the claims in flight: nobody else gets their devices from now on."""
        devices: PodDevices | None = state.get(KEY)
        wanted = list(devices.to_allocate()) if devices is not None else []
        if devices is None or not wanted:
            return None
        node = self._snapshot.nodes.get(node_name)
        found = self._finder.allocate(pod, devices, node) if node is not None else None
        if isinstance(found, Status):
            return found
        if found is None:
            alone = all(devices.is_special(place) for place, _ in wanted)
            return None if alone else error("claim allocation not found for node")
        for (place, claim), allocation in zip(wanted, found.allocations, strict=True):
            named = self._name_shares(allocation)
            devices.reserved[place] = named
            if devices.is_special(place):
                devices.reserved_special = found.special
                devices.special_uid = claim.metadata.uid
                claim = found.special.claim if found.special is not None else claim
            refusal = self._begin(claim, named)
            if refusal is not None:
                return refusal
        return None

    def _begin(self, claim: ResourceClaim, allocation: Allocation) -> Status | None:
        if self._rules.in_flight_until_bound and claim.metadata.name != IN_MEMORY:
            known = self._claims.get(claim.key)
            if known is None:
                text = f"look up assumed claim {claim.key}, UID={claim.metadata.uid}: not found"
                return error(f"internal error, couldn't signal allocation for claim {claim.metadata.name}: {text}")
            if known.metadata.uid == claim.metadata.uid and known.status.allocation is not None:
                return None
        self._claims.begin(_allocated(claim, allocation))
        return None

    def _name_shares(self, allocation: Allocation) -> Allocation:
        results = allocation.devices.results
        if not any(one.share_id == UNNAMED_SHARE for one in results):
            return allocation
        named = tuple(
            replace(one, share_id=str(uuid.UUID(int=self._handle.random.getrandbits(128), version=4)))
            if one.share_id == UNNAMED_SHARE
            else one
            for one in results
        )
        return replace(allocation, devices=replace(allocation.devices, results=named))

    def unreserve(self, state: CycleState, pod: PodInfo, _node_name: str) -> None:
        """Take the claims out of flight again, and the pod off those that may use them. Allocations stay."""
        devices: PodDevices | None = state.get(KEY)
        if devices is None:
            return
        for place in devices.reserved:
            claim = devices.claims[place]
            uid = devices.special_uid if devices.is_special(place) else claim.metadata.uid
            if self._claims.end(uid) and not devices.is_special(place):
                self._claims.restore(claim.key)
        devices.reserved = {}
        if not self._handle.has_host:
            return
        for claim in devices.user_claims:
            if claim.status.allocation is not None and is_reserved_for(claim, pod.pod):
                self._handle.host.later(unreserve(claim, pod, self._handle.host))
        if devices.leftover is not None:
            self._handle.host.later(delete(devices.leftover, self._handle.host))

    def pre_bind_pre_flight(self, state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        """SKIP without claims."""
        devices: PodDevices | None = state.get(KEY)
        return None if devices is not None and devices.claims else SKIP

    def pre_bind(self, state: CycleState, pod: PodInfo, _node_name: str) -> Awaitable[Status | None] | None:
        """Write allocations and reservations, and wait for devices that have to be made ready."""
        devices: PodDevices | None = state.get(KEY)
        if devices is None or not devices.claims:
            return None
        host = self._handle.host
        return self._bind(ClaimBinding(pod, devices, self._claims, host, self._rules, self._handle.now))

    async def _bind(self, binding: ClaimBinding) -> Status | None:
        try:
            await binding.write(lambda: suffix(self._handle.random.randrange))
            if binding.must_wait:
                await binding.wait(self._binding_timeout)
        except (BindingRefused, BindingFailed) as problem:
            return error(str(problem))
        return None

    def events_to_register(self) -> Sequence[EventHint]:
        """Nodes, claims, classes and slices."""
        return self._hints.events()


def _reachable(allocation: Allocation) -> TermSelector | None:
    """The nodes that reach the devices. Raises InputError for a selector that cannot be read."""
    if allocation.node_selector is None:
        return None
    return TermSelector(compile_terms(allocation.node_selector.node_selector_terms))


def _allocated(claim: ResourceClaim, allocation: Allocation) -> ResourceClaim:
    meta = claim.metadata
    finalizers = meta.finalizers if FINALIZER in meta.finalizers else (*meta.finalizers, FINALIZER)
    status = replace(claim.status, allocation=allocation)
    return replace(claim, metadata=replace(meta, finalizers=finalizers), status=status)
