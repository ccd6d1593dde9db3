"""Whether a node can serve a pod's claims: those it has, and those that are to be allocated."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows, Snapshot
from moorage.framework.measuring import histogram
from moorage.framework.points import Scores, Verdicts
from moorage.framework.status import Status, error, unresolvable
from moorage.objects import Allocation, DeviceClass, ResourceClaim
from moorage.plugins.dynamic_resources.allocation import make_allocation
from moorage.plugins.dynamic_resources.extended import SpecialClaim, on_node
from moorage.plugins.dynamic_resources.pools import Pool, gather
from moorage.plugins.dynamic_resources.readiness import BindingFailed, is_overdue, is_ready, waits
from moorage.plugins.dynamic_resources.rules import BrokenSearch, Rules, SearchTooLong
from moorage.plugins.dynamic_resources.search import Search
from moorage.plugins.dynamic_resources.state import NodeDevices, PodDevices
from moorage.plugins.dynamic_resources.verdicts import Broken, KeptVerdicts
from moorage.plugins.dynamic_resources.whynot import Inspection, Shortfall

#: A request has at most so many alternatives; the first scores this much.
MOST_ALTERNATIVES = 8

#: 20 us to 10 s.
_SEARCHES = tuple(2e-5 * 2**power for power in range(20))
_UNAVAILABLE = unresolvable("resourceclaim not available on the node")
_CANNOT_ALLOCATE = unresolvable("cannot allocate all claims")
_INVALID_POOLS = unresolvable("invalid resource pools were encountered")
_LEFTOVER = unresolvable("cannot schedule extended resource claim")


class Finder:
    """Answers for one node after the other. Pools are gathered anew only when slices or the node have changed."""

    def __init__(
        self,
        snapshot: Snapshot,
        rules: Rules,
        *,
        binding_timeout: float,
        most_steps: int | None,
        now: Callable[[], float],
    ) -> None:
        self._snapshot = snapshot
        self._rules = rules
        self._binding_timeout = binding_timeout
        self._most_steps = most_steps
        self._now = now
        #: How long searches took, and how many took too many steps.
        self.seconds = histogram(
            "moorage_device_search_seconds", "Time to search one node for the devices of a pod's claims.", _SEARCHES
        )
        self.exhausted: Counter[tuple[str, ...]] = Counter({(): 0})
        self._pools: dict[str, tuple[int, object, list[Pool]]] = {}
        self._kept = KeptVerdicts(snapshot, self._ask)

    # ------------------------------------------------------------------------------------------------------ verdicts

    def on_rows(self, pod: PodInfo, devices: PodDevices, nodes: NodeTable, rows: Rows, now: float) -> Verdicts:
        """The verdict on each of many nodes."""
        if devices.special is not None:
            return self._one_by_one(pod, devices, nodes, rows, now)
        codes, statuses = np.zeros(len(rows), dtype=np.intp), []
        claims = [claim for _, claim in devices.to_allocate()]
        if claims:
            try:
                column = self._kept.of(claims, rows)
            except Broken as problem:
                return Verdicts(np.ones(len(rows), dtype=np.intp), (problem.status,))
            codes, statuses = column.codes[rows], list(column.statuses)
        unavailable = np.zeros(len(rows), dtype=bool)
        for place in devices.reachable:
            lost = ~self._reaching(devices, place, nodes, rows, now) & (codes == 0)
            if lost.any():
                devices.unavailable.add(place)
                unavailable |= lost
        if unavailable.any():
            statuses.append(_UNAVAILABLE)
            codes[unavailable] = len(statuses)
        return Verdicts(codes, statuses)

    def on_node(self, pod: PodInfo, devices: PodDevices, node: NodeInfo, now: float) -> Status | None:
        """None where the node can serve all claims."""
        claims, refusal = self._claims_on(pod, devices, node)
        if refusal is not None or claims is None:
            return refusal
        if claims and devices.special is None:
            try:
                column = self._kept.of(claims, np.array([node.row], dtype=np.intp))
            except Broken as problem:
                return problem.status
            code = int(column.codes[node.row])
            status = column.statuses[code - 1] if code else None
        else:
            status, _ = self._ask(claims, node) if claims else (None, 0)
        if status is not None:
            return status
        lost = [place for place in devices.reachable if not self._reaches(devices, place, node, now)]
        devices.unavailable.update(lost)
        return _UNAVAILABLE if lost else None

    def scores(self, pod: PodInfo, devices: PodDevices, nodes: NodeTable, rows: Rows) -> Scores:
        """What the alternatives that claims without devices would get on each of many nodes score."""
        if devices.special is None:
            claims = [claim for _, claim in devices.to_allocate()]
            return self._kept.of(claims, rows).scores[rows]
        return np.array([self._score_one(pod, devices, nodes[row]) for row in rows.tolist()], dtype=np.int64)

    def _score_one(self, pod: PodInfo, devices: PodDevices, node: NodeInfo) -> int:
        claims, _ = self._claims_on(pod, devices, node)
        return self._ask(claims, node)[1] if claims else 0

    def _one_by_one(self, pod: PodInfo, devices: PodDevices, nodes: NodeTable, rows: Rows, now: float) -> Verdicts:
        given = [self.on_node(pod, devices, nodes[row], now) for row in rows.tolist()]
        statuses = list(dict.fromkeys(status for status in given if status is not None))
        codes = [statuses.index(status) + 1 if status is not None else 0 for status in given]
        return Verdicts(np.array(codes, dtype=np.intp), statuses)

    # --------------------------------------------------------------------------------------- claims that have devices

    def _reaching(self, devices: PodDevices, place: int, nodes: NodeTable, rows: Rows, now: float) -> NDArray[np.bool_]:
        """Which of the nodes can use an allocated claim."""
        if self._rules.binding_conditions and self._is_lost(devices.claims[place], now):
            return np.zeros(len(rows), dtype=bool)
        reachable = devices.reachable[place]
        if reachable is None:
            return np.ones(len(rows), dtype=bool)
        name = reachable.only_name
        if name is not None:
            by_name: NDArray[np.bool_] = rows == nodes.row_of.get(name, -1)
            return by_name
        matches = (reachable.matches(nodes[row].name, nodes[row].labels) for row in rows.tolist())
        return np.fromiter(matches, dtype=bool, count=len(rows))

    def _reaches(self, devices: PodDevices, place: int, node: NodeInfo, now: float) -> bool:
        if self._rules.binding_conditions and self._is_lost(devices.claims[place], now):
            return False
        reachable = devices.reachable[place]
        return reachable is None or reachable.matches(node.name, node.labels)

    def _is_lost(self, claim: ResourceClaim, now: float) -> bool:
        """Whether the claim's devices will not be made ready."""
        try:
            return not is_ready(claim) and waits(claim) and is_overdue(claim, self._binding_timeout, now)
        except BindingFailed:
            return True

    # ------------------------------------------------------------------------------------------ claims that have none

    def _claims_on(
        self, pod: PodInfo, devices: PodDevices, node: NodeInfo
    ) -> tuple[list[ResourceClaim] | None, Status | None]:
        """The claims to allocate on this node, None where device plugins serve it all; or why it cannot be."""
        special = self.special_on(pod, devices, node)
        if isinstance(special, Status):
            return None, special
        if devices.special is not None and special is None:
            return None, None
        claims = [
            special.claim if special is not None and devices.is_special(place) else claim
            for place, claim in devices.to_allocate()
        ]
        return claims, None

    def special_on(self, pod: PodInfo, devices: PodDevices, node: NodeInfo) -> SpecialClaim | Status | None:
        """The special claim as this node would serve it, None where it needs none."""
        if devices.special is None:
            return None
        if devices.special.spec.devices.requests:
            return _LEFTOVER
        found = on_node(devices.special, pod, node, self._snapshot.resource_classes)
        if isinstance(found, str):
            return unresolvable(found)
        if not found.claim.spec.devices.requests and not devices.user_claims:
            return None  # device plugins serve all of it
        return found

    def allocate(self, pod: PodInfo, devices: PodDevices, node: NodeInfo) -> NodeDevices | Status | None:
        """What the claims would get here; None where there is nothing to allocate."""
        claims, refusal = self._claims_on(pod, devices, node)
        if refusal is not None or not claims:
            return refusal
        found = self._search(claims, node)
        special = self.special_on(pod, devices, node)
        assert not isinstance(special, Status)
        return found if isinstance(found, Status) else NodeDevices(found, special)

    def why_not(self, pod: PodInfo, devices: PodDevices, node: NodeInfo) -> tuple[Shortfall, ...]:
        """What the claims without devices lack on a node that refused them."""
        claims, refusal = self._claims_on(pod, devices, node)
        if refusal is not None or not claims:
            return ()
        try:
            pools = self._gather(node)
        except BrokenSearch:
            return ()
        return Inspection(node, pools, self._snapshot.claims, self._rules).shortfalls(claims, self.class_of)

    def _ask(self, claims: Sequence[ResourceClaim], node: NodeInfo) -> tuple[Status | None, int]:
        """Whether the node has devices for these claims, and what their alternatives score."""
        found = self._search(claims, node)
        if isinstance(found, Status):
            return found, 0
        return None, sum(map(score_of, claims, found))

    def _search(self, claims: Sequence[ResourceClaim], node: NodeInfo) -> tuple[Allocation, ...] | Status:
        began = self._now()
        try:
            pools = self._gather(node)
            search = Search(node, pools, self._snapshot.claims, self._rules, most_steps=self._most_steps)
            found = search.find(claims, self.class_of)
            if found is None:
                return _INVALID_POOLS if any(pool.is_invalid for pool in pools) else _CANNOT_ALLOCATE
            return tuple(make_allocation(plan, taken, node, self._rules) for plan, taken in found)
        except BrokenSearch as problem:
            return error(str(problem))
        except SearchTooLong:
            self.exhausted[()] += 1
            return error(f"node {node.name}: timed out trying to allocate devices")
        finally:
            self.seconds.seen.add(self._now() - began)

    def class_of(self, name: str) -> DeviceClass | None:
        """A class, as it is now."""
        return self._snapshot.objects.get(DeviceClass, name)

    def _gather(self, node: NodeInfo) -> list[Pool]:
        version = self._snapshot.inventory.version
        known = self._pools.get(node.name)
        if known is not None and known[0] == version and known[1] is node.node:
            return known[2]
        pools = gather(self._snapshot.inventory, node, self._rules)
        self._pools[node.name] = (version, node.node, pools)
        return pools


def score_of(claim: ResourceClaim, allocation: Allocation) -> int:
    """What a claim's lists of alternatives score: the most for the first of each."""
    taken = {result.request for result in allocation.devices.results}
    score = 0
    for request in claim.spec.devices.requests:
        # QUIRK: a request that no API server accepts, both exact and with alternatives, is allocated but not scored.
        if request.exactly is not None:
            continue
        for index, one in enumerate(request.first_available):
            if f"{request.name}/{one.name}" in taken:
                score += MOST_ALTERNATIVES - index
    return score
